/*
 * timeslice.c - see timeslice.h.
 */
#include "binding/timeslices/timeslice.h"

#include <errno.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/fiber/scheduler.h>

#include "binding/base/forks.h"
#include "binding/base/module.h"
#include "binding/base/process_watchdog.h"
#include "binding/fibers/ffi_state.h"
#include "binding/fibers/frames.h"
#include "binding/fibers/pin.h"
#include "binding/fibers/region.h"
#include "binding/fibers/resume.h"
#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/limit.h"
#include "binding/scheduler/park.h"
#include "binding/timeslices/interrupt.h"
#include "binding/timeslices/timeslice_job.h"
#include "binding/timeslices/timeslice_lock.h"
#include "binding/timeslices/timeslice_look.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "binding/state/timeslice_state.h"
#include "binding/state/watches.h"
#include "os/clock.h"

/* The longest time slice that may be set. */
#define NB_TIMESLICE_MS_MAX 60000

/* --- Whether to preempt --- */

/* How long the fiber has run. Beside a preempted fiber a garbage collection is mostly for what that
   one has made, and does not count for the fiber that it happens to meet. */
static int64_t ran_ns(const nb_timeslices *timeslices) {
    int64_t collected_ns = timeslices->gc_known ? (int64_t)(nb_gc_ms() - timeslices->gc_ms) * NB_NS_PER_MS : 0;
    return nb_clock_monotonic_ns() - timeslices->switched_ns - collected_ns;
}

/* A limit of the fiber has expired, and could not raise when it was due, as another interrupt of
   Ruby came first or a shield block kept it off. */
static bool has_expired_limit(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->expired) || nb_region_shields(scheduler)) return false;
    return nb_late_expired(scheduler, false) != NULL;
}

/* The fiber's time is over: it has run for first_ns (a preempted fiber that goes on, for the
   granularity), and others wait. Fibers that have waited for something go first; preempted fibers,
   and a fiber that has scheduled this one, wait for a whole time slice. Or a limit of the fiber has
   expired. */
static bool is_over(nb_scheduler *scheduler, int64_t first_ns) {
    nb_timeslices *timeslices = scheduler->timeslices;
    int64_t ran = ran_ns(timeslices);
    if (ran < (timeslices->preempted_before ? NB_PREEMPT_GRANULARITY_NS : first_ns)) return false;
    if (has_expired_limit(scheduler)) return true;
    bool others = !nb_list_empty(&scheduler->preempted) || !nb_list_empty(&scheduler->spawners);
    if (ran >= timeslices->timeslice_ns && others) return true;
    if (nb_event_loop_work_waits(scheduler) || nb_timeslices_source_starves(scheduler)) return true;
    nb_timeslices_begin_quiet(timeslices, nb_clock_monotonic_ns());
    return false;
}

static VALUE sleeps_or_is_sent(VALUE thread) {
    VALUE sleeps = rb_funcall(thread, rb_intern("stop?"), 0);
    return RTEST(sleeps) ? sleeps : rb_funcall(thread, rb_intern("pending_interrupt?"), 0);
}

/* Does Ruby need this fiber to go on? It may be in a wait of Ruby's own that no hook knows, as for
   a constant that another thread loads (3.1: variable.c, autoload_sleep). The state of the thread
   is that of this fiber then, and another such wait would leave the thread asleep (thread.c,
   sleep_forever). Or Ruby has taken an interrupt together with the job, which it runs first
   (thread.c, rb_threadptr_execute_interrupts): the flag is down, and the next fiber would get the
   interrupt. An interrupt that comes during the calls here would be raised in the job, which
   swallows it: it is sent again. */
static bool is_rubys(nb_scheduler *scheduler) {
    VALUE unsent, answer = nb_interrupt_call(sleeps_or_is_sent, rb_thread_current(), &unsent);
    if (answer != Qundef) return RTEST(answer);
    if (!NIL_P(unsent)) nb_wait_defer(scheduler, rb_fiber_current(), unsent);
    return true;
}

/* May the fiber not be left, whatever its frames and its regions say? A fiber of the main thread
   may be in a trap handler, which nothing tells. A blocking fiber waits without the hooks for what
   a preempted fiber may hold. A fiber in the table of parked ones is on its way into a wait or out
   of it. */
static bool stays(nb_scheduler *scheduler) {
    if (!scheduler->switched || scheduler->preempt_disabled > 0 || nb_pin_now(scheduler)) return true;
    if (NIL_P(rb_fiber_scheduler_current()) || rb_thread_current() == rb_thread_main()) return true;
    VALUE fiber = rb_fiber_current();
    if (fiber == scheduler->loop_fiber || fiber == scheduler->starter.fiber) return true;
    return nb_parked_find(&scheduler->parked, fiber) != NULL || is_rubys(scheduler);
}

static nb_place place(nb_scheduler *scheduler) { return stays(scheduler) ? NB_PLACE_STAYS : nb_frames_place(); }

/* The event hook. Ruby calls it right after it has looked for interrupts in the switch (cont.c,
   fiber_switch), where the job may have run, and before anything else happens. */
static void after_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE klass) {
    (void)event, (void)data, (void)self, (void)method, (void)klass;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || scheduler->timeslices == NULL) {
        rb_thread_remove_event_hook(rb_thread_current(), after_switch);
        return;
    }
    scheduler->timeslices->switched_to = rb_fiber_current();
    nb_timeslice_job_ask();
}

/* Hooks the event until the next job, as each switch pays for it. */
static void follow_switches(nb_timeslices *timeslices) {
    if (timeslices->follows || !nb_timeslice_job_may_follow()) return;
    timeslices->follows = true;
    rb_thread_add_event_hook(rb_thread_current(), after_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
}

/* The fiber of the last switch, if the hook has told of it; else nil. */
static VALUE take_switched_to(nb_timeslices *timeslices) {
    VALUE switched_to = timeslices->switched_to;
    if (NIL_P(switched_to)) return Qnil;
    timeslices->switched_to = Qnil;
    timeslices->follows = false;
    rb_thread_remove_event_hook(rb_thread_current(), after_switch);
    return switched_to;
}

/* May the fiber be left here, apart from its regions? A fiber that was just switched to is still in
   the C function of the switch, and has not taken the value that it was resumed with. It has when
   it next looks for interrupts: the event hook asks for the job again then. */
static bool is_at_an_end(nb_scheduler *scheduler, VALUE switched_to) {
    nb_place found = place(scheduler);
    if (found == NB_PLACE_OURS) scheduler->timeslices->owed = true;
    if (found == NB_PLACE_STAYS || found == NB_PLACE_OURS) return false;
    if (found == NB_PLACE_BETWEEN) {
        if (NIL_P(switched_to)) follow_switches(scheduler->timeslices);
        if (switched_to != rb_fiber_current()) return false;
    }
    return !nb_resume_ask(scheduler, NB_ASKS_PREEMPT);
}

static bool may_preempt(nb_scheduler *scheduler, VALUE switched_to) {
    return !nb_region_now(scheduler) && is_at_an_end(scheduler, switched_to);
}

/* An interrupt that comes meanwhile is for this fiber, which stays then. */
static void preempt(nb_scheduler *scheduler) {
    VALUE unsent, ffi_errno = nb_interrupt_call(nb_ffi_state_error, Qnil, &unsent);
    if (!NIL_P(unsent)) nb_wait_defer(scheduler, rb_fiber_current(), unsent);
    if (ffi_errno == Qundef) return;
    nb_timeslices_end_quiet(scheduler->timeslices);
    scheduler->timeslices->preemptions++;
    if (scheduler->attached && scheduler->source.preempted) scheduler->source.preempted(scheduler->source.owner);
    nb_wait_preempt(scheduler, FIX2INT(ffi_errno));
}

/* In whichever scheduler of the process. */
static bool some_fiber_uses(const nb_socket_use *last) {
    volatile VALUE held = Qnil;
    for (nb_scheduler *scheduler = NULL; (scheduler = nb_scheduler_next(scheduler, &held));) {
        if (scheduler->fork_generation == nb_fork_generation && nb_watches_use(scheduler, last)) return true;
    }
    return false;
}

static VALUE cut_last(VALUE scheduler) {
    nb_watches_cut_last((nb_scheduler *)scheduler);
    return Qnil;
}

/* The fiber may be in the middle of an answer: the connection is cut as in a wait. False: an
   interrupt has come, which goes first. */
static bool cut(nb_scheduler *scheduler, const nb_late *late) {
    VALUE unsent;
    if (some_fiber_uses(&scheduler->last_socket) || !nb_watches_to_cut(scheduler, late)) return true;
    if (nb_interrupt_call(cut_last, (VALUE)scheduler, &unsent) != Qundef) return true;
    if (!NIL_P(unsent)) nb_wait_defer(scheduler, rb_fiber_current(), unsent);
    return false;
}

/* Raises what an expired limit of the running fiber raises. Where that cannot be here, its next
   wait outside a shield block raises it. */
static void raise_expired(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->expired) || nb_region_shields(scheduler) || stays(scheduler)) return;
    nb_late *late = nb_late_expired(scheduler, false);
    if (!late || !nb_interrupt_ready() || !cut(scheduler, late)) return;
    if (nb_interrupt_self(late->raises)) nb_list_remove(&late->link);
}

/* A fiber that masks interrupts is not left, so that no turn of the loop looks at the alarms. What
   it does not mask is raised there. */
static void raise_unmasked(nb_scheduler *scheduler, VALUE switched_to) {
    if (!nb_region_masks_only(scheduler) || !is_at_an_end(scheduler, switched_to)) return;
    nb_event_loop_clock(scheduler);
    nb_event_loop_expire(scheduler);
    raise_expired(scheduler);
}

static void leave(nb_scheduler *scheduler) {
    nb_timeslices *timeslices = scheduler->timeslices;
    timeslices->forced = false;
    preempt(scheduler);
    if (scheduler->timeslices == timeslices) raise_expired(scheduler);
}

/* What Thread#raise has sent to this thread goes first, to the fiber that runs. */
static void end_timeslice(nb_scheduler *scheduler) {
    nb_timeslices *timeslices = scheduler->timeslices;
    VALUE switched_to = take_switched_to(timeslices);
    if (timeslices->switched_ns == 0 || rb_thread_interrupted(rb_thread_current())) return;
    timeslices->allocates = nb_heap_computes(&scheduler->heap);
    if (!timeslices->forced && !is_over(scheduler, timeslices->timeslice_ns)) return;
    if (!may_preempt(scheduler, switched_to)) {
        timeslices->preemptions_missed++;
        raise_unmasked(scheduler, switched_to);
        return;
    }
    leave(scheduler);
}

void nb_timeslice_call_ends(void) {
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    nb_timeslices *timeslices = scheduler ? scheduler->timeslices : NULL;
    if (timeslices == NULL || !timeslices->owed) return;
    timeslices->owed = false;
    if (timeslices->switched_ns == 0 || nb_region_now(scheduler)) return;
    if (place(scheduler) == NB_PLACE_OURS && !nb_resume_ask(scheduler, NB_ASKS_PREEMPT)) leave(scheduler);
}

static void timeslice_over(void *unused_data) {
    (void)unused_data;
    int error = errno;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler && scheduler->timeslices) {
        end_timeslice(scheduler);
    } else {
        nb_timeslice_hand_off_gvl();
    }
    errno = error;
}

/* --- On and off --- */

static void open(nb_scheduler *scheduler, int64_t timeslice_ns) {
    if (scheduler->timeslices) {
        scheduler->timeslices->timeslice_ns = timeslice_ns;
        return;
    }
    nb_interrupt_prepare();
    nb_timeslices *timeslices = nb_timeslices_make(scheduler, timeslice_ns);
    if (timeslices == NULL) rb_memerror();
    scheduler->timeslices = timeslices;
    timeslices->look = nb_timeslice_look;
    if (!NIL_P(scheduler->loop_fiber)) nb_timeslices_begin(timeslices);
    if (nb_process_watchdog_add(nb_timeslice_look, timeslices, NB_PROCESS_WATCHDOG_IDLE_NS)) return;
    nb_timeslices_close(scheduler);
    rb_raise(nb_error_class, "there is no thread to be had for time slices: see `ulimit -u`, or set cooperative true");
}

void nb_scheduler_timeslice(VALUE self, unsigned slice_ms) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (slice_ms > 0) {
        open(scheduler, slice_ms * NB_NS_PER_MS);
    } else {
        nb_timeslices_close(scheduler);
        if (nb_timeslices_in_use() == NULL) nb_interrupt_end();
    }
}

/* --- Ruby --- */

unsigned nb_timeslice_ms_read(VALUE value) {
    if (NIL_P(value)) return 0;
    long ms = NUM2LONG(value);
    if (ms < 1 || ms > NB_TIMESLICE_MS_MAX)
        rb_raise(rb_eArgError, "slice_ms must be 1 to %d, or nil, not %ld", NB_TIMESLICE_MS_MAX, ms);
    return (unsigned)ms;
}

/* slice_ms = Integer or nil */
static VALUE scheduler_set_slice_ms(VALUE self, VALUE value) {
    nb_scheduler_timeslice(self, nb_timeslice_ms_read(value));
    return value;
}

static VALUE scheduler_slice_ms(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->timeslices ? LL2NUM(scheduler->timeslices->timeslice_ns / NB_NS_PER_MS) : Qnil;
}

static VALUE scheduler_preemptions(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->timeslices ? ULL2NUM(scheduler->timeslices->preemptions) : INT2FIX(0);
}

static VALUE scheduler_preemptions_missed(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->timeslices ? UINT2NUM(scheduler->timeslices->preemptions_missed) : INT2FIX(0);
}

static VALUE scheduler_lock_handoffs(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->timeslices ? ULL2NUM(scheduler->timeslices->lock_handoffs) : INT2FIX(0);
}

/* quiet? -> whether nobody waits for the running fiber's time, and nobody looks before something
   comes. */
static VALUE scheduler_is_quiet(VALUE self) {
    const nb_scheduler *scheduler = nb_scheduler_get(self);
    return scheduler->timeslices && scheduler->timeslices->quiet_until_ns != 0 ? Qtrue : Qfalse;
}

/* end_timeslice: for tests. Preempts the fiber that the watchdog next finds running, if it may be
   left. */
static VALUE scheduler_end_timeslice(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (scheduler->timeslices == NULL) return Qfalse;
    scheduler->timeslices->forced = true;
    nb_process_watchdog_ring();
    return Qtrue;
}

/* give_way(seconds) */
static VALUE scheduler_give_way(VALUE self, VALUE seconds) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    int64_t first_ns = (int64_t)(NUM2DBL(seconds) * NB_NS_PER_S);
    if (scheduler->timeslices == NULL || scheduler->timeslices->switched_ns == 0) return Qfalse;
    if (nb_region_now(scheduler) || stays(scheduler)) return Qfalse;
    int64_t timeslice_ns = scheduler->timeslices->timeslice_ns;
    if (is_over(scheduler, first_ns < timeslice_ns ? first_ns : timeslice_ns)) preempt(scheduler);
    RB_GC_GUARD(self);
    return Qtrue;
}

void nb_timeslice_define(VALUE klass) {
    rb_define_method(klass, "slice_ms=", scheduler_set_slice_ms, 1);
    rb_define_method(klass, "slice_ms", scheduler_slice_ms, 0);
    rb_define_method(klass, "preemptions", scheduler_preemptions, 0);
    /* Older names (docs/renamed-names.md). */
    rb_define_alias(klass, "cuts", "preemptions");
    rb_define_method(klass, "preemptions_missed", scheduler_preemptions_missed, 0);
    rb_define_alias(klass, "kept", "preemptions_missed");
    rb_define_method(klass, "lock_handoffs", scheduler_lock_handoffs, 0);
    rb_define_alias(klass, "given", "lock_handoffs");
    rb_define_method(klass, "quiet?", scheduler_is_quiet, 0);
    rb_define_method(klass, "end_timeslice", scheduler_end_timeslice, 0);
    rb_define_alias(klass, "end_slice", "end_timeslice");
    rb_define_method(klass, "give_way", scheduler_give_way, 1);
    nb_timeslice_job_prepare(timeslice_over);
}
