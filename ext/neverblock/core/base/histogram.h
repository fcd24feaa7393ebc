/*
 * histogram.h - durations counted in fixed memory: log-linear buckets (32 per power of two, as in
 * HdrHistogram), so that any quantile is exact within 1/32 of itself, or 64 ns. The range is 0 to
 * 73 minutes. Longer durations count as the longest, and `max` keeps them.
 *
 * Threads: one records; any thread or process reads. Each number is whole, but together they are
 * not of one instant. No pointer inside, so that it may lie in shared memory. All zero is empty.
 */
#ifndef NB_BASE_HISTOGRAM_H
#define NB_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#define NB_HISTOGRAM_UNIT_BITS 6u   /* the finest bucket: 64 ns */
#define NB_HISTOGRAM_PART_BITS 5u   /* 32 buckets to a power of two */
#define NB_HISTOGRAM_RANGE_BITS 36u /* units */
#define NB_HISTOGRAM_BUCKETS ((NB_HISTOGRAM_RANGE_BITS - NB_HISTOGRAM_PART_BITS + 1u) << NB_HISTOGRAM_PART_BITS)

typedef struct nb_histogram {
    _Atomic uint64_t sum_ns, max_ns;
    _Atomic uint64_t buckets[NB_HISTOGRAM_BUCKETS];
} nb_histogram;

/* A negative duration counts as 0. */
void nb_histogram_record(nb_histogram *histogram, int64_t duration_ns);
/* Adds all that `from` has. */
void nb_histogram_add(nb_histogram *histogram, const nb_histogram *from);
/* since: what `now` has more than `earlier`, which becomes a copy of it. The longest in `since` is
   not known better than its bucket. */
void nb_histogram_advance(nb_histogram *earlier, const nb_histogram *now, nb_histogram *since);
uint64_t nb_histogram_count(const nb_histogram *histogram);
/* The shortest duration that `permille` of 1000 do not exceed, rounded up to the end of its bucket
   but never past the longest. 0: empty. */
uint64_t nb_histogram_quantile_ns(const nb_histogram *histogram, unsigned permille);
/* counts[i]: durations of at most bounds_ns[i] (ascending). A bucket that lies across a bound is
   left out. Returns the count of all. */
uint64_t nb_histogram_at_most(const nb_histogram *histogram, const uint64_t *bounds_ns, uint64_t *counts,
                              unsigned bounds);

#endif
