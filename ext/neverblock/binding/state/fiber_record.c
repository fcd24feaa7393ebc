/*
 * fiber_record.c - see fiber_record.h.
 */
#include "binding/state/fiber_record.h"

#include "base/alloc.h"
#include "binding/state/accounting.h"
#include "binding/state/loop_time.h"

/* A pooled fiber between two requests is not shown. A fiber that starts another goes on at once. */
static bool is_shown(const nb_wait *wait) {
    if (wait->kind == NB_WAIT_SPAWN) return false;
    return wait->kind != NB_WAIT_PARK || wait->serving.exchange != 0 || wait->about.kind != 0;
}

static nb_fiber_wait_kind kind_of(const nb_wait *wait, int64_t deadline_ns, int64_t now_ns) {
    bool turn = wait->kind == NB_WAIT_PREEMPTED || (wait->kind == NB_WAIT_SLEEP && deadline_ns <= now_ns);
    return turn ? NB_FIBER_WAIT_turn : (nb_fiber_wait_kind)wait->about.kind;
}

static void tell_loops(nb_wait *wait, nb_fiber_memory *memory, const nb_fiber_wait *facts) {
    wait->record = nb_fiber_wait_begin(memory, facts, wait->about.text);
    if (wait->state == NB_READY) nb_wait_tell_ready(wait);
}

/* The room is made for the first wait of a task, and used again for its next requests. */
static void begin_waterfall(nb_wait *wait, const nb_fiber_wait *facts) {
    nb_account *account = wait->serving.account;
    bool on_top = wait->serving.own && wait->accounted_ns == 0;
    if (on_top || !nb_account_is(account, wait->serving.exchange)) return;
    if (!account->waterfall) {
        account->waterfall = nb_alloc(sizeof(*account->waterfall));
        if (account->waterfall) nb_waterfall_begin(account->waterfall);
    }
    if (account->waterfall) wait->place = nb_waterfall_add(account->waterfall, facts, wait->about.text);
}

static void end_waterfall(const nb_wait *wait, const nb_fiber_memory *memory) {
    char line[NB_WATERFALL_LINE_BYTES];
    nb_account *account = wait->serving.account;
    if (wait->place == NB_WATERFALL_NONE || !nb_account_is(account, wait->serving.exchange)) return;
    size_t size = nb_fiber_trace_line(memory, wait->record, line, sizeof(line));
    nb_waterfall_end(account->waterfall, wait->place, wait->ready_ns, wait->scheduler->counted.at_ns,
                     nb_slice_of(line, size));
}

/* The clock is read here, so that the next switch does not. */
void nb_fiber_record_park(nb_wait *wait, int64_t deadline_ns) {
    nb_scheduler *scheduler = wait->scheduler;
    nb_fiber_memory *memory = nb_fiber_memory_of(scheduler);
    if (!nb_accounting(scheduler) || !is_shown(wait)) return;
    int64_t now_ns = nb_event_loop_clock(scheduler);
    nb_fiber_wait facts = {.since_ns = now_ns,
                           .until_ns = deadline_ns,
                           .subject = wait->about.subject,
                           .fiber = nb_fiber_name(wait->fiber),
                           .exchange = wait->serving.exchange,
                           .request = wait->serving.record,
                           .number = wait->about.number,
                           .kind = (uint8_t)kind_of(wait, deadline_ns, now_ns),
                           .direction = wait->about.direction,
                           .own = wait->serving.own};
    nb_accounting_passed(scheduler, now_ns);
    nb_accounting_wait_begins(wait, (nb_fiber_wait_kind)facts.kind, now_ns);
    if (!memory) return;
    scheduler->waited = true;
    tell_loops(wait, memory, &facts);
    begin_waterfall(wait, &facts);
}

static void observe(const nb_wait *wait, int64_t began_ns) {
    const nb_scheduler_source *source = &wait->scheduler->source;
    if (began_ns && nb_account_may_be_observed(wait->serving.account)) source->observe(source->owner, wait, began_ns);
}

void nb_fiber_record_end(nb_wait *wait) {
    nb_fiber_memory *memory = nb_fiber_memory_of(wait->scheduler);
    wait->scheduler->serving = wait->serving;
    int64_t counts_since_ns = nb_accounting_wait_ends(wait);
    if (memory == NULL) return;
    end_waterfall(wait, memory);
    observe(wait, counts_since_ns);
    wait->place = NB_WATERFALL_NONE;
    if (wait->record != NB_FIBER_NONE)
        nb_fiber_wait_end(memory, wait->record, wait->serving.own ? wait->serving.record : NB_FIBER_NONE);
    wait->record = NB_FIBER_NONE;
    nb_fiber_runs(memory, wait->serving.record);
}
