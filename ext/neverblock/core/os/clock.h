/* clock.h - monotonic and wall time. Any thread. */
#ifndef NB_OS_CLOCK_H
#define NB_OS_CLOCK_H

#include <stdint.h>

#define NB_NS_PER_S 1000000000ll
#define NB_NS_PER_MS 1000000ll

int64_t nb_clock_monotonic_ns(void); /* CLOCK_MONOTONIC */
/* CLOCK_MONOTONIC_COARSE where it exists: cheaper, some ms behind. */
int64_t nb_clock_coarse_ns(void);
int64_t nb_clock_thread_ns(void); /* CLOCK_THREAD_CPUTIME_ID: what the calling thread has run */
int64_t nb_clock_wall_s(void);    /* seconds since 1970, for Date */
int64_t nb_clock_wall_ns(void);   /* the same in nanoseconds, for logs */

#endif
