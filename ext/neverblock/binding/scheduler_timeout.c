/*
 * scheduler_timeout.c - the hook timeout_after, which Timeout.timeout calls: an alarm that raises in the wait its fiber is in. A fiber
 * that is not waiting when the alarm goes off, because it has just been made ready or because a fiber it has resumed waits, gets the exception at
 * its next wait; a block that ends before that has kept its time as far as it can tell.
 */
#include "scheduler_internal.h"

static ID id_call;

struct nb_timeout {
    nb_alarm alarm; /* first */
    nb_list link;   /* in the scheduler's overdue list */
    nb_scheduler *scheduler;
    VALUE fiber, raises, block, duration;
};
typedef struct nb_timeout nb_timeout;

static void timeout_fire(nb_scheduler *scheduler, nb_alarm *alarm) {
    nb_timeout *timeout = (nb_timeout *)alarm;
    nb_wait *wait = nb_parked_find(&scheduler->parked, timeout->fiber);
    if (wait && wait->state == NB_WAITING) {
        nb_wait_raise(wait, timeout->raises, &timeout->link);
    } else {
        nb_list_append(&scheduler->overdue, &timeout->link);
    }
}

VALUE nb_timeout_overdue(nb_scheduler *scheduler, VALUE fiber) {
    for (nb_list *link = scheduler->overdue.next; link != &scheduler->overdue; link = link->next) {
        nb_timeout *timeout = NB_LIST_ENTRY(link, nb_timeout, link);
        if (timeout->fiber != fiber) continue;
        nb_list_remove(&timeout->link);
        return timeout->raises;
    }
    return Qnil;
}

static VALUE timeout_body(VALUE argument) {
    nb_timeout *timeout = (nb_timeout *)argument;
    return rb_funcall(timeout->block, id_call, 1, timeout->duration);
}

/* After a fork the child's timers are others: forget has set the index to 0. */
static VALUE timeout_end(VALUE argument) {
    nb_timeout *timeout = (nb_timeout *)argument;
    nb_timers_disarm(&timeout->scheduler->timers, &timeout->alarm.timer);
    nb_list_remove(&timeout->link);
    return Qnil;
}

/* timeout_after(seconds, exception_class, *arguments) { |seconds| ... } */
static VALUE scheduler_timeout_after(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    nb_timeout timeout = {.alarm = {.fire = timeout_fire},
                          .scheduler = scheduler,
                          .fiber = rb_fiber_current(),
                          .raises = rb_ary_new_from_values(argc - 1, argv + 1),
                          .block = rb_block_proc(),
                          .duration = argv[0]};
    nb_list_init(&timeout.link);
    int64_t deadline_ns = nb_wait_deadline(scheduler, argv[0]);
    if (deadline_ns == INT64_MAX) return timeout_body((VALUE)&timeout);
    if (nb_timers_arm(&scheduler->timers, &timeout.alarm.timer, deadline_ns) != NB_OK) rb_memerror();
    VALUE result = rb_ensure(timeout_body, (VALUE)&timeout, timeout_end, (VALUE)&timeout);
    RB_GC_GUARD(self);
    return result;
}

void nb_scheduler_timeout_define(VALUE klass) {
    id_call = rb_intern("call");
    rb_define_method(klass, "timeout_after", scheduler_timeout_after, -1);
}
