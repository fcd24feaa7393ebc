/*
 * learned.h - which request classes run in a lane because calls of their requests have stalled
 * executors again and again. A class is a method and a path pattern whose places stand for
 * segments with digits (intake/path_pattern.h).
 *
 * A class that has stalled NB_LEARNED_AFTER times, each time within NB_LEARNED_AGAIN_NS of the one
 * before, stays in the lane for NB_LEARNED_STAY_NS. In a lane nobody can see whether it would
 * stall again. So it returns to fibers on trial, for as long as it stayed. One stall during the
 * trial doubles the stay, to an hour at most. Without a stall it is forgotten.
 *
 * The table is bounded: where it is full, the class outside the lane whose last stall is longest
 * ago is forgotten. Time is an argument (monotonic nanoseconds). Threads: lanes.h calls it under
 * its lock.
 */
#ifndef NB_DISPATCH_LEARNED_H
#define NB_DISPATCH_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"
#include "os/clock.h"

#define NB_LEARNED_MAX 64u
#define NB_LEARNED_PATTERN_BYTES 200u /* longer paths are not learned */
#define NB_LEARNED_SHOWN_BYTES (3 * NB_LEARNED_PATTERN_BYTES + 1)
#define NB_LEARNED_AFTER 3u
#define NB_LEARNED_AGAIN_NS (60 * NB_NS_PER_S)
#define NB_LEARNED_STAY_NS (60 * NB_NS_PER_S)
#define NB_LEARNED_STAY_MAX_NS (3600 * NB_NS_PER_S)

typedef struct nb_learned_class {
    nb_method method;
    uint16_t bytes; /* of the pattern; 0: this row is free */
    uint16_t stalls;
    bool in_lane;
    int64_t stalled_ns; /* when it last stalled */
    int64_t until_ns;   /* end of the stay in the lane, else of the trial; 0: neither */
    int64_t stay_ns;    /* length of this stay, or of the last */
    char pattern[NB_LEARNED_PATTERN_BYTES];
} nb_learned_class;

typedef struct nb_learned {
    uint32_t in_lane;
    uint64_t learned_total, returned_total; /* times that a class went to the lane, and came back */
    nb_learned_class classes[NB_LEARNED_MAX];
} nb_learned;

/* A call of such a request has stalled its executor. Returns the class if it goes to the lane now;
   NULL: nothing changes. */
const nb_learned_class *nb_learned_stalled(nb_learned *learned, nb_method method, nb_slice path, int64_t now_ns);
/* Returns a class whose stay has just ended: it is in fibers again. NULL: no more. */
const nb_learned_class *nb_learned_return(nb_learned *learned, int64_t now_ns);
bool nb_learned_in_lane(const nb_learned *learned, nb_method method, nb_slice path);

#endif
