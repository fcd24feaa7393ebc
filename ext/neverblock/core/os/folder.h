/*
 * folder.h - lists the names in a folder, and tells whether they have changed since. Any thread.
 */
#ifndef NB_OS_FOLDER_H
#define NB_OS_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* When a folder was last changed, in nanoseconds since 1970. changed_ns cannot be set by a program,
   and moves whenever modified_ns moves. */
typedef struct nb_folder_mark {
    int64_t changed_ns, modified_ns;
} nb_folder_mark;

static inline bool nb_folder_mark_equal(const nb_folder_mark *a, const nb_folder_mark *b) {
    return a->changed_ns == b->changed_ns && a->modified_ns == b->modified_ns;
}

/* Reads the mark: one system call, which needs no disk for a folder that nb_folder_list supports.
   NB_SYSTEM: errno. */
nb_status nb_folder_mark_read(int fd, nb_folder_mark *mark);

/*
 * Calls `take` with each name, including "." and "..", until it returns false (NB_FULL). The
 * descriptor may be one of O_PATH. Blocks for the disk. NB_SYSTEM: errno. NB_UNSUPPORTED: the file
 * system is not known to do both: change the mark with every name that comes or goes before the
 * file can be opened, and compare names by their bytes.
 */
nb_status nb_folder_list(int fd, bool (*take)(void *argument, const char *name), void *argument);

#endif
