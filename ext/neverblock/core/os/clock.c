/*
 * clock.c - clock_gettime(2) in nanoseconds.
 */
#include "os/clock.h"

#include <time.h>

#if defined(CLOCK_MONOTONIC_COARSE)
#define COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#elif defined(CLOCK_MONOTONIC_FAST)
#define COARSE_CLOCK CLOCK_MONOTONIC_FAST
#else
#define COARSE_CLOCK CLOCK_MONOTONIC
#endif

static int64_t read_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NB_NS_PER_S + now.tv_nsec;
}

int64_t nb_clock_monotonic_ns(void) { return read_ns(CLOCK_MONOTONIC); }

int64_t nb_clock_coarse_ns(void) { return read_ns(COARSE_CLOCK); }

int64_t nb_clock_thread_ns(void) { return read_ns(CLOCK_THREAD_CPUTIME_ID); }

int64_t nb_clock_wall_s(void) { return (int64_t)time(NULL); }

int64_t nb_clock_wall_ns(void) { return read_ns(CLOCK_REALTIME); }
