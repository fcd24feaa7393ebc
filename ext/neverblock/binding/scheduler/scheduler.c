/*
 * scheduler.c - see scheduler.h.
 */
#include "binding/scheduler/scheduler.h"

#include <errno.h>

#include "base/assert.h"
#include "binding/fibers/transfer.h"
#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/park.h"
#include "binding/state/accounting.h"
#include "binding/state/serving.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "binding/state/timeslice_state.h"
#include "binding/state/wait.h"
#include "os/clock.h"

void nb_scheduler_attach(VALUE self, const nb_scheduler_source *source) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (scheduler->attached) rb_raise(rb_eArgError, "this scheduler has a source already");
    scheduler->source = *source;
    scheduler->attached = true;
    nb_heap_attached();
    if (scheduler->watches.poll == NULL || nb_scheduler_watch_source(scheduler) == NB_OK) return;
    int error = errno;
    scheduler->attached = false;
    rb_syserr_fail(error, "NeverBlock::Scheduler");
}

void nb_scheduler_detach(VALUE self) { nb_scheduler_get(self)->attached = false; }

void nb_scheduler_abandon(VALUE self) { nb_scheduler_get(self)->abandoned = true; }

void nb_scheduler_ready(VALUE self, VALUE fiber) {
    nb_wait *wait = nb_parked_find(&nb_scheduler_get(self)->parked, fiber);
    if (wait && wait->kind == NB_WAIT_PARK) nb_wait_wake(wait, NB_WOKEN);
}

void nb_scheduler_park(VALUE self) {
    nb_wait wait;
    nb_wait_init(&wait, nb_scheduler_get(self), NB_WAIT_PARK);
    nb_wait_park(&wait, INT64_MAX);
}

void nb_scheduler_next_wait(VALUE self, nb_fiber_wait_kind kind) {
    nb_fiber_next_wait(nb_scheduler_get(self), kind, -1, nb_slice_of(NULL, 0));
}

void nb_scheduler_serves(VALUE self, uint32_t record, uint64_t exchange, nb_account *account) {
    nb_fiber_serves(nb_scheduler_get(self), record, exchange, account);
}

void nb_scheduler_forget_socket(VALUE self) { nb_scheduler_get(self)->last_socket = (nb_socket_use){0}; }

int64_t nb_scheduler_count(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    int64_t now_ns = nb_clock_monotonic_ns();
    nb_accounting_count(scheduler, now_ns);
    return now_ns;
}

bool nb_scheduler_waited(VALUE self) { return nb_scheduler_get(self)->waited; }

bool nb_scheduler_take_waited(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    bool waited = scheduler->waited;
    scheduler->waited = false;
    return waited;
}

size_t nb_scheduler_parked_places(VALUE self) { return nb_scheduler_get(self)->parked.capacity; }

uint32_t nb_scheduler_parked_at(VALUE self, size_t place, VALUE *fiber) {
    const nb_parked_table *table = &nb_scheduler_get(self)->parked;
    if (place >= table->capacity || table->slots[place].fiber == 0) return NB_FIBER_NONE;
    *fiber = table->slots[place].fiber;
    return table->slots[place].wait->record;
}

void nb_scheduler_run(VALUE self) { nb_event_loop_run(nb_scheduler_get(self), NULL); }

int64_t nb_scheduler_now(VALUE self) { return nb_event_loop_now(nb_scheduler_get(self)); }
int64_t nb_scheduler_clock(VALUE self) { return nb_event_loop_clock(nb_scheduler_get(self)); }

int nb_scheduler_poll_descriptor(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_scheduler_open(scheduler);
    return nb_poll_descriptor(scheduler->watches.poll);
}

nb_heap *nb_scheduler_heap(VALUE self) { return &nb_scheduler_get(self)->heap; }

bool nb_scheduler_has_preempted(VALUE self) { return !nb_list_empty(&nb_scheduler_get(self)->preempted); }

/* --- Switching --- */

typedef struct protected_switch {
    nb_scheduler *scheduler;
    VALUE fiber;
    nb_wait *wait;
} protected_switch;

static VALUE switch_body(VALUE argument) {
    protected_switch *call = (protected_switch *)argument;
    nb_event_loop_switch(call->scheduler, call->fiber, call->wait);
    return Qnil;
}

void nb_scheduler_switch_to(VALUE self, VALUE fiber) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    NB_ASSERT(wait == NULL || (wait->kind == NB_WAIT_PARK && wait->state != NB_RESUMED));
    NB_ASSERT(!scheduler->switched);

    protected_switch call = {scheduler, fiber, wait};
    int tag = 0;
    rb_protect(switch_body, (VALUE)&call, &tag);
    if (tag != 0) tag = nb_transfer_raised(scheduler, tag);
    scheduler->switched = false;
    if (tag != 0) scheduler->pending_tag = tag;
}

bool nb_scheduler_take_want(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    VALUE error = rb_errinfo();
    if (scheduler->pending_tag == 0) return false;
    if (!rb_obj_is_kind_of(error, rb_path2class("FiberError")) && !rb_obj_is_kind_of(error, rb_eNoMemError))
        return false;
    scheduler->pending_tag = 0;
    return true;
}

VALUE nb_scheduler_root(VALUE self) { return nb_root_now(nb_scheduler_get(self)); }

void nb_scheduler_stamp(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_event_loop_stamp(scheduler, nb_event_loop_clock(scheduler));
    nb_accounting_switched(scheduler, scheduler->now_ns);
    if (scheduler->timeslices) nb_timeslices_switch(scheduler->timeslices, scheduler->now_ns, false);
    scheduler->now_fresh = false;
}
