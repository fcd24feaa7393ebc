/*
 * doorbell.h - one thread or process sleeps until another has work for it. While it is awake
 * neither side makes a system call. The struct may lie in shared memory.
 *
 * The sleeper:  nb_doorbell_announce(bell)     sleeping := 1, then a full fence
 *               looks at all rings and counters again; finds something: nb_doorbell_cancel
 *               else sleeps on the wake descriptor (poller), then nb_doorbell_cancel(bell)
 * The waker:    publishes the record            (ring or counter, release order)
 *               nb_doorbell_ring_needed(bell)   a full fence, then: true if this call took the 1
 *               if true: nb_wake_signal(fd)     one write to the eventfd
 *
 * Why no wake is lost (Dekker): the sleeper stores `sleeping` before it looks at the rings. The
 * waker stores the record before it looks at `sleeping`. Each has a full fence between the two. In
 * whatever order the four happen, at least one side sees the other's store. Why no wake is doubled:
 * the exchange gives the 1 to one waker only. test/c/base/test_doorbell_model.c walks every
 * interleaving.
 *
 * ThreadSanitizer does not follow fences. Under it the two fences are sequentially consistent
 * read-modify-writes of `sleeping`, which it understands. They order the same on the processors
 * where it runs.
 */
#ifndef NB_BASE_DOORBELL_H
#define NB_BASE_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct nb_doorbell {
    _Alignas(64) _Atomic uint32_t sleeping;
} nb_doorbell;

#if defined(__SANITIZE_THREAD__)
#define NB_DOORBELL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NB_DOORBELL_TSAN 1
#endif
#endif

static inline void nb_doorbell_init(nb_doorbell *bell) { atomic_init(&bell->sleeping, 0); }

#ifdef NB_DOORBELL_TSAN
static inline void nb_doorbell_announce(nb_doorbell *bell) { atomic_exchange(&bell->sleeping, 1); }

static inline void nb_doorbell_fence(nb_doorbell *bell) { atomic_fetch_or(&bell->sleeping, 0); }
#else
static inline void nb_doorbell_announce(nb_doorbell *bell) {
    atomic_store_explicit(&bell->sleeping, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static inline void nb_doorbell_fence(nb_doorbell *bell) {
    (void)bell;
    atomic_thread_fence(memory_order_seq_cst);
}
#endif

static inline void nb_doorbell_cancel(nb_doorbell *bell) {
    atomic_store_explicit(&bell->sleeping, 0, memory_order_relaxed);
}

static inline bool nb_doorbell_sleeping(nb_doorbell *bell) {
    return atomic_load_explicit(&bell->sleeping, memory_order_relaxed) != 0;
}

static inline bool nb_doorbell_ring_needed(nb_doorbell *bell) {
    nb_doorbell_fence(bell);
    if (atomic_load_explicit(&bell->sleeping, memory_order_relaxed) == 0) return false;
    return atomic_exchange_explicit(&bell->sleeping, 0, memory_order_acq_rel) == 1;
}

#endif
