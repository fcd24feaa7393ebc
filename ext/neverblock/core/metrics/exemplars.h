/*
 * exemplars.h - for each bucket of a histogram of durations, one request that a trace tells more
 * of: the last one with a `traceparent` (exemplars of OpenMetrics 1.0).
 *
 * A record has a sequence number, odd while it is written, and atomic fields: a reader copies it,
 * and believes the copy if the number is even and has not changed.
 *
 * Threads: one records, the loop's; any reads. All zero is empty.
 */
#ifndef NB_METRICS_EXEMPLARS_H
#define NB_METRICS_EXEMPLARS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/trace_context.h"

/* The upper bounds of buckets of durations, ascending: 0.1 ms to one minute. The last bucket has
   none. */
#define NB_DURATION_BOUNDS 18u
#define NB_DURATION_BUCKETS (NB_DURATION_BOUNDS + 1u)
extern const uint64_t nb_duration_bounds_ns[NB_DURATION_BOUNDS];

typedef struct nb_exemplar {
    nb_trace_id trace;
    int64_t duration_ns;
    int64_t wall_ns; /* when it was recorded, since 1970 */
} nb_exemplar;

typedef struct nb_exemplar_record {
    _Atomic uint64_t sequence;
    _Atomic uint64_t words[4];
} nb_exemplar_record;

typedef struct nb_exemplars {
    nb_exemplar_record each[NB_DURATION_BUCKETS];
} nb_exemplars;

/* In place of the one that its bucket has. */
void nb_exemplars_record(nb_exemplars *exemplars, const nb_exemplar *exemplar);
/* False, with *exemplar untouched: the bucket has none, or it is being written. */
bool nb_exemplars_read(const nb_exemplars *exemplars, unsigned bucket, nb_exemplar *exemplar);

#endif
