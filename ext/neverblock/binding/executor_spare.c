/*
 * executor_spare.c - see executor_spare.h.
 */
#include "executor_spare.h"

#include "base/counter.h"
#include "os/clock.h"

/* A thread that gets Ruby's lock so soon after it was called has not waited for it: the wake is in it, on a machine that has more to do. One that computes
 * keeps the lock for 100 ms, or until it waits. */
#define AT_ONCE_NS (5 * NB_NS_PER_MS)

static int64_t get(const _Atomic int64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

bool nb_executor_is_called(const nb_executor *executor) {
    return !NIL_P(executor->helped) &&
           atomic_load_explicit(&executor->board->call.asked_ns, memory_order_acquire) != executor->answered_ns;
}

/* Twice in a row for the same switch: one that has given the lock away for a moment, to read a file, has it back by then. */
static bool is_blocked(nb_executor *executor, nb_executor *helped, int64_t asked_ns) {
    int64_t switched_ns = get(&executor->board->call.switched_ns);
    bool same = nb_executor_switched_ns(helped) == switched_ns;
    if (!same || nb_clock_monotonic_ns() - asked_ns > AT_ONCE_NS) {
        executor->free_in_ns = 0;
        return false;
    }
    bool before = executor->free_in_ns == switched_ns;
    executor->free_in_ns = switched_ns;
    return before;
}

static void let_in(nb_executor *executor, nb_executor *helped) {
    nb_count(&executor->board->figures.let_in, 1);
    atomic_store_explicit(&helped->board->pulse.blocked_ns, executor->free_in_ns, memory_order_release);
}

void nb_executor_answer_call(nb_executor *executor) {
    if (!nb_executor_is_called(executor)) return;
    nb_executor *helped = nb_executor_get(executor->helped);
    int64_t asked_ns = get(&executor->board->call.asked_ns);
    executor->answered_ns = asked_ns;
    if (is_blocked(executor, helped, asked_ns)) let_in(executor, helped);
    atomic_store_explicit(&executor->board->call.answered_ns, asked_ns, memory_order_release);
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel_ring_loop(executor->ports[i].channel);
    }
}
