/*
 * etag.h - the ETag of a file (RFC 9110 section 8.8.3), made of its modification time in
 * nanoseconds, its size and its coding. The inode is left out, so that several machines agree, and
 * a restored file keeps its ETag. Pure functions.
 */
#ifndef NB_FILES_ETAG_H
#define NB_FILES_ETAG_H

#include <stddef.h>
#include <stdint.h>

#include "files/accept_encoding.h"
#include "os/open_beneath.h"

/* W/ and two quotes, two numbers of 16 digits, "-" and a coding of 4 bytes. */
#define NB_ETAG_BYTES_MAX 42u

/* The coarsest granularity of modification times in use: 2 s of FAT. */
#define NB_ETAG_COARSE_NS INT64_C(2000000000)

/*
 * Writes the ETag without NUL, and returns its bytes. file: of the file that is sent, so of the
 * precompressed sibling for a coding.
 *
 * The ETag is strong. It is weak while modified_ns is a whole second less than NB_ETAG_COARSE_NS
 * ago: the file system may count in seconds, and the file may change again unnoticed. Two changes
 * within one tick of a finer clock share an ETag if the size is the same.
 */
size_t nb_etag_write(char *out, const nb_file_facts *file, nb_encoding encoding, int64_t now_ns);

#endif
