/*
 * histogram.h - how long things took, in fixed memory: counts in log-linear buckets (32 to each power of two, as
 * HdrHistogram has them), so that any quantile is right within 1/32 of itself, or 64 ns, whatever the range. 0 to 73
 * minutes; longer ones count as that, and `max` keeps them.
 *
 * One thread records; any thread or process reads, each number whole and the set not one instant. No pointer inside:
 * it may lie in shared memory. All zero is an empty one. Durations in nanoseconds.
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

/* Negative: as 0. */
void nb_histogram_record(nb_histogram *histogram, int64_t duration_ns);
/* Adds all that `from` has. */
void nb_histogram_add(nb_histogram *histogram, const nb_histogram *from);
uint64_t nb_histogram_count(const nb_histogram *histogram);
/* The least duration that `permille` of 1000 do not exceed, rounded up to its bucket's end but never past the longest.
 * 0 when there is none. */
uint64_t nb_histogram_quantile_ns(const nb_histogram *histogram, unsigned permille);
/* counts[i]: recorded durations of at most bounds_ns[i] (ascending), a bucket that lies across a bound being left out.
 * Returns the count of all. */
uint64_t nb_histogram_at_most(const nb_histogram *histogram, const uint64_t *bounds_ns, uint64_t *counts,
                              unsigned bounds);

#endif
