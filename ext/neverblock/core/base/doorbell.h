/*
 * doorbell.h - how one thread sleeps until another has work for it, without a system call while it is awake.
 *
 * The sleeper:  nb_doorbell_announce(bell)      sleeping := 1, then a full fence
 *               look at every ring and counter again; if anything is there: nb_doorbell_cancel, do not sleep
 *               sleep on the wake descriptor (poller), then nb_doorbell_cancel(bell)
 * The waker:    publish the record               (ring or counter, release order)
 *               nb_doorbell_ring_needed(bell)    a full fence, then: sleeping was 1 and this call set it to 0
 *               if true: nb_wake_signal(fd)      one write to the eventfd
 *
 * Why no wake is lost: the sleeper stores `sleeping` before it looks at the rings, the waker stores the record before
 * it looks at `sleeping`, and a full fence lies between the two on either side; in whatever order the four happen, at
 * least one side sees the other's store (Dekker). Why no wake is doubled: the exchange hands the 1 to one waker only.
 * test/c/base/test_doorbell_model.c walks every interleaving. The struct may lie in shared memory.
 *
 * ThreadSanitizer does not follow fences, so under it the two fences are read-modify-writes of `sleeping` itself, in
 * sequentially consistent order: they order what the fences order on the processors it runs on, and it understands
 * them.
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
