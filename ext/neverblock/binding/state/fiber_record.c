/*
 * fiber_record.c - see fiber_record.h.
 */
#include "binding/state/fiber_record.h"

#include "binding/state/loop_time.h"

/* A pooled fiber between two requests is not shown. A fiber that starts another goes on at once. */
static bool is_shown(const nb_wait *wait) {
    if (wait->kind == NB_WAIT_SPAWN) return false;
    return wait->kind != NB_WAIT_PARK || wait->serving.record != NB_FIBER_NONE || wait->about.kind != 0;
}

/* The clock is read here, so that the next switch does not. */
static int64_t count_run(nb_fiber_memory *memory, const nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    int64_t now_ns = nb_event_loop_clock(scheduler);
    if (!nb_fiber_request_is(memory, wait->serving.record, wait->serving.exchange)) return now_ns;
    if (!scheduler->source.switched_ns) return now_ns;
    int64_t began_ns = atomic_load_explicit(scheduler->source.switched_ns, memory_order_relaxed);
    if (began_ns) nb_fiber_request_ran(memory, wait->serving.record, now_ns - began_ns);
    return now_ns;
}

void nb_fiber_record_park(nb_wait *wait, int64_t deadline_ns) {
    nb_fiber_memory *memory = nb_fiber_memory_of(wait->scheduler);
    if (memory == NULL || !is_shown(wait)) return;
    nb_fiber_wait facts = {.since_ns = count_run(memory, wait),
                           .until_ns = deadline_ns,
                           .subject = wait->about.subject,
                           .fiber = nb_fiber_name(wait->fiber),
                           .exchange = wait->serving.exchange,
                           .request = wait->serving.record,
                           .number = wait->about.number,
                           .kind = wait->about.kind,
                           .direction = wait->about.direction,
                           .own = wait->serving.own};
    if (wait->kind == NB_WAIT_PREEMPTED || (wait->kind == NB_WAIT_SLEEP && deadline_ns <= facts.since_ns))
        facts.kind = NB_FIBER_WAIT_turn;
    wait->record = nb_fiber_wait_begin(memory, &facts, wait->about.text);
    if (wait->state == NB_READY) nb_wait_tell_ready(wait);
}

void nb_fiber_record_end(nb_wait *wait) {
    nb_fiber_memory *memory = nb_fiber_memory_of(wait->scheduler);
    wait->scheduler->serving = wait->serving;
    if (memory == NULL) return;
    if (wait->record != NB_FIBER_NONE)
        nb_fiber_wait_end(memory, wait->record, wait->serving.own ? wait->serving.record : NB_FIBER_NONE);
    wait->record = NB_FIBER_NONE;
    nb_fiber_runs(memory, wait->serving.record);
}
