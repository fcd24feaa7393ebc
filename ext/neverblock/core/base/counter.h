/*
 * counter.h - a counter that one thread writes and any thread or process reads.
 */
#ifndef NB_BASE_COUNTER_H
#define NB_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

static inline uint64_t nb_counted(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Only one thread writes a counter, so a plain read-add-write is enough; readers see whole
   values. */
static inline void nb_count(_Atomic uint64_t *counter, uint64_t by) {
    atomic_store_explicit(counter, nb_counted(counter) + by, memory_order_relaxed);
}

#endif
