/*
 * slice.c - see slice.h.
 */
#include "binding/slices/slice.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/fiber/scheduler.h>

#include "binding/base/module.h"
#include "binding/base/ticker.h"
#include "binding/fibers/frames.h"
#include "binding/fibers/hold.h"
#include "binding/fibers/resume.h"
#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/limit.h"
#include "binding/scheduler/park.h"
#include "binding/slices/interrupt.h"
#include "binding/slices/slice_job.h"
#include "binding/slices/slice_lock.h"
#include "binding/slices/slice_look.h"
#include "binding/state/object.h"
#include "binding/state/slices.h"
#include "os/clock.h"

/* A slice that is never too short to get anywhere. */
#define NB_SLICE_MS_MAX 60000

/* --- The end of a slice --- */

/* Not what was collected meanwhile, beside one that was cut: that is for the most part of what that
   one has made, and another that happens to meet it is not to wait behind it for that. */
static int64_t ran_ns(const nb_slices *slices) {
    int64_t collected_ns = slices->gc_known ? (int64_t)(nb_gc_ms() - slices->gc_ms) * NB_NS_PER_MS : 0;
    return nb_clock_monotonic_ns() - slices->switched_ns - collected_ns;
}

/* What a limit raises, and could not when it was due, as another interrupt of Ruby came first, or a
   shield block kept it off. */
static bool is_overdue(nb_scheduler *scheduler) {
    return !nb_list_empty(&scheduler->overdue) && !nb_shield_now(scheduler) && nb_late_overdue(scheduler) != NULL;
}

/* Its time is over and others wait for theirs: fibers that have waited for something after a
   millisecond, if the fiber has had a whole first slice before; those whose slice has ended after a
   slice. Or it is to be ended itself. */
static bool is_over(nb_scheduler *scheduler, int64_t first_ns) {
    nb_slices *slices = scheduler->slices;
    int64_t ran = ran_ns(slices);
    if (ran < (slices->cut_before ? NB_CUT_NS : first_ns)) return false;
    if (is_overdue(scheduler)) return true;
    if (ran >= slices->slice_ns && !nb_list_empty(&scheduler->cut)) return true;
    if (nb_loop_work_waits(scheduler) || nb_slices_source_starves(scheduler)) return true;
    nb_slices_begin_quiet(slices, nb_clock_monotonic_ns());
    return false;
}

static VALUE sleeps_or_is_sent(VALUE thread) {
    VALUE sleeps = rb_funcall(thread, rb_intern("stop?"), 0);
    return RTEST(sleeps) ? sleeps : rb_funcall(thread, rb_intern("pending_interrupt?"), 0);
}

/* Is the fiber in the middle of a wait of Ruby's own that no hook knows, as for a constant that
   another thread is loading (3.1: variable.c, autoload_sleep)? What the thread's state says is of
   that fiber, and another that waits so would leave it asleep (thread.c, sleep_forever). Or was it
   sent something that Ruby has taken together with the job, which it runs first (thread.c,
   rb_threadptr_execute_interrupts)? The flag is down, and whoever runs next would have it. What is
   sent during these calls would be raised in the job, which swallows it: it is sent again. */
static bool is_rubys(nb_scheduler *scheduler) {
    VALUE unsent, answer = nb_interrupt_call(sleeps_or_is_sent, rb_thread_current(), &unsent);
    if (answer != Qundef) return RTEST(answer);
    if (!NIL_P(unsent)) nb_wait_defer(scheduler, unsent);
    return true;
}

/* The main thread's fibers may be in a trap handler, which nothing tells. A blocking fiber waits
   without the hooks for what a fiber that was cut may hold; one in the table is on its way into a
   wait or out of it. */
static bool stays(nb_scheduler *scheduler) {
    if (!scheduler->switched || scheduler->uncut > 0 || scheduler->masked || nb_hold_now(scheduler)) return true;
    if (NIL_P(rb_fiber_scheduler_current()) || rb_thread_current() == rb_thread_main()) return true;
    VALUE fiber = rb_fiber_current();
    if (fiber == scheduler->loop || fiber == scheduler->starter.fiber) return true;
    return nb_parked_find(&scheduler->parked, fiber) != NULL || is_rubys(scheduler);
}

static nb_place place(nb_scheduler *scheduler) { return stays(scheduler) ? NB_PLACE_STAYS : nb_frames_place(); }

/* Ruby tells of a switch right after the look for interrupts in it (cont.c, fiber_switch), which is
   where the job has met it, and before anything else may happen. */
static void after_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE klass) {
    (void)event, (void)data, (void)self, (void)method, (void)klass;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || scheduler->slices == NULL) {
        rb_thread_remove_event_hook(rb_thread_current(), after_switch);
        return;
    }
    scheduler->slices->arrived = rb_fiber_current();
    nb_slice_job_ask();
}

/* From now until the next job, as each switch pays for being told of. */
static void follow_switches(nb_slices *slices) {
    if (slices->follows || !nb_slice_job_may_follow()) return;
    slices->follows = true;
    rb_thread_add_event_hook(rb_thread_current(), after_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
}

/* The fiber that has been switched to last, if that was told of; else nil. */
static VALUE take_arrived(nb_slices *slices) {
    VALUE arrived = slices->arrived;
    if (NIL_P(arrived)) return Qnil;
    slices->arrived = Qnil;
    slices->follows = false;
    rb_thread_remove_event_hook(rb_thread_current(), after_switch);
    return arrived;
}

/* A fiber that was just switched to has not taken yet what it was given, but will have when it next
   looks for interrupts: the frame of what has switched, in C, is still there. */
static bool may_end(nb_scheduler *scheduler, VALUE arrived) {
    nb_place found = place(scheduler);
    if (found == NB_PLACE_STAYS) return false;
    if (found == NB_PLACE_BETWEEN) {
        if (NIL_P(arrived)) follow_switches(scheduler->slices);
        if (arrived != rb_fiber_current()) return false;
    }
    return !nb_resume_ask(scheduler, NB_ASKS_SLICE);
}

static void leave(nb_scheduler *scheduler) {
    nb_slices_end_quiet(scheduler->slices);
    scheduler->slices->cuts++;
    if (scheduler->attached && scheduler->source.cut) scheduler->source.cut(scheduler->source.owner);
    nb_wait_cut(scheduler);
}

/* What a limit of the running fiber raises is raised here, or where this cannot be, in its next
   wait outside a shield block. */
static void raise_overdue(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->overdue) || nb_shield_now(scheduler) || stays(scheduler)) return;
    nb_late *late = nb_late_overdue(scheduler);
    if (late && nb_interrupt_self(late->raises)) nb_list_remove(&late->link);
}

/* What Thread#raise has brought to this thread comes first, and to the fiber that runs. */
static void end_slice(nb_scheduler *scheduler) {
    nb_slices *slices = scheduler->slices;
    VALUE arrived = take_arrived(slices);
    if (slices->switched_ns == 0 || rb_thread_interrupted(rb_thread_current())) return;
    slices->allocates = nb_heap_computes(&scheduler->heap);
    if (!slices->forced && !is_over(scheduler, slices->slice_ns)) return;
    if (!may_end(scheduler, arrived)) {
        slices->kept++;
        return;
    }
    slices->forced = false;
    leave(scheduler);
    if (scheduler->slices == slices) raise_overdue(scheduler);
}

static void slice_over(void *unused_data) {
    (void)unused_data;
    int error = errno;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler && scheduler->slices) {
        end_slice(scheduler);
    } else {
        nb_slice_give_lock();
    }
    errno = error;
}

/* --- Opening and closing --- */

static void open(nb_scheduler *scheduler, int64_t slice_ns) {
    if (scheduler->slices) {
        scheduler->slices->slice_ns = slice_ns;
        return;
    }
    nb_interrupt_prepare();
    nb_slices *slices = nb_slices_make(scheduler, slice_ns);
    if (slices == NULL) rb_memerror();
    scheduler->slices = slices;
    slices->look = nb_slice_look;
    if (!NIL_P(scheduler->loop)) nb_slices_begin(slices);
    if (nb_ticker_add(nb_slice_look, slices, NB_TICKER_IDLE_NS)) return;
    nb_slices_close(scheduler);
    rb_raise(nb_error_class, "there is no thread to be had for time slices: see `ulimit -u`, or set cooperative true");
}

void nb_scheduler_slice(VALUE self, unsigned slice_ms) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (slice_ms > 0) {
        open(scheduler, slice_ms * NB_NS_PER_MS);
    } else {
        nb_slices_close(scheduler);
        if (nb_slices_in_use() == NULL) nb_interrupt_end();
    }
}

/* --- Ruby --- */

unsigned nb_slice_ms_read(VALUE value) {
    if (NIL_P(value)) return 0;
    long ms = NUM2LONG(value);
    if (ms < 1 || ms > NB_SLICE_MS_MAX)
        rb_raise(rb_eArgError, "slice_ms must be 1 to %d, or nil, not %ld", NB_SLICE_MS_MAX, ms);
    return (unsigned)ms;
}

/* slice_ms = Integer or nil */
static VALUE scheduler_set_slice_ms(VALUE self, VALUE value) {
    nb_scheduler_slice(self, nb_slice_ms_read(value));
    return value;
}

static VALUE scheduler_slice_ms(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->slices ? LL2NUM(scheduler->slices->slice_ns / NB_NS_PER_MS) : Qnil;
}

static VALUE scheduler_cuts(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->slices ? ULL2NUM(scheduler->slices->cuts) : INT2FIX(0);
}

static VALUE scheduler_kept(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->slices ? UINT2NUM(scheduler->slices->kept) : INT2FIX(0);
}

static VALUE scheduler_given(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->slices ? ULL2NUM(scheduler->slices->given) : INT2FIX(0);
}

/* quiet?: nobody waits for the running fiber's time, and nobody looks whether somebody does until
   something comes. */
static VALUE scheduler_is_quiet(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->slices && scheduler->slices->quiet_until_ns != 0 ? Qtrue : Qfalse;
}

/* end_slice: the slice of a fiber ends where the ticker next finds one running that may be left. */
static VALUE scheduler_end_slice(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (scheduler->slices == NULL) return Qfalse;
    scheduler->slices->forced = true;
    nb_ticker_ring();
    return Qtrue;
}

/* give_way(seconds) */
static VALUE scheduler_give_way(VALUE self, VALUE seconds) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    int64_t first_ns = (int64_t)(NUM2DBL(seconds) * NB_NS_PER_S);
    if (scheduler->slices == NULL || scheduler->slices->switched_ns == 0 || stays(scheduler)) return Qfalse;
    int64_t slice_ns = scheduler->slices->slice_ns;
    if (is_over(scheduler, first_ns < slice_ns ? first_ns : slice_ns)) leave(scheduler);
    RB_GC_GUARD(self);
    return Qtrue;
}

typedef struct region {
    nb_scheduler *scheduler;
    unsigned uncut;
    bool masked;
} region;

static VALUE yield_nothing(VALUE argument) {
    (void)argument;
    return rb_yield_values(0);
}

/* A fork in the block has set both to nothing, and a fiber that has ended in it may have left
   more. */
static VALUE region_end(VALUE argument) {
    const region *left = (const region *)argument;
    left->scheduler->uncut = left->uncut;
    left->scheduler->masked = left->masked;
    return Qnil;
}

static VALUE in_region(nb_scheduler *scheduler, unsigned uncut, bool masked) {
    region entered = {scheduler, scheduler->uncut, scheduler->masked};
    VALUE self = scheduler->self;
    scheduler->uncut = uncut;
    scheduler->masked = masked;
    VALUE result = rb_ensure(yield_nothing, Qnil, region_end, (VALUE)&entered);
    RB_GC_GUARD(self);
    return result;
}

/* NB.uninterrupted { } */
static VALUE uninterrupted(VALUE module) {
    (void)module;
    rb_need_block();
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || scheduler->slices == NULL) return rb_yield_values(0);
    return in_region(scheduler, scheduler->uncut + 1, scheduler->masked);
}

/* masked(true or false) { } */
static VALUE scheduler_masked(VALUE self, VALUE masked) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_need_block();
    return in_region(scheduler, scheduler->uncut, RTEST(masked));
}

static VALUE scheduler_is_masked(VALUE self) { return nb_scheduler_get(self)->masked ? Qtrue : Qfalse; }

void nb_slice_define(VALUE klass, VALUE module) {
    rb_define_method(klass, "slice_ms=", scheduler_set_slice_ms, 1);
    rb_define_method(klass, "slice_ms", scheduler_slice_ms, 0);
    rb_define_method(klass, "cuts", scheduler_cuts, 0);
    rb_define_method(klass, "kept", scheduler_kept, 0);
    rb_define_method(klass, "given", scheduler_given, 0);
    rb_define_method(klass, "quiet?", scheduler_is_quiet, 0);
    rb_define_method(klass, "end_slice", scheduler_end_slice, 0);
    rb_define_method(klass, "give_way", scheduler_give_way, 1);
    rb_define_method(klass, "masked", scheduler_masked, 1);
    rb_define_method(klass, "masked?", scheduler_is_masked, 0);
    rb_define_singleton_method(module, "uninterrupted", uninterrupted, 0);
    nb_slice_job_prepare(slice_over);
}
