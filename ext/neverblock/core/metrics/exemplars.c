/*
 * exemplars.c - see exemplars.h. The seqlock is that of intake/fiber_table.c.
 */
#include "metrics/exemplars.h"

const uint64_t nb_duration_bounds_ns[NB_DURATION_BOUNDS] = {
    100000,    250000,    500000,    1000000,    2500000,    5000000,    10000000,    25000000,    50000000,
    100000000, 250000000, 500000000, 1000000000, 2500000000, 5000000000, 10000000000, 30000000000, 60000000000};

static unsigned bucket_of(int64_t duration_ns) {
    unsigned bucket = 0;
    while (bucket < NB_DURATION_BOUNDS && duration_ns > (int64_t)nb_duration_bounds_ns[bucket])
        bucket++;
    return bucket;
}

static void set(_Atomic uint64_t *to, uint64_t value) { atomic_store_explicit(to, value, memory_order_release); }

static uint64_t get(const _Atomic uint64_t *from) {
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)from, memory_order_acquire);
}

void nb_exemplars_record(nb_exemplars *exemplars, const nb_exemplar *exemplar) {
    nb_exemplar_record *record = &exemplars->each[bucket_of(exemplar->duration_ns)];
    uint64_t sequence = atomic_load_explicit(&record->sequence, memory_order_relaxed);
    atomic_store_explicit(&record->sequence, sequence | 1, memory_order_relaxed);
    set(&record->words[0], exemplar->trace.high);
    set(&record->words[1], exemplar->trace.low);
    set(&record->words[2], (uint64_t)exemplar->duration_ns);
    set(&record->words[3], (uint64_t)exemplar->wall_ns);
    set(&record->sequence, (sequence | 1) + 1);
}

bool nb_exemplars_read(const nb_exemplars *exemplars, unsigned bucket, nb_exemplar *exemplar) {
    const nb_exemplar_record *record = &exemplars->each[bucket];
    uint64_t sequence = get(&record->sequence);
    if (sequence == 0 || sequence & 1) return false;
    nb_exemplar read = {.trace = {get(&record->words[0]), get(&record->words[1])},
                        .duration_ns = (int64_t)get(&record->words[2]),
                        .wall_ns = (int64_t)get(&record->words[3])};
    if (atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&record->sequence, memory_order_relaxed) != sequence)
        return false;
    *exemplar = read;
    return true;
}
