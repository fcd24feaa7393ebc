/*
 * scheduler_timeout.c - blocks whose waits can be ended from outside: the hook timeout_after, which Timeout.timeout calls (an alarm ends
 * them), and cancellable (Scheduler::Cancellation#cancel does). The exception is raised in the wait the fiber is in. A fiber that has been woken for
 * something gets it at its next wait; a block that ends before that has kept its time as far as it can tell.
 */
#include "scheduler_internal.h"

static ID id_call;
static VALUE cancellation_class;

typedef struct nb_timeout {
    nb_alarm alarm; /* first */
    nb_late late;
    nb_scheduler *scheduler;
    VALUE block, duration;
} nb_timeout;

static void late_enter(nb_scheduler *scheduler, nb_late *late) {
    late->fiber = rb_fiber_current();
    nb_list_init(&late->link);
    nb_list_append(&scheduler->blocks, &late->block);
}

/* It may be due while its fiber computes. */
static void arm(nb_scheduler *scheduler, nb_alarm *alarm, int64_t deadline_ns) {
    if (nb_timers_arm(&scheduler->timers, &alarm->timer, deadline_ns) != NB_OK) rb_memerror();
    if (scheduler->slices) nb_slices_work_comes(scheduler->slices);
}

static void late_leave(nb_late *late) {
    nb_list_remove(&late->link);
    nb_list_remove(&late->block);
}

/* Is it the running fiber, or has it resumed that one, directly or not? */
static bool is_above_running(const nb_scheduler *scheduler, VALUE fiber) {
    if (fiber == rb_fiber_current()) return true;
    return scheduler->switched && (fiber == scheduler->root || nb_resume_is_above(scheduler->resumes, fiber));
}

/* A wait that keeps the thread is in the table while its fiber runs. */
static bool waits_running(const nb_scheduler *scheduler) {
    return nb_parked_find(&scheduler->parked, rb_fiber_current()) != NULL;
}

/* Its own, or that of a fiber it has resumed, where what is raised comes back to it. NULL: it runs. */
static nb_wait *wait_of(nb_scheduler *scheduler, VALUE fiber) {
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    if (wait || (is_above_running(scheduler, fiber) && !waits_running(scheduler))) return wait;
    return nb_parked_below(&scheduler->parked, fiber);
}

static void late_raise(nb_scheduler *scheduler, nb_late *late) {
    nb_list_remove(&late->link);
    nb_wait *wait = wait_of(scheduler, late->fiber);
    if (wait && nb_wait_raise(wait, late->raises, &late->link)) return;
    if (wait && wait->state == NB_READY && wait->outcome == NB_RAISES && wait->overdue == &late->link) {
        wait->exception = late->raises; /* again, before the fiber's turn has come */
        return;
    }
    nb_list_append(&scheduler->overdue, &late->link);
}

/* What a limit raises may have come to its fiber, which deals with it now, out of one that it had resumed. */
static bool has_arrived(const nb_late *late) {
    VALUE error = late->once ? rb_gv_get("$!") : Qnil;
    return !NIL_P(error) && rb_obj_class(error) == RARRAY_AREF(late->raises, 0);
}

nb_late *nb_timeout_overdue(nb_scheduler *scheduler) {
    for (nb_list *link = scheduler->overdue.next; link != &scheduler->overdue; link = link->next) {
        nb_late *late = NB_LIST_ENTRY(link, nb_late, link);
        if (!is_above_running(scheduler, late->fiber)) continue;
        if (!has_arrived(late)) return late;
        nb_list_remove(&late->link);
        return NULL;
    }
    return NULL;
}

/* --- limits --- */

static void limit_fire(nb_scheduler *scheduler, nb_alarm *alarm) {
    nb_limit *limit = NB_LIST_ENTRY(alarm, nb_limit, alarm);
    if (limit->raised) return;
    limit->raised = true;
    late_raise(scheduler, &limit->late);
}

void nb_limit_open(nb_limit *limit, VALUE scheduler) {
    *limit = (nb_limit){.alarm = {.fire = limit_fire},
                        .late = {.raises = Qnil, .once = true},
                        .scheduler = nb_scheduler_get(scheduler)};
    late_enter(limit->scheduler, &limit->late);
}

void nb_limit_arm(nb_limit *limit, int64_t deadline_ns, VALUE raises) {
    limit->late.raises = raises;
    arm(limit->scheduler, &limit->alarm, deadline_ns);
}

/* After a fork the child's timers are others: forget has set the index to 0. */
void nb_limit_disarm(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_timers_disarm(&limit->scheduler->timers, &limit->alarm.timer);
    nb_list_remove(&limit->late.link);
    limit->raised = false;
}

bool nb_limit_raise(nb_limit *limit, VALUE raises) {
    if (!limit->scheduler || limit->raised) return false;
    nb_timers_disarm(&limit->scheduler->timers, &limit->alarm.timer);
    limit->raised = true;
    limit->late.raises = raises;
    late_raise(limit->scheduler, &limit->late);
    return true;
}

void nb_limit_spend(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_limit_disarm(limit);
    limit->raised = true;
}

void nb_limit_close(nb_limit *limit) {
    if (!limit->scheduler) return;
    nb_limit_disarm(limit);
    late_leave(&limit->late);
    limit->scheduler = NULL;
    limit->late.raises = Qnil;
}

/* --- timeout_after --- */

static void timeout_fire(nb_scheduler *scheduler, nb_alarm *alarm) {
    nb_timeout *timeout = (nb_timeout *)alarm;
    late_raise(scheduler, &timeout->late);
}

static VALUE timeout_body(VALUE argument) {
    nb_timeout *timeout = (nb_timeout *)argument;
    return rb_funcall(timeout->block, id_call, 1, timeout->duration);
}

/* After a fork the child's timers are others: forget has set the index to 0. */
static VALUE timeout_end(VALUE argument) {
    nb_timeout *timeout = (nb_timeout *)argument;
    nb_timers_disarm(&timeout->scheduler->timers, &timeout->alarm.timer);
    late_leave(&timeout->late);
    return Qnil;
}

/* timeout_after(seconds, exception_class, *arguments) { |seconds| ... } */
static VALUE scheduler_timeout_after(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    nb_timeout timeout = {.alarm = {.fire = timeout_fire},
                          .late = {.raises = rb_ary_new_from_values(argc - 1, argv + 1)},
                          .scheduler = scheduler,
                          .block = rb_block_proc(),
                          .duration = argv[0]};
    int64_t deadline_ns = nb_wait_deadline(scheduler, argv[0]);
    if (deadline_ns == INT64_MAX) return timeout_body((VALUE)&timeout);
    arm(scheduler, &timeout.alarm, deadline_ns);
    late_enter(scheduler, &timeout.late);
    VALUE result = rb_ensure(timeout_body, (VALUE)&timeout, timeout_end, (VALUE)&timeout);
    RB_GC_GUARD(self);
    return result;
}

/* --- cancellable --- */

typedef struct nb_cancellation {
    nb_late late;
    VALUE scheduler; /* nil: the block has ended */
} nb_cancellation;

static void cancellation_mark(void *data) {
    const nb_cancellation *cancellation = data;
    rb_gc_mark(cancellation->late.fiber);
    rb_gc_mark(cancellation->late.raises);
    rb_gc_mark(cancellation->scheduler);
}

static size_t cancellation_size(const void *data) {
    (void)data;
    return sizeof(nb_cancellation);
}

/* Freed inside its block only together with the scheduler, which keeps its fiber: no list is left to be taken out of. */
static const rb_data_type_t cancellation_type = {
    .wrap_struct_name = "NeverBlock::Scheduler::Cancellation",
    .function = {.dmark = cancellation_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = cancellation_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE cancellation_end(VALUE self) {
    nb_cancellation *cancellation = rb_check_typeddata(self, &cancellation_type);
    cancellation->scheduler = Qnil;
    late_leave(&cancellation->late);
    return Qnil;
}

/* cancellable { |cancellation| ... } */
static VALUE scheduler_cancellable(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_cancellation *cancellation;
    VALUE object = TypedData_Make_Struct(cancellation_class, nb_cancellation, &cancellation_type, cancellation);
    cancellation->scheduler = self;
    late_enter(scheduler, &cancellation->late);
    return rb_ensure(rb_yield, object, cancellation_end, object);
}

/* cancel(*arguments of raise): the exception is made in the fiber. */
static VALUE cancellation_cancel(int argc, VALUE *argv, VALUE self) {
    nb_cancellation *cancellation = rb_check_typeddata(self, &cancellation_type);
    if (NIL_P(cancellation->scheduler)) return Qfalse;
    nb_scheduler *scheduler = nb_scheduler_get(cancellation->scheduler);
    cancellation->late.raises = rb_ary_new_from_values(argc, argv);
    late_raise(scheduler, &cancellation->late);
    return Qtrue;
}

void nb_scheduler_timeout_define(VALUE klass) {
    id_call = rb_intern("call");
    rb_define_method(klass, "timeout_after", scheduler_timeout_after, -1);
    rb_define_method(klass, "cancellable", scheduler_cancellable, 0);
    rb_gc_register_address(&cancellation_class);
    cancellation_class = rb_define_class_under(klass, "Cancellation", rb_cObject);
    rb_undef_alloc_func(cancellation_class);
    rb_define_method(cancellation_class, "cancel", cancellation_cancel, -1);
}
