/*
 * document_roots.h - the folders from which a server may read files, and the rules for their files.
 * A document root is served by the server itself, allowed for X-Sendfile, or mapped by
 * X-Accel-Redirect.
 *
 * Threads: one thread fills it before the loops start; afterwards it is only read, by any thread.
 * Each loop has its own table of open files.
 */
#ifndef NB_RESPONSES_DOCUMENT_ROOTS_H
#define NB_RESPONSES_DOCUMENT_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"
#include "files/cache_rules.h"
#include "files/mime.h"
#include "files/open_files.h"
#include "os/workers.h"

/* Names of index files. Each costs a look-up for every folder that is requested. */
#define NB_INDEX_FILES_MAX 8u

/* Bytes of a prefix for X-Accel-Redirect, and of the name of an index file (NAME_MAX). */
#define NB_SHORT_NAME_BYTES_MAX 255u

/* Threads that open files whose names are not in memory, for all loops. They wait for disks and
 * network file systems. */
#define NB_FILE_OPENERS 8u

/* Files that may wait to be opened by these threads; more: 503. */
#define NB_FILE_OPENINGS_MAX 4096u

typedef struct nb_short_name {
    uint16_t size;
    char text[NB_SHORT_NAME_BYTES_MAX + 1];
} nb_short_name;

/* Paths of X-Accel-Redirect that begin with `prefix` lie under the document root `root`. */
typedef struct nb_accel_prefix {
    nb_short_name prefix;
    uint16_t root;
} nb_accel_prefix;

/* Document roots by number. A root has the same number in every loop (files/open_files.h). */
typedef struct nb_root_numbers {
    uint16_t count;
    uint16_t each[NB_OPEN_FILES_ROOTS_MAX];
} nb_root_numbers;

typedef struct nb_document_roots {
    /* By the number of the loop; NULL: there is no document root. */
    nb_open_files *files[NB_IO_THREADS_MAX];
    uint16_t loops;
    nb_mime *mime;
    nb_cache_rules rules;
    nb_symlinks symlinks;
    bool files_command;     /* started by `neverblock files`: settings are options */
    nb_root_numbers served; /* served by the server itself, in this order */
    nb_root_numbers named;  /* allowed for X-Sendfile */
    nb_accel_prefix accel[NB_OPEN_FILES_ROOTS_MAX];
    uint16_t accel_count;
    nb_short_name index[NB_INDEX_FILES_MAX];
    uint16_t index_count;
    nb_workers *openers; /* threads that open files; NULL: there is no document root */
} nb_document_roots;

/* loops: number of loops that open files. */
nb_status nb_document_roots_init(nb_document_roots *roots, uint16_t loops, nb_symlinks symlinks);
/* Ends the threads that open files. Call it before the loops are destroyed. */
void nb_document_roots_stop(nb_document_roots *roots);
/* Closes the open files of a loop. Also in a fork's child, where no thread runs. */
void nb_document_roots_close(nb_document_roots *roots, uint16_t loop);
/* Call it after the loops are destroyed. */
void nb_document_roots_deinit(nb_document_roots *roots);

/* The open files of a loop. NULL: there is no document root. */
static inline nb_open_files *nb_document_roots_files(const nb_document_roots *roots, uint16_t loop) {
    return roots->files[loop];
}

/*
 * Adds a document root whose files the server itself answers with. Roots are searched in the order
 * in which they are added. path: absolute.
 *
 *   NB_FULL       there are too many.
 *   NB_NO_MEMORY
 *   NB_SYSTEM     the folder cannot be opened: errno.
 */
nb_status nb_document_roots_serve(nb_document_roots *roots, const char *path);
/* Adds a document root whose files X-Sendfile may name. Statuses as above. */
nb_status nb_document_roots_allow(nb_document_roots *roots, const char *path);
/* Maps paths of X-Accel-Redirect that begin with `prefix` to the folder `path`. The prefix begins
 * and ends with "/". The longest prefix that matches wins. NB_INVALID: not such a prefix. Other
 * statuses as above. */
nb_status nb_document_roots_add_accel(nb_document_roots *roots, nb_slice prefix, const char *path);
/* Adds the name of an index file. NB_INVALID: not a file name. NB_FULL. */
nb_status nb_document_roots_add_index(nb_document_roots *roots, nb_slice name);

/* The longest prefix that matches. NULL: none does. */
const nb_accel_prefix *nb_document_roots_find_accel(const nb_document_roots *roots, nb_slice path);

#endif
