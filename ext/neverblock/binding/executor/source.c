/*
 * source.c - see source.h.
 */
#include "binding/executor/source.h"

#include "binding/executor/entry.h"
#include "binding/executor/executor_figures.h"
#include "binding/executor/fiber_traces.h"
#include "binding/executor/messages.h"
#include "binding/executor/observed_requests.h"
#include "binding/ports/port.h"
#include "binding/scheduler/scheduler.h"
#include "binding/executor/spare.h"
#include "binding/hooks/resolve.h"
#include "os/clock.h"
#include "binding/executor/task.h"

/* So often fibers that were not needed since the last time are ended. */
#define TRIM_EVERY_NS (10 * INT64_C(1000000000))

/* Responses wait for the loop's turn no longer while fibers are ready one after the other. */
#define ATTEND_AFTER_NS 200000

static void ring_loops(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_port_ring(&executor->ports[i]);
    }
}

/* Each turn begins with another port, so that no loop is always the first. */
static bool source_drain(void *owner) {
    nb_executor *executor = owner;
    nb_executor_traces_take(executor);
    unsigned messages = 0;
    uint64_t received = executor->received;
    int64_t began_ns = nb_scheduler_now(executor->scheduler);
    nb_executor_entry_begin(executor, began_ns);
    if (executor->figures && executor->turn_began_ns == 0) executor->turn_began_ns = began_ns;
    uint16_t number = executor->port_next;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_port *port = &executor->ports[number];
        if (!nb_port_drain(port)) return false;
        messages += port->messages_taken;
        number = number + 1 < executor->port_count ? (uint16_t)(number + 1) : 0;
    }
    executor->port_next = number + 1 < executor->port_count ? (uint16_t)(number + 1) : 0;
    nb_executor_entry_end(executor, began_ns, executor->received - received);
    return messages > 0;
}

/* No request will come any more. */
static bool ends(const nb_executor *executor) {
    if (executor->finishes) return true;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        if (!executor->ports[i].ends) return false;
    }
    return true;
}

/* Fibers of a past flood of requests are ended: each costs memory, and time in every garbage
   collection. */
static void trim_pool(nb_executor *executor) {
    int64_t now = nb_executor_switched_ns(executor);
    if (now - executor->trimmed_ns < TRIM_EVERY_NS) return;
    uint32_t keep = executor->running_peak - executor->running;
    executor->trimmed_ns = now;
    executor->running_peak = executor->running;
    nb_task_retire_idle(executor, keep);
}

/* Rings every loop that starves: requests are sent in the order in which they came
   (dispatch/queues.h). */
static void ring_if_starved(nb_executor *executor) {
    for (uint16_t i = 0; i < executor->port_count; i++) {
        nb_channel *channel = executor->ports[i].channel;
        if (atomic_load_explicit(&channel->memory->loop_starved, memory_order_relaxed)) nb_channel_ring_loop(channel);
    }
}

/* Runs a turn of the I/O loop with the GVL between two passes, when ready fibers have kept the
   executor from sleeping: while it sleeps it runs such turns without the GVL. Files are never sent
   with the GVL. */
static void serve_sockets(nb_executor *executor) {
    nb_port *port = &executor->ports[0]; /* a guest has one loop only */
    int64_t now = nb_executor_switched_ns(executor);
    if (now - port->unrung_since_ns < ATTEND_AFTER_NS) return;
    if (nb_server_guest_turn(executor->server, &port->requests) == NB_GUEST_REFUSED) {
        nb_port_ring(port);
    } else {
        port->unrung_since_ns = 0;
    }
}

static void source_turn_end(void *owner) {
    nb_executor *executor = owner;
    /* Here, where the last request may have ended, all fibers end, so that none stays parked. */
    if (executor->running == 0 && ends(executor)) nb_task_retire_idle(executor, 0);
    nb_executor_ask_for_more(executor);
    if (executor->guest && executor->ports[0].unrung_since_ns) {
        serve_sockets(executor);
    } else {
        ring_loops(executor);
    }
    /* A reader of this count sees what the turn has begun with (dispatch/dispatch_requeue.c). */
    atomic_fetch_add_explicit(&executor->board->pulse.turns, 1, memory_order_release);
    ring_if_starved(executor);
    nb_executor_answer_call(executor);
    if (executor->figures) nb_executor_figures_turn(executor);
}

/* The executor has nothing to do and runs the I/O loop itself, so that the next request needs no
   other thread (loop/lease.h). */
static nb_source_wait source_wait(void *owner, int64_t timeout_ns) {
    nb_executor *executor = owner;
    if (!executor->guest) return NB_SOURCE_CANNOT;
    nb_port *port = &executor->ports[0];
    switch (nb_server_guest_wait(executor->server, &port->requests, timeout_ns)) {
    case NB_GUEST_SERVED:
        port->unrung_since_ns = 0;
        return NB_SOURCE_WAITED;
    case NB_GUEST_CALLED:
        port->unrung_since_ns = 0;
        return NB_SOURCE_CALLED;
    case NB_GUEST_REFUSED:
        break;
    }
    nb_port_ring(port);
    return NB_SOURCE_CANNOT;
}

static void source_awake(void *owner) {
    nb_executor *executor = owner;
    executor->turn_began_ns = 0;
    if (!executor->guest) executor->awake_ns = nb_clock_monotonic_ns();
    nb_doorbell_cancel(&executor->board->executor_bell);
}

/* A message that a drain has in hand belongs to the running fiber. */
static bool source_waits(void *owner) {
    nb_executor *executor = owner;
    if (nb_executor_traces_asked(executor)) return true;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        if (nb_ring_more(&executor->ports[i].requests, executor->ports[i].in_hand)) return true;
    }
    return false;
}

static void source_watch(void *owner, bool watched) {
    nb_doorbell *bell = &((nb_executor *)owner)->board->busy_bell;
    if (watched) {
        nb_doorbell_announce(bell);
    } else {
        nb_doorbell_cancel(bell);
    }
}

static bool source_starves(void *owner) {
    const nb_executor *executor = owner;
    if (executor->running >= executor->fibers_max) return false;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        if (nb_channel_loop_starves(executor->ports[i].channel)) return true;
    }
    return false;
}

static int64_t source_due(void *owner) { return nb_executor_traces_due_ns(owner); }

static bool source_prepare_sleep(void *owner) {
    nb_executor *executor = owner;
    trim_pool(executor);
    if (!executor->guest) nb_executor_figures_sleep(executor);
    if (executor->figures && (rb_gc_count() != executor->gc_told || nb_resolve_asked()))
        nb_executor_figures_tell(executor, executor->turn_began_ns);
    nb_doorbell_announce(&executor->board->executor_bell);
    /* after the fence: credit was stored before it, and the loop's flag is read after it */
    ring_if_starved(executor);
    bool something = nb_executor_is_called(executor) || nb_executor_traces_asked(executor);
    for (uint16_t i = 0; i < executor->port_count && !something; i++) {
        something = nb_port_has_something(&executor->ports[i]);
    }
    if (something) source_awake(executor);
    return !something;
}

static bool source_finished(void *owner) {
    nb_executor *executor = owner;
    return executor->running == 0 && ends(executor);
}

void nb_executor_attach(nb_executor *executor) {
    nb_scheduler_source source = {
        .wake_fd = executor->link->executor_wake.read_fd,
        .drain = source_drain,
        .prepare_sleep = source_prepare_sleep,
        .due = source_due,
        .awake = source_awake,
        .wait = source_wait,
        .turn_end = source_turn_end,
        .waits = source_waits,
        .watch = source_watch,
        .starves = source_starves,
        .preempted = nb_executor_preempted,
        .observe = nb_executor_observe,
        .finished = source_finished,
        .owner = executor,
        .accounts = executor->accounts,
        .shares_gvl = !executor->server || !NIL_P(executor->helped) || executor->lane || executor->link->spare,
        .switched_ns = &executor->board->pulse.switched_ns,
        .parked = &executor->board->figures.parked,
        .ready = &executor->board->figures.ready,
        .fibers = executor->figures ? executor->link->fibers : NULL,
    };
    nb_scheduler_attach(executor->scheduler, &source);
    executor->guest = executor->server && NIL_P(executor->helped) && executor->lane == 0 &&
                      nb_server_guest_begin(executor->server, nb_scheduler_poll_descriptor(executor->scheduler));
}
