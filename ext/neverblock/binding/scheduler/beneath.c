/*
 * beneath.c - see beneath.h.
 */
#include "binding/scheduler/beneath.h"

#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/park.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "os/clock.h"

static VALUE yield_nothing(VALUE unused) {
    (void)unused;
    return rb_yield_values(0);
}

static VALUE end_host(VALUE self) {
    nb_scheduler_set_above(nb_scheduler_get(self), Qnil);
    return Qnil;
}

static VALUE host(VALUE self) { return nb_event_loop_host(nb_scheduler_get(self), yield_nothing, Qnil); }

/* host(above) { }: the block runs turns of this loop, by #turn, for the fibers of that
   scheduler. */
static VALUE scheduler_host(VALUE self, VALUE above) {
    rb_need_block();
    nb_scheduler_open(nb_scheduler_get(self));
    nb_scheduler_set_above(nb_scheduler_get(self), above);
    return rb_ensure(host, self, end_host, self);
}

/* turn(seconds, ends) -> seconds that the thread was idle. seconds: the longest sleep, or nil.
   ends: it does not sleep when no request will come any more. */
static VALUE scheduler_turn(VALUE self, VALUE seconds, VALUE ends) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    int64_t until_ns = nb_wait_deadline(scheduler, seconds);
    return DBL2NUM((double)nb_event_loop_turn(scheduler, until_ns, RTEST(ends)) / NB_NS_PER_S);
}

/* served? -> has the last request ended, and will no other come? */
static VALUE scheduler_served_p(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return !scheduler->attached || scheduler->source.finished(scheduler->source.owner) ? Qtrue : Qfalse;
}

/* transfer -> what a transfer or #go_to has brought. */
static VALUE scheduler_transfer(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_transfer_wait transfer = {.value = Qnil};
    nb_wait_init(&transfer.wait, scheduler, NB_WAIT_TRANSFER);
    if (transfer.wait.about.kind == 0) transfer.wait.about.kind = NB_FIBER_WAIT_fibers;
    nb_wait_park(&transfer.wait, INT64_MAX);
    return transfer.value;
}

static bool is_woken_by_any(const nb_wait *wait) {
    return wait->kind == NB_WAIT_TRANSFER || wait->kind == NB_WAIT_SLEEP || wait->kind == NB_WAIT_BLOCK;
}

/* wake(fiber) -> true: its wait is over; false: it waits for something else; nil: it does not wait
   in this scheduler. Any thread. */
static VALUE scheduler_wake(VALUE self, VALUE fiber) {
    nb_wait *wait = nb_parked_find(&nb_scheduler_get(self)->parked, fiber);
    if (wait == NULL) return Qnil;
    if (!is_woken_by_any(wait)) return Qfalse;
    nb_wait_wake(wait, NB_WOKEN);
    return Qtrue;
}

/* go_to(fiber, value = nil): the fiber, new or in a wait that a wake ends, runs until it next
   waits. Then the caller goes on. */
static VALUE scheduler_go_to(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    nb_wait *wait = nb_parked_find(&scheduler->parked, argv[0]);
    if (wait && (!is_woken_by_any(wait) || wait->state == NB_RESUMED || wait->pinned)) return Qnil;
    if (wait && wait->kind == NB_WAIT_TRANSFER && argc > 1) ((nb_transfer_wait *)wait)->value = argv[1];
    if (wait) nb_wait_wake(wait, NB_WOKEN);
    nb_wait_go_to(scheduler, argv[0], wait);
    return Qnil;
}

typedef struct relay_call {
    nb_scheduler *scheduler;
    int argc;
    VALUE *argv;
} relay_call;

static VALUE relay_body(VALUE argument) {
    const relay_call *call = (const relay_call *)argument;
    call->scheduler->relayed = NULL;
    call->scheduler->relay = rb_fiber_current();
    return rb_funcallv(call->argv[0], rb_intern("transfer"), call->argc - 1, call->argv + 1);
}

static VALUE relay_end(VALUE argument) {
    ((const relay_call *)argument)->scheduler->relay = Qnil;
    return Qnil;
}

/* relay(item, *values): as #go_to, where the item's #transfer is what transfers to the fiber. */
static VALUE scheduler_relay(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    relay_call call = {nb_scheduler_get(self), argc, argv};
    rb_ensure(relay_body, (VALUE)&call, relay_end, (VALUE)&call);
    nb_wait *wait = call.scheduler->relayed;
    call.scheduler->relayed = NULL;
    if (wait && wait->state == NB_READY) nb_wait_go_to(call.scheduler, wait->fiber, wait);
    RB_GC_GUARD(self);
    return Qnil;
}

/* Such a wait is always ready, or has been woken for nobody else. */
static bool force_raise(nb_wait *wait, VALUE exception) {
    bool forced = wait->kind == NB_WAIT_TRANSFER || wait->kind == NB_WAIT_SPAWN;
    if (!forced || wait->shielded || wait->state != NB_READY) return false;
    wait->outcome = NB_RAISES;
    wait->exception = exception;
    return true;
}

/* raise_to(fiber, *arguments of raise) -> true: it was raised in the fiber's wait, and the fiber
   has run until it next waits. false: it will be raised there, or in the next wait. nil: the fiber
   does not wait here. */
static VALUE scheduler_raise_to(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, 4);
    nb_wait *wait = nb_parked_find(&scheduler->parked, argv[0]);
    if (wait == NULL || wait->state == NB_RESUMED) return Qnil;
    VALUE exception = rb_ary_new_from_values(argc - 1, argv + 1);
    if (!force_raise(wait, exception) && !nb_wait_raise(wait, exception, NULL)) {
        nb_wait_defer(scheduler, argv[0], exception);
        return Qfalse;
    }
    if (wait->state != NB_READY || wait->pinned || wait->kind == NB_WAIT_PREEMPTED) return Qfalse;
    nb_wait_go_to(scheduler, argv[0], wait);
    return Qtrue;
}

/* rouse: the loop's next sleep ends at once. Any thread. */
static VALUE scheduler_rouse(VALUE self) {
    nb_sleeper_wake(&nb_scheduler_get(self)->sleeper);
    return Qnil;
}

void nb_beneath_define(VALUE klass) {
    rb_define_method(klass, "host", scheduler_host, 1);
    rb_define_method(klass, "turn", scheduler_turn, 2);
    rb_define_method(klass, "served?", scheduler_served_p, 0);
    rb_define_method(klass, "transfer", scheduler_transfer, 0);
    rb_define_method(klass, "wake", scheduler_wake, 1);
    rb_define_method(klass, "go_to", scheduler_go_to, -1);
    rb_define_method(klass, "relay", scheduler_relay, -1);
    rb_define_method(klass, "raise_to", scheduler_raise_to, -1);
    rb_define_method(klass, "rouse", scheduler_rouse, 0);
}
