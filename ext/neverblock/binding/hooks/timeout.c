/*
 * timeout.c - see timeout.h.
 */
#include "binding/hooks/timeout.h"

#include "binding/scheduler/limit.h"
#include "binding/state/object.h"
#include "binding/state/wait.h"

static ID id_call;
static VALUE cancellation_class;

typedef struct nb_timeout_call {
    nb_alarm alarm; /* first */
    nb_late late;
    nb_scheduler *scheduler;
    VALUE block, duration;
} nb_timeout_call;

/* --- timeout_after --- */

static void timeout_fire(nb_scheduler *scheduler, nb_alarm *alarm) {
    nb_timeout_call *timeout = (nb_timeout_call *)alarm;
    nb_late_raise(scheduler, &timeout->late);
}

static VALUE timeout_body(VALUE argument) {
    nb_timeout_call *timeout = (nb_timeout_call *)argument;
    return rb_funcall(timeout->block, id_call, 1, timeout->duration);
}

/* After a fork the child's timers are others: forget has set the index to 0. */
static VALUE timeout_end(VALUE argument) {
    nb_timeout_call *timeout = (nb_timeout_call *)argument;
    nb_timers_disarm(&timeout->scheduler->timers, &timeout->alarm.timer);
    nb_late_leave(&timeout->late);
    return Qnil;
}

/* timeout_after(seconds, exception_class, *arguments) { |seconds| ... } */
static VALUE scheduler_timeout_after(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, UNLIMITED_ARGUMENTS);
    nb_timeout_call timeout = {.alarm = {.fire = timeout_fire},
                               .late = {.raises = rb_ary_new_from_values(argc - 1, argv + 1)},
                               .scheduler = scheduler,
                               .block = rb_block_proc(),
                               .duration = argv[0]};
    int64_t deadline_ns = nb_wait_deadline(scheduler, argv[0]);
    if (deadline_ns == INT64_MAX) return timeout_body((VALUE)&timeout);
    nb_late_arm(scheduler, &timeout.alarm, deadline_ns);
    nb_late_enter(scheduler, &timeout.late);
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

/* Freed inside its block only together with the scheduler, which keeps its fiber: no list is left
   to be taken out of. */
static const rb_data_type_t cancellation_type = {
    .wrap_struct_name = "NeverBlock::Scheduler::Cancellation",
    .function = {.dmark = cancellation_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = cancellation_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE cancellation_end(VALUE self) {
    nb_cancellation *cancellation = rb_check_typeddata(self, &cancellation_type);
    cancellation->scheduler = Qnil;
    nb_late_leave(&cancellation->late);
    return Qnil;
}

/* cancellable { |cancellation| ... } */
static VALUE scheduler_cancellable(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_cancellation *cancellation;
    VALUE object = TypedData_Make_Struct(cancellation_class, nb_cancellation, &cancellation_type, cancellation);
    cancellation->scheduler = self;
    nb_late_enter(scheduler, &cancellation->late);
    return rb_ensure(rb_yield, object, cancellation_end, object);
}

/* cancel(*arguments of raise): the exception is made in the fiber. */
static VALUE cancellation_cancel(int argc, VALUE *argv, VALUE self) {
    nb_cancellation *cancellation = rb_check_typeddata(self, &cancellation_type);
    if (NIL_P(cancellation->scheduler)) return Qfalse;
    nb_scheduler *scheduler = nb_scheduler_get(cancellation->scheduler);
    cancellation->late.raises = rb_ary_new_from_values(argc, argv);
    nb_late_raise(scheduler, &cancellation->late);
    return Qtrue;
}

void nb_timeout_define(VALUE klass) {
    id_call = rb_intern("call");
    rb_define_method(klass, "timeout_after", scheduler_timeout_after, -1);
    rb_define_method(klass, "cancellable", scheduler_cancellable, 0);
    rb_gc_register_address(&cancellation_class);
    cancellation_class = rb_define_class_under(klass, "Cancellation", rb_cObject);
    rb_undef_alloc_func(cancellation_class);
    rb_define_method(cancellation_class, "cancel", cancellation_cancel, -1);
}
