/*
 * open_files.h - the cache of open files of one loop, by document root and path, so that a popular
 * file costs one look-up.
 *
 * How long a result is trusted: until the turn ends (while now_ns is the same). In a later turn one
 * fstatat(2) tells whether the path still leads to the open file. A file that was replaced, edited
 * or deleted, or whose time went backwards, is opened anew at once. A missing file is remembered
 * for the turn only; for a second on file systems where the kernel does not cache that (tmpfs,
 * network). At most a second old is which precompressed siblings a file has, and to which folder
 * the path of a document root leads.
 *
 *     switch (nb_open_files_find(files, root, path, now_ns, &file)) {
 *     case NB_OK:        file is held: call nb_file_release when it is sent.
 *     case NB_AGAIN:     the disk is needed: call nb_open_files_begin, nb_opening_run on a worker
 *                        thread, and nb_open_files_enter on the loop's thread. That returns what
 *                        find does, but never NB_AGAIN.
 *     case NB_SYSTEM:    errno as of nb_open_beneath. EMFILE, ENFILE: half of the cached files
 *                        were closed, and it was tried again. A missing file is reported as
 *                        missing all the same, even if that needs the disk.
 *     case NB_NO_MEMORY: for this request; the cache is intact.
 *     }
 *
 * Bounds: each cached file has a descriptor. The least recently used one makes room for another.
 * One that is unused for NB_OPEN_FILES_IDLE_NS is closed, so that a deleted file frees its space
 * and a file system can be unmounted. Files that are being sent stay open beyond that.
 *
 * Threads: the loop's thread, except nb_opening_run and nb_opening_drop.
 */
#ifndef NB_FILES_OPEN_FILES_H
#define NB_FILES_OPEN_FILES_H

#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "files/cache_rules.h"
#include "files/mime.h"
#include "files/open_file.h"
#include "files/path.h"
#include "os/open_beneath.h"

#define NB_OPEN_FILES_ROOTS_MAX 64u
#define NB_OPEN_FILES_MAX 1024u /* of one loop; nb_open_files_share may say less */
#define NB_OPEN_FILES_IDLE_NS (60 * 1000000000ll)
#define NB_OPEN_FILES_SECOND_NS 1000000000ll /* how old siblings and roots may be */

/* A precompressed sibling older than the original by more than this is not sent: it was made of an
 * earlier version. Not 0, as a copy of a folder without its times writes files in any order. */
#define NB_SIBLING_SLACK_S 60

typedef struct nb_open_files nb_open_files;

/* Files that a loop may keep open: an eighth of the descriptors of the process for all its loops,
 * at most NB_OPEN_FILES_MAX and at least 16. */
uint32_t nb_open_files_share(uint64_t descriptors, unsigned loops);

/* mime, rules: borrowed until all files are closed, also those that others hold. NB_NO_MEMORY. */
nb_status nb_open_files_create(uint32_t files_max, const nb_mime *mime, const nb_cache_rules *rules,
                               nb_open_files **files);
/* No nb_opening_run may be running. NULL is fine. */
void nb_open_files_destroy(nb_open_files *files);

/* Adds a document root; *number begins at 0. Before the first find. Blocks for the disk. NB_FULL.
 * NB_SYSTEM: the folder cannot be opened now (errno). With `later` that is no failure, and it is
 * looked for again. */
nb_status nb_open_files_add_root(nb_open_files *files, const char *path, nb_symlinks symlinks, bool later,
                                 uint16_t *number);
/* The folder to which the path of a document root leads, at most a second old. NULL: there is none.
 * Valid within the turn. */
const nb_root *nb_open_files_root(nb_open_files *files, uint16_t number, int64_t now_ns);

nb_status nb_open_files_find(nb_open_files *files, uint16_t root, const nb_file_path *path, int64_t now_ns,
                             nb_file **file);

/* A look-up that needs the disk. Memory of the caller, in place until nb_open_files_enter or
 * nb_opening_drop. */
typedef struct nb_opening {
    nb_root *root; /* held; NULL: there is no folder */
    const nb_mime *mime;
    const nb_cache_rules *rules;
    nb_file *file; /* the opened file, until nb_open_files_enter */
    nb_status status;
    int error;
    uint16_t number;
    nb_file_path path;
} nb_opening;

void nb_open_files_begin(nb_open_files *files, uint16_t root, const nb_file_path *path, nb_opening *opening);
/* Opens the file. Any thread; blocks for the disk. */
void nb_opening_run(nb_opening *opening);
/* Enters the result into the cache and ends the opening, whatever the status. */
nb_status nb_open_files_enter(nb_open_files *files, nb_opening *opening, int64_t now_ns, nb_file **file);
/* Ends an opening that is no longer wanted, run or not. Any thread. */
void nb_opening_drop(nb_opening *opening);

/* Closes files that are unused for too long. Returns when to call it again; 0: when a file was
 * found again. */
int64_t nb_open_files_expire(nb_open_files *files, int64_t now_ns);
/* Closes all but the `keep` most recently used files, to free descriptors. */
void nb_open_files_shrink(nb_open_files *files, uint32_t keep);

typedef struct nb_open_files_figures {
    uint64_t hits;    /* found open and unchanged */
    uint64_t opened;  /* opened, on the loop's thread or a worker */
    uint64_t changed; /* found open, but the path leads to another file */
    uint64_t closed;  /* for lack of room, use or descriptors */
    uint32_t files;   /* open now */
    uint32_t files_max;
} nb_open_files_figures;

nb_open_files_figures nb_open_files_count(const nb_open_files *files);

#endif
