/*
 * file_times.h - a file's times, which systems name differently (stat(2)), in nanoseconds since
 * 1970.
 */
#ifndef NB_OS_FILE_TIMES_H
#define NB_OS_FILE_TIMES_H

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "os/clock.h"

#if defined(__APPLE__)
#define NB_STAT_MODIFIED st_mtimespec
#define NB_STAT_CHANGED st_ctimespec
#else
#define NB_STAT_MODIFIED st_mtim
#define NB_STAT_CHANGED st_ctim
#endif

/* A time that 64 bits cannot hold, of 1677 or 2262, becomes the nearest that they can. */
static inline int64_t nb_file_time_ns(struct timespec time) {
    const int64_t most = INT64_MAX / NB_NS_PER_S;
    if (time.tv_sec >= most) return INT64_MAX;
    if (time.tv_sec <= -most) return INT64_MIN;
    return (int64_t)time.tv_sec * NB_NS_PER_S + time.tv_nsec;
}

static inline int64_t nb_file_modified_ns(const struct stat *found) { return nb_file_time_ns(found->NB_STAT_MODIFIED); }

static inline int64_t nb_file_changed_ns(const struct stat *found) { return nb_file_time_ns(found->NB_STAT_CHANGED); }

#endif
