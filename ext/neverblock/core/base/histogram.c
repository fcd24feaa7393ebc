/*
 * histogram.c - see histogram.h.
 */
#include "base/histogram.h"

#define PARTS (UINT64_C(1) << NB_HISTOGRAM_PART_BITS)

static uint64_t get(const _Atomic uint64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }
static void set(_Atomic uint64_t *number, uint64_t value) {
    atomic_store_explicit(number, value, memory_order_relaxed);
}

static unsigned bucket_of(uint64_t units) {
    if (units < PARTS) return (unsigned)units;
    if (units >> NB_HISTOGRAM_RANGE_BITS) return NB_HISTOGRAM_BUCKETS - 1;
    unsigned shift = 63u - (unsigned)__builtin_clzll(units) - NB_HISTOGRAM_PART_BITS;
    return (shift << NB_HISTOGRAM_PART_BITS) + (unsigned)(units >> shift);
}

/* The longest duration a bucket counts. */
static uint64_t end_of(unsigned bucket) {
    unsigned shift = bucket < PARTS ? 0 : (bucket >> NB_HISTOGRAM_PART_BITS) - 1;
    uint64_t part = bucket - ((uint64_t)shift << NB_HISTOGRAM_PART_BITS);
    return (((part + 1) << shift) << NB_HISTOGRAM_UNIT_BITS) - 1;
}

void nb_histogram_record(nb_histogram *histogram, int64_t duration_ns) {
    uint64_t ns = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    _Atomic uint64_t *bucket = &histogram->buckets[bucket_of(ns >> NB_HISTOGRAM_UNIT_BITS)];
    set(bucket, get(bucket) + 1);
    set(&histogram->sum_ns, get(&histogram->sum_ns) + ns);
    if (ns > get(&histogram->max_ns)) set(&histogram->max_ns, ns);
}

void nb_histogram_add(nb_histogram *histogram, const nb_histogram *from) {
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS; i++) {
        set(&histogram->buckets[i], get(&histogram->buckets[i]) + get(&from->buckets[i]));
    }
    set(&histogram->sum_ns, get(&histogram->sum_ns) + get(&from->sum_ns));
    if (get(&from->max_ns) > get(&histogram->max_ns)) set(&histogram->max_ns, get(&from->max_ns));
}

static void advance(_Atomic uint64_t *earlier, const _Atomic uint64_t *now, _Atomic uint64_t *since) {
    uint64_t value = get(now);
    set(since, value - get(earlier));
    set(earlier, value);
}

void nb_histogram_advance(nb_histogram *earlier, const nb_histogram *now, nb_histogram *since) {
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS; i++)
        advance(&earlier->buckets[i], &now->buckets[i], &since->buckets[i]);
    advance(&earlier->sum_ns, &now->sum_ns, &since->sum_ns);
    set(&since->max_ns, get(&now->max_ns));
    set(&earlier->max_ns, get(&now->max_ns));
}

uint64_t nb_histogram_count(const nb_histogram *histogram) {
    uint64_t count = 0;
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS; i++) {
        count += get(&histogram->buckets[i]);
    }
    return count;
}

uint64_t nb_histogram_quantile_ns(const nb_histogram *histogram, unsigned permille) {
    uint64_t longest = get(&histogram->max_ns);
    uint64_t wanted = (nb_histogram_count(histogram) * permille + 999) / 1000, seen = 0;
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS - 1; i++) {
        seen += get(&histogram->buckets[i]);
        if (seen >= wanted) return end_of(i) < longest ? end_of(i) : longest;
    }
    return longest;
}

uint64_t nb_histogram_at_most(const nb_histogram *histogram, const uint64_t *bounds_ns, uint64_t *counts,
                              unsigned bounds) {
    uint64_t seen = 0;
    unsigned bound = 0;
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS; i++) {
        while (bound < bounds && bounds_ns[bound] < end_of(i)) {
            counts[bound++] = seen;
        }
        seen += get(&histogram->buckets[i]);
    }
    while (bound < bounds) {
        counts[bound++] = seen;
    }
    return seen;
}
