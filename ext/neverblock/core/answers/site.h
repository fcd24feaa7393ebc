/*
 * site.h - the files a server knows of: folders it serves by itself, folders that an application may name files of, and what is said of what
 * lies there. Told before the loops start, and only read afterwards; each loop opens files for itself.
 */
#ifndef NB_ANSWERS_SITE_H
#define NB_ANSWERS_SITE_H

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
#define NB_SITE_INDEX_FILES_MAX 8u

/* Bytes of the beginning of a path that X-Accel-Redirect may have, and of an index file's name (NAME_MAX). */
#define NB_SITE_NAME_BYTES_MAX 255u

/* Threads, of all loops together, that open files whose names are not in memory: they wait for disks, or for a network file system. */
#define NB_SITE_OPENERS 8u

/* Files that wait to be opened by them; more: 503. */
#define NB_SITE_OPENINGS_MAX 4096u

typedef struct nb_site_name {
    uint16_t size;
    char text[NB_SITE_NAME_BYTES_MAX + 1];
} nb_site_name;

/* What X-Accel-Redirect means by the beginning of its path. */
typedef struct nb_site_accel {
    nb_site_name prefix;
    uint16_t root;
} nb_site_accel;

/* Roots by their numbers, which are the same in every loop (files/open_files.h). */
typedef struct nb_site_roots {
    uint16_t count;
    uint16_t each[NB_OPEN_FILES_ROOTS_MAX];
} nb_site_roots;

typedef struct nb_site {
    nb_open_files *files[NB_IO_THREADS_MAX]; /* of each loop, by its number; NULL: there is no folder */
    uint16_t loops;
    nb_mime *mime;
    nb_cache_rules rules;
    nb_symlinks symlinks;
    nb_site_roots served; /* before the application is asked, in their order */
    nb_site_roots named;  /* by X-Sendfile */
    nb_site_accel accel[NB_OPEN_FILES_ROOTS_MAX];
    uint16_t accel_count;
    nb_site_name index[NB_SITE_INDEX_FILES_MAX];
    uint16_t index_count;
    nb_workers *openers; /* NULL: there is no folder */
} nb_site;

/* loops: how many open files of it. */
nb_status nb_site_init(nb_site *site, uint16_t loops, nb_symlinks symlinks);
/* Ends the openers; before the loops. */
void nb_site_stop(nb_site *site);
/* Closes what a loop has open. In a fork's child too, where no thread runs. */
void nb_site_close(nb_site *site, uint16_t loop);
/* After the loops. */
void nb_site_deinit(nb_site *site);

/* The files that a loop has open; NULL: there is no folder. */
static inline nb_open_files *nb_site_files(const nb_site *site, uint16_t loop) { return site->files[loop]; }

/* A folder whose files are served before the application is asked, behind those told before. path: absolute. NB_FULL; NB_NO_MEMORY;
   NB_SYSTEM: errno; it cannot be opened. */
nb_status nb_site_serve(nb_site *site, const char *path);
/* A folder that X-Sendfile may name files of. */
nb_status nb_site_name_root(nb_site *site, const char *path);
/* The folder that X-Accel-Redirect means by a path that begins with `prefix`, which begins and ends with "/". Of two that match, the longer
   counts. NB_INVALID: no such prefix. */
nb_status nb_site_accelerate(nb_site *site, nb_slice prefix, const char *path);
/* NB_INVALID: no name of a file. */
nb_status nb_site_add_index(nb_site *site, nb_slice name);

/* NULL: no prefix matches. */
const nb_site_accel *nb_site_find_accel(const nb_site *site, nb_slice path);

#endif
