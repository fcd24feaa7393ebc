/*
 * file_times.h - a file's times, which systems name differently (stat(2)), in nanoseconds since
 * 1970.
 */
#ifndef NB_OS_FILE_TIMES_H
#define NB_OS_FILE_TIMES_H

#include <stdint.h>
#include <sys/stat.h>

#include "os/clock.h"

#if defined(__APPLE__)
#define NB_STAT_MODIFIED st_mtimespec
#define NB_STAT_CHANGED st_ctimespec
#else
#define NB_STAT_MODIFIED st_mtim
#define NB_STAT_CHANGED st_ctim
#endif

static inline int64_t nb_file_modified_ns(const struct stat *found) {
    return found->NB_STAT_MODIFIED.tv_sec * NB_NS_PER_S + found->NB_STAT_MODIFIED.tv_nsec;
}

static inline int64_t nb_file_changed_ns(const struct stat *found) {
    return found->NB_STAT_CHANGED.tv_sec * NB_NS_PER_S + found->NB_STAT_CHANGED.tv_nsec;
}

#endif
