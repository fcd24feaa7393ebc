/*
 * pin.c - see pin.h. The mode is a fiber-local, so that it ends with its fiber however that ends.
 * `pins` says whether looking for it is worth while.
 */
#include "binding/fibers/pin.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <string.h>

#include "binding/fibers/frames.h"
#include "binding/fibers/resume.h"
#include "binding/state/object.h"

static ID id_mode;
static VALUE mode_waits, mode_all;

static VALUE mode_now(void) { return rb_thread_local_aref(rb_thread_current(), id_mode); }

static void mode_set(VALUE mode) { rb_thread_local_aset(rb_thread_current(), id_mode, mode); }

/* ConditionVariable#wait comes as kernel_sleep, but another fiber ends it, as it ends a wait for a
   Mutex or a Queue. The frames tell it apart: the hook's own, and that of compat/mutex_sleep.rb. */
static bool mutex_sleeps(void) {
    enum { FRAMES = 2 };
    VALUE frames[FRAMES];
    int lines[FRAMES];
    if (rb_profile_frames(0, FRAMES, frames, lines) < FRAMES) return false;
    VALUE name = rb_profile_frame_qualified_method_name(frames[1]);
    return RB_TYPE_P(name, T_STRING) && strcmp(StringValueCStr(name), "NeverBlock::Compat::MutexSleep#sleep") == 0;
}

/* Above a C function that pins, waits keep the thread as in a pin block. A wait that another thread
   may end at any time does not ask the frames, as asking may let a thread run. */
bool nb_pin_covers(const nb_wait *wait) {
    VALUE mode = wait->scheduler->pins > 0 ? mode_now() : Qnil;
    switch (wait->kind) {
    case NB_WAIT_IO:
    case NB_WAIT_ASK:
        return !NIL_P(mode) || nb_resume_pins();
    case NB_WAIT_SLEEP:
        if (NIL_P(mode) && !nb_frames_watched()) return false;
        return mode == mode_all || (!mutex_sleeps() && (!NIL_P(mode) || nb_resume_pins()));
    case NB_WAIT_BLOCK:
        return mode == mode_all;
    case NB_WAIT_PARK:
    case NB_WAIT_SPAWN:
    case NB_WAIT_TRANSFER:
    case NB_WAIT_PREEMPTED:
        return false;
    }
    return false;
}

bool nb_pin_now(const nb_scheduler *scheduler) { return scheduler->pins > 0 && !NIL_P(mode_now()); }

typedef struct pin_call {
    nb_scheduler *scheduler;
    VALUE (*body)(VALUE);
    VALUE argument, mode, outer;
} pin_call;

static VALUE pin_body(VALUE argument) {
    pin_call *call = (pin_call *)argument;
    call->scheduler->pins++;
    mode_set(call->mode);
    return call->body(call->argument);
}

static VALUE pin_end(VALUE argument) {
    pin_call *call = (pin_call *)argument;
    mode_set(call->outer);
    call->scheduler->pins--;
    return Qnil;
}

static VALUE with_mode(nb_scheduler *scheduler, VALUE mode, VALUE (*body)(VALUE), VALUE argument) {
    pin_call call = {.scheduler = scheduler, .body = body, .argument = argument, .mode = mode, .outer = mode_now()};
    if (call.mode == call.outer) return body(argument);
    return rb_ensure(pin_body, (VALUE)&call, pin_end, (VALUE)&call);
}

VALUE nb_pin_call(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument) {
    return nb_pin_now(scheduler) || nb_resume_pins() ? with_mode(scheduler, mode_all, body, argument) : body(argument);
}

static VALUE yield_nothing(VALUE argument) {
    (void)argument;
    return rb_yield_values(0);
}

/* pin(mode = true) { } */
static VALUE scheduler_pin(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 0, 1);
    rb_need_block();
    VALUE mode = argc == 0 || RTEST(argv[0]) ? mode_waits : Qnil;
    VALUE result = with_mode(scheduler, mode, yield_nothing, Qnil);
    RB_GC_GUARD(self);
    return result;
}

static VALUE scheduler_pinned_p(VALUE self) {
    return nb_pin_now(nb_scheduler_get(self)) || nb_resume_pins() ? Qtrue : Qfalse;
}

void nb_pin_define(VALUE klass) {
    id_mode = rb_intern("__neverblock_pin__");
    mode_waits = ID2SYM(rb_intern("waits"));
    mode_all = ID2SYM(rb_intern("all"));
    rb_define_method(klass, "pin", scheduler_pin, -1);
    rb_define_alias(klass, "hold", "pin");
    rb_define_method(klass, "pinned?", scheduler_pinned_p, 0);
    rb_define_alias(klass, "held?", "pinned?");
}
