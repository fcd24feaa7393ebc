/*
 * open_files.h - the open files of one loop, by root and path, so that a file in demand costs a look-up. A loop's thread alone, but for
 * nb_opening_run.
 *
 * What was found is trusted until the turn ends (while now_ns is the same). In a later turn one fstatat(2) tells whether the path still
 * leads to what is open: a file that was replaced, edited, deleted, or whose time went backwards is opened anew at once. That there is no
 * file is remembered for the turn only; for a second where the kernel never knows that without asking (tmpfs, network file systems).
 * What else is at most a second old: which precompressed files lie beside a file, and to which folder the path of a root leads.
 *
 *     switch (nb_open_files_find(files, root, path, now_ns, &file)) {
 *     case NB_OK:        file is held: nb_file_release when it was sent.
 *     case NB_AGAIN:     the disk is needed: nb_open_files_begin, then nb_opening_run on a file worker, then, back in the loop's
 *                        thread, nb_open_files_enter, which answers as find does, but never NB_AGAIN.
 *     case NB_SYSTEM:    errno as of nb_open_beneath. EMFILE, ENFILE: half of what is kept was closed and it was tried again; there
 *                        may be such a file (what is not there is told as ever, at the risk of the disk).
 *     case NB_NO_MEMORY: an answer for this request alone; the cache is whole.
 *     }
 *
 * Bounds: so many files, each with a descriptor; the one asked for longest ago makes room, and one not asked for in
 * NB_OPEN_FILES_IDLE_NS is closed, so that what was deleted frees its space and what was mounted can be unmounted. Files that are being sent
 * stay open beyond that.
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

/* A precompressed file that is older than the original by more than this was made of an earlier version, and is not sent. Not zero: a copy
 * of a folder without its times writes in any order. */
#define NB_SIBLING_SLACK_S 60

typedef struct nb_open_files nb_open_files;

/* How many files a loop may keep open: an eighth of the process's descriptors for all its loops, NB_OPEN_FILES_MAX at most, 16 at
 * least. */
uint32_t nb_open_files_share(uint64_t descriptors, unsigned loops);

/* mime, rules: borrowed until all files are closed, also by those who hold them. */
nb_status nb_open_files_create(uint32_t files_max, const nb_mime *mime, const nb_cache_rules *rules,
                               nb_open_files **files);
/* Openings that run must have ended. NULL is fine. */
void nb_open_files_destroy(nb_open_files *files);

/* A folder under which files are found: *number from 0. Before the first find. NB_FULL. NB_SYSTEM: it cannot be opened now (errno);
 * with `later` that is no failure: it is looked for again. Blocks for the disk. */
nb_status nb_open_files_add_root(nb_open_files *files, const char *path, nb_symlinks symlinks, bool later,
                                 uint16_t *number);
/* What its path leads to now, at most a second old; NULL: to no folder. Valid within the turn. */
const nb_root *nb_open_files_root(nb_open_files *files, uint16_t number, int64_t now_ns);

nb_status nb_open_files_find(nb_open_files *files, uint16_t root, const nb_file_path *path, int64_t now_ns,
                             nb_file **file);

/* One look-up that has gone to a worker. The caller's memory, in place until entered or dropped. */
typedef struct nb_opening {
    nb_root *root; /* held; NULL: there is no folder */
    const nb_mime *mime;
    const nb_cache_rules *rules;
    nb_file *file; /* what was opened, until it is entered */
    nb_status status;
    int error;
    uint16_t number;
    nb_file_path path;
} nb_opening;

void nb_open_files_begin(nb_open_files *files, uint16_t root, const nb_file_path *path, nb_opening *opening);
/* Any thread; blocks for the disk. */
void nb_opening_run(nb_opening *opening);
/* Ends the opening, whatever it returns. */
nb_status nb_open_files_enter(nb_open_files *files, nb_opening *opening, int64_t now_ns, nb_file **file);
/* Ends an opening that nobody waits for any more, run or not. Any thread. */
void nb_opening_drop(nb_opening *opening);

/* Closes what nobody asked for in time. Returns when to call again; 0: when something was found again. */
int64_t nb_open_files_expire(nb_open_files *files, int64_t now_ns);
/* Closes all but the `keep` asked for last: where descriptors are wanted for something else. */
void nb_open_files_shrink(nb_open_files *files, uint32_t keep);

typedef struct nb_open_files_figures {
    uint64_t hits;    /* found open, and still what the path leads to */
    uint64_t opened;  /* entered by an opening, on the loop's thread or a worker */
    uint64_t changed; /* found open, but the path leads to something else */
    uint64_t closed;  /* for want of room, of use, or of descriptors */
    uint32_t files;   /* open now */
    uint32_t files_max;
} nb_open_files_figures;

nb_open_files_figures nb_open_files_count(const nb_open_files *files);

#endif
