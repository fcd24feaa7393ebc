/*
 * learned.h - which requests go to a lane because calls of theirs have kept executors again and again: those of a method
 * and a path that differ in parts with digits alone (path_pattern.h).
 *
 * Those that have stalled NB_LEARNED_AFTER times, each within NB_LEARNED_AGAIN_NS of the one before, are in the lane for
 * NB_LEARNED_STAY_NS. Nobody can see there whether they still would stall: then they are back on trial, for as long
 * again. One stall of theirs in that time, and they are in the lane for twice as long as they were, an hour at most;
 * none, and nothing is known of them any more.
 *
 * Bounded; where there is no room those are forgotten that have not stalled for longest and are not in the lane. Time is
 * an argument.
 */
#ifndef NB_DISPATCH_LEARNED_H
#define NB_DISPATCH_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"
#include "os/clock.h"

#define NB_LEARNED_MAX 64u
#define NB_LEARNED_PATTERN_BYTES 200u /* of longer paths nothing is learned */
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
    int64_t stalled_ns; /* the last time */
    int64_t until_ns;   /* in the lane; else on trial. 0: neither was */
    int64_t stay_ns;    /* in the lane, this time or the last */
    char pattern[NB_LEARNED_PATTERN_BYTES];
} nb_learned_class;

typedef struct nb_learned {
    uint32_t in_lane;
    uint64_t learned_total, returned_total; /* times that some went to the lane, and back */
    nb_learned_class classes[NB_LEARNED_MAX];
} nb_learned;

/* A call has kept the executor of such a request. Those that are in the lane from now on; NULL: nothing changes. */
const nb_learned_class *nb_learned_stalled(nb_learned *learned, nb_method method, nb_slice path, int64_t now_ns);
/* Some whose time in the lane is over: they are back in fibers. NULL: there are none (more). */
const nb_learned_class *nb_learned_return(nb_learned *learned, int64_t now_ns);
bool nb_learned_in_lane(const nb_learned *learned, nb_method method, nb_slice path);

#endif
