/*
 * accounting.c - see accounting.h.
 */
#include "binding/state/accounting.h"

#include "binding/base/module.h"
#include "binding/state/loop_time.h"

/* Symbols of literals: Ruby keeps them, and rb_gc_stat does not raise for names that it has. */
static uint64_t objects_now(void) {
    static VALUE name;
    if (!name) name = ID2SYM(rb_intern("total_allocated_objects"));
    return rb_gc_stat(name);
}

static int64_t gc_now_ns(void) { return (int64_t)nb_gc_ms() * NB_NS_PER_MS; }

static void read_counts(nb_accounted *counted, int64_t now_ns) {
    counted->at_ns = now_ns;
    counted->objects = objects_now();
    counted->gc_ns = gc_now_ns();
}

void nb_accounting_switched(nb_scheduler *scheduler, int64_t now_ns) {
    if (!nb_accounting(scheduler)) return;
    read_counts(&scheduler->counted, now_ns);
    scheduler->counted.told_ns = now_ns;
}

void nb_accounting_count(nb_scheduler *scheduler, int64_t now_ns) {
    if (!nb_accounting(scheduler)) return;
    nb_accounted before = scheduler->counted;
    nb_account *account = scheduler->serving.account;
    read_counts(&scheduler->counted, now_ns);
    if (!nb_account_is(account, scheduler->serving.exchange)) return;
    nb_account_ran(account, now_ns - before.at_ns);
    account->allocated += scheduler->counted.objects - before.objects;
    account->gc_ns += scheduler->counted.gc_ns - before.gc_ns;
}

/* What a fiber that runs has run since its switch they add themselves. */
static void tell_loops(nb_scheduler *scheduler, int64_t now_ns) {
    nb_fiber_memory *memory = nb_fiber_memory_of(scheduler);
    const nb_serving *serving = &scheduler->serving;
    if (memory && nb_fiber_request_is(memory, serving->record, serving->exchange))
        nb_fiber_request_ran(memory, serving->record, now_ns - scheduler->counted.told_ns);
    scheduler->counted.told_ns = now_ns;
}

void nb_accounting_passed(nb_scheduler *scheduler, int64_t now_ns) {
    nb_accounting_count(scheduler, now_ns);
    tell_loops(scheduler, now_ns);
}

void nb_accounting_fiber_ended(nb_scheduler *scheduler) {
    if (scheduler->serving.account && nb_accounting(scheduler))
        nb_accounting_passed(scheduler, nb_event_loop_clock(scheduler));
}

/* A wait on top of another of the same fiber is part of that one. */
void nb_accounting_wait_begins(nb_wait *wait, nb_fiber_wait_kind kind, int64_t now_ns) {
    nb_account *account = wait->serving.account;
    if (!wait->serving.own || !nb_account_is(account, wait->serving.exchange) || account->waiting) return;
    account->waiting = true;
    wait->accounted_ns = now_ns;
    wait->accounted_kind = (uint8_t)kind;
    wait->ready_ns = wait->state == NB_READY ? now_ns : 0;
}

/* A pinned fiber has kept the thread, so no switch has read the clock. */
int64_t nb_accounting_wait_ends(nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    if (wait->pinned) nb_accounting_switched(scheduler, nb_event_loop_now(scheduler));
    if (wait->accounted_ns == 0) return 0;
    nb_account *account = wait->serving.account;
    int64_t began_ns = wait->accounted_ns;
    wait->accounted_ns = 0;
    if (!nb_accounting(scheduler) || !nb_account_is(account, wait->serving.exchange)) return 0;
    account->waiting = false;
    nb_account_waited(account, (nb_fiber_wait_kind)wait->accounted_kind, began_ns, wait->ready_ns,
                      scheduler->counted.at_ns);
    return began_ns;
}
