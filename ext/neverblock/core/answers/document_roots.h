/*
 * document_roots.h - the files a server knows of: folders it serves by itself, folders that an application may name files of, and what is said of what
 * lies there. Told before the loops start, and only read afterwards; each loop opens files for itself.
 */
#ifndef NB_ANSWERS_DOCUMENT_ROOTS_H
#define NB_ANSWERS_DOCUMENT_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"
#include "files/cache_rules.h"
#include "files/mime.h"
#include "files/open_files.h"
#include "os/workers.h"

/* Names that stand for their folder; each costs a look for every folder asked for. */
#define NB_INDEX_FILES_MAX 8u

/* Bytes of the beginning of a path that X-Accel-Redirect may have, and of an index file's name (NAME_MAX). */
#define NB_SHORT_NAME_BYTES_MAX 255u

/* Threads, of all loops together, that open files whose names are not in memory: they wait for disks, or for a network file system. */
#define NB_FILE_OPENERS 8u

/* Files that wait to be opened by them; more: 503. */
#define NB_FILE_OPENINGS_MAX 4096u

typedef struct nb_short_name {
    uint16_t size;
    char text[NB_SHORT_NAME_BYTES_MAX + 1];
} nb_short_name;

/* What X-Accel-Redirect means by the beginning of its path. */
typedef struct nb_accel_prefix {
    nb_short_name prefix;
    uint16_t root;
} nb_accel_prefix;

/* Roots by their numbers, which are the same in every loop (files/open_files.h). */
typedef struct nb_root_numbers {
    uint16_t count;
    uint16_t each[NB_OPEN_FILES_ROOTS_MAX];
} nb_root_numbers;

typedef struct nb_document_roots {
    nb_open_files *files[NB_IO_THREADS_MAX]; /* of each loop, by its number; NULL: there is no folder */
    uint16_t loops;
    nb_mime *mime;
    nb_cache_rules rules;
    nb_symlinks symlinks;
    nb_root_numbers served; /* before the application is asked, in their order */
    nb_root_numbers named;  /* by X-Sendfile */
    nb_accel_prefix accel[NB_OPEN_FILES_ROOTS_MAX];
    uint16_t accel_count;
    nb_short_name index[NB_INDEX_FILES_MAX];
    uint16_t index_count;
    nb_workers *openers; /* NULL: there is no folder */
} nb_document_roots;

/* loops: how many open files of it. */
nb_status nb_document_roots_init(nb_document_roots *roots, uint16_t loops, nb_symlinks symlinks);
/* Ends the openers; before the loops. */
void nb_document_roots_stop(nb_document_roots *roots);
/* Closes what a loop has open. In a fork's child too, where no thread runs. */
void nb_document_roots_close(nb_document_roots *roots, uint16_t loop);
/* After the loops. */
void nb_document_roots_deinit(nb_document_roots *roots);

/* The files that a loop has open; NULL: there is no folder. */
static inline nb_open_files *nb_document_roots_files(const nb_document_roots *roots, uint16_t loop) {
    return roots->files[loop];
}

/* A folder whose files are served before the application is asked, behind those told before. path: absolute. NB_FULL; NB_NO_MEMORY;
   NB_SYSTEM: errno; it cannot be opened. */
nb_status nb_document_roots_serve(nb_document_roots *roots, const char *path);
/* A folder that X-Sendfile may name files of. */
nb_status nb_document_roots_allow(nb_document_roots *roots, const char *path);
/* The folder that X-Accel-Redirect means by a path that begins with `prefix`, which begins and ends with "/". Of two that match, the longer
   counts. NB_INVALID: no such prefix. */
nb_status nb_document_roots_add_accel(nb_document_roots *roots, nb_slice prefix, const char *path);
/* NB_INVALID: no name of a file. */
nb_status nb_document_roots_add_index(nb_document_roots *roots, nb_slice name);

/* NULL: no prefix matches. */
const nb_accel_prefix *nb_document_roots_find_accel(const nb_document_roots *roots, nb_slice path);

#endif
