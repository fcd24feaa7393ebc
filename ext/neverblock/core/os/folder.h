/*
 * folder.h - the names in a folder, and whether they have changed since. Any thread.
 */
#ifndef NB_OS_FOLDER_H
#define NB_OS_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* When it was last changed, in nanoseconds since 1970. The first cannot be set by anybody, and moves with the second. */
typedef struct nb_folder_mark {
    int64_t changed_ns, modified_ns;
} nb_folder_mark;

static inline bool nb_folder_mark_equal(const nb_folder_mark *a, const nb_folder_mark *b) {
    return a->changed_ns == b->changed_ns && a->modified_ns == b->modified_ns;
}

/* One system call, which does not wait for a disk where nb_folder_list has an answer. NB_SYSTEM: errno. */
nb_status nb_folder_mark_read(int fd, nb_folder_mark *mark);

/*
 * Calls `take` with each name, "." and ".." among them, until it says false (NB_FULL). The descriptor may be one of O_PATH. Blocks for the disk.
 * NB_UNSUPPORTED: its file system is none of those that are known to change the mark with every name that comes or goes, as soon as somebody
 * could open it, and to tell names apart by their bytes. NB_SYSTEM: errno.
 */
nb_status nb_folder_list(int fd, bool (*take)(void *argument, const char *name), void *argument);

#endif
