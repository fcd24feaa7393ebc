/*
 * spare.c - see spare.h.
 */
#include "binding/executor/spare.h"

#include "base/counter.h"
#include "binding/ports/port.h"
#include "os/clock.h"

/* A thread that gets Ruby's lock so soon after it was called has not waited for it: the wake is in it, on a machine that has more to do. One that computes
 * keeps the lock for 100 ms, or until it waits. */
#define AT_ONCE_NS (5 * NB_NS_PER_MS)

static int64_t get(const _Atomic int64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

bool nb_executor_is_called(const nb_executor *executor) {
    return executor->helps &&
           atomic_load_explicit(&executor->board->call.asked_ns, memory_order_acquire) != executor->answered_ns;
}

/* The executor's switch, if it was in it when the lock was free before, and nobody has found that out; else 0. */
static int64_t kept_in_ns(const nb_executor *executor, int64_t free_before_ns) {
    int64_t switched_ns = nb_executor_switched_ns(executor);
    return switched_ns > free_before_ns || get(&executor->board->pulse.blocked_ns) == switched_ns ? 0 : switched_ns;
}

/* Twice in a row in the same switch: one that has given the lock away for a moment, to read a file, has it back by then. The spares between this one and an executor are
   kept as well, or they would have been asked: the lock was free for all of them. */
static void found_blocked(nb_executor *executor, int64_t free_before_ns) {
    bool some = false;
    for (const nb_executor *kept = executor->helps; kept; kept = kept->helps) {
        int64_t switched_ns = kept_in_ns(kept, free_before_ns);
        if (!switched_ns) continue;
        atomic_store_explicit(&kept->board->pulse.blocked_ns, switched_ns, memory_order_release);
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
