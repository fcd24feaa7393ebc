/*
 * spare.c - see spare.h.
 */
#include "binding/executor/spare.h"

#include "base/counter.h"
#include "binding/ports/port.h"
#include "os/clock.h"

/* A thread that has the GVL so soon after it was called has not waited for it; the time to wake it
   on a busy machine is included. A thread that computes keeps the GVL for 100 ms, or until it waits
   (TIME_QUANTUM_MSEC in Ruby's thread.c). */
#define AT_ONCE_NS (5 * NB_NS_PER_MS)

static int64_t get(const _Atomic int64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

bool nb_executor_is_called(const nb_executor *executor) {
    return executor->helps &&
           atomic_load_explicit(&executor->board->call.asked_ns, memory_order_acquire) != executor->answered_ns;
}

/* The stamp of the burst that the executor is in, if it was in it when the lock was free before,
   and nobody has told so; else 0. */
static int64_t blocked_in_ns(const nb_executor *executor, int64_t free_before_ns) {
    int64_t switched_ns = nb_executor_switched_ns(executor);
    return switched_ns > free_before_ns || get(&executor->board->pulse.blocked_ns) == switched_ns ? 0 : switched_ns;
}

/* Tells which executors are blocked: those that were in the same burst at two calls in a row, and
   did not have the GVL. A call that releases the GVL for a moment only, to read a file, has ended
   by the second. The spares between this one and the executor are blocked as well, or they would
   have been called: the GVL was free for all of them. */
static void found_blocked(nb_executor *executor, int64_t free_before_ns) {
    bool some = false;
    for (const nb_executor *blocked = executor->helps; blocked; blocked = blocked->helps) {
        int64_t switched_ns = blocked_in_ns(blocked, free_before_ns);
        if (!switched_ns) continue;
        atomic_store_explicit(&blocked->board->pulse.blocked_ns, switched_ns, memory_order_release);
        some = true;
    }
    if (some) nb_count(&executor->board->figures.found_blocked, 1);
}

void nb_executor_answer_call(nb_executor *executor) {
    if (!nb_executor_is_called(executor)) return;
    int64_t asked_ns = get(&executor->board->call.asked_ns), free_before_ns = executor->free_ns;
    executor->answered_ns = asked_ns;
    executor->free_ns = nb_clock_monotonic_ns() - asked_ns <= AT_ONCE_NS ? asked_ns : 0;
    if (executor->free_ns) found_blocked(executor, free_before_ns);
    atomic_store_explicit(&executor->board->call.answered_ns, asked_ns, memory_order_release);
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel_ring_loop(executor->ports[i].channel);
    }
}
