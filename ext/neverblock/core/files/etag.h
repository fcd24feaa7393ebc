/*
 * etag.h - the ETag of a file (RFC 9110 section 8.8.3): its modification time in nanoseconds, its size, its coding. Not its
 * inode: machines behind one balancer, and a file that was put back, should agree. Pure.
 */
#ifndef NB_FILES_ETAG_H
#define NB_FILES_ETAG_H

#include <stddef.h>
#include <stdint.h>

#include "files/accept_encoding.h"
#include "os/open_beneath.h"

/* W/ and two quotes, two numbers of 16 digits, "-" and a coding of 4. */
#define NB_ETAG_BYTES_MAX 42u

/* The coarsest step of modification times in use: FAT's 2 s. */
#define NB_ETAG_COARSE_NS INT64_C(2000000000)

/*
 * file: of the very file that is sent, so of the precompressed one for a coding. Strong; but weak while modified_ns is a whole second and less
 * than NB_ETAG_COARSE_NS ago: then the file system may count in seconds, and the file change again without a trace. (Where it counts finer,
 * two changes of one size within its tick share a tag; that is a hundredth of a second at most, and nothing on Linux 6.13 and later.)
 * No NUL. Returns the bytes written.
 */
size_t nb_etag_write(char *out, const nb_file_facts *file, nb_encoding encoding, int64_t now_ns);

#endif
