/*
 * fiber_hooks.c - see fiber_hooks.h.
 */
#include "binding/hooks/fiber_hooks.h"

#include <ruby.h>
#include <ruby/fiber/scheduler.h>

#include "binding/hooks/mutex.h"
#include "binding/scheduler/event_loop.h"
#include "binding/scheduler/park.h"
#include "binding/state/children.h"
#include "binding/state/accounting.h"
#include "binding/state/serving.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "binding/state/wait.h"

/* Where there is no stack for a new fiber, garbage is collected if so many fibers have ended since
   the last time: with many waiting fibers a collection takes long. */
#define NB_COLLECT_ENDED_MIN 128

/* Nanoseconds between two looks whether a thread that ends is dead. */
#define NB_THREAD_END_NS 50000

static size_t ended_fibers;
static VALUE fiber_class, fiber_error, mutex_class, queue_class, sized_queue_class;
static ID id_new, id_call, id_full_message, id_write, id_thread_status;

/* --- Fibers --- */

static VALUE tell_exception(VALUE exception) {
    VALUE text = rb_sprintf("%" PRIsVALUE " terminated with exception:\n%" PRIsVALUE, rb_fiber_current(),
                            rb_funcall(exception, id_full_message, 0));
    return rb_funcall(rb_stderr, id_write, 1, text);
}

static VALUE tell_nobody(VALUE argument, VALUE exception) {
    (void)argument, (void)exception;
    return Qnil;
}

/* An exception that ends the process or the thread goes on to the loop. Any other is reported, as
   Ruby does for a thread, and ends this fiber only. */
static VALUE report_exception(VALUE argument, VALUE exception) {
    (void)argument;
    if (!RTEST(rb_obj_is_kind_of(exception, rb_eStandardError)) &&
        !RTEST(rb_obj_is_kind_of(exception, rb_eScriptError)))
        rb_exc_raise(exception);
    return rb_rescue2(tell_exception, exception, tell_nobody, Qnil, rb_eStandardError, (VALUE)0);
}

static VALUE fiber_call(VALUE block) { return rb_funcall(block, id_call, 0); }

static VALUE fiber_rescue(RB_BLOCK_CALL_FUNC_ARGLIST(tag, block)) {
    (void)tag, (void)argc, (void)argv, (void)blockarg;
    return rb_rescue2(fiber_call, block, report_exception, Qnil, rb_eException, (VALUE)0);
}

typedef struct fiber_run {
    nb_child child;
    nb_scheduler *scheduler;
    VALUE self, block;
} fiber_run;

/* `throw NeverBlock::Scheduler` ends the fiber (compat/fiber_kill.rb). */
static VALUE fiber_catch(VALUE run) {
    return rb_catch_obj(nb_scheduler_class, fiber_rescue, ((fiber_run *)run)->block);
}

static VALUE fiber_end(VALUE run) {
    nb_child_end(((fiber_run *)run)->scheduler, &((fiber_run *)run)->child);
    nb_mutexes_give_up();
    ended_fibers++;
    return Qnil;
}

static VALUE fiber_body(RB_BLOCK_CALL_FUNC_ARGLIST(yielded, block)) {
    (void)yielded, (void)argc, (void)argv, (void)blockarg;
    fiber_run run = {.scheduler = nb_scheduler_of_thread(), .self = rb_fiber_scheduler_get(), .block = block};
    nb_child_begin(run.scheduler, &run.child);
    VALUE value = rb_ensure(fiber_catch, (VALUE)&run, fiber_end, (VALUE)&run);
    RB_GC_GUARD(run.self);
    return value;
}

typedef struct start_call {
    nb_scheduler *scheduler;
    VALUE fiber, error;
} start_call;

static VALUE start_body(VALUE argument) {
    start_call *call = (start_call *)argument;
    nb_wait_spawn(call->scheduler, call->fiber);
    return Qnil;
}

static VALUE start_failed(VALUE argument, VALUE error) {
    start_call *call = (start_call *)argument;
    call->error = error;
    return Qnil;
}

/* A fiber gets its stack when it is first switched to; an error there is raised with a way to mend
   it. Stacks of ended fibers are given back when the fibers are collected, and nothing else about a
   stack makes Ruby collect. */
static void start(start_call *call) {
    VALUE limits = rb_path2class("NeverBlock::Boot::Limits");
    for (;;) {
        call->error = Qnil;
        rb_rescue2(start_body, (VALUE)call, start_failed, (VALUE)call, fiber_error, (VALUE)0);
        if (NIL_P(call->error)) return;
        bool no_stack = RTEST(rb_funcall(limits, rb_intern("no_stack?"), 1, call->error));
        if (!no_stack || ended_fibers < NB_COLLECT_ENDED_MIN) break;
        ended_fibers = 0;
        rb_gc_start();
    }
    rb_exc_raise(rb_funcall(limits, rb_intern("explain"), 1, call->error));
}

static VALUE scheduler_fiber(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    VALUE options, block;
    rb_scan_args(argc, argv, "0:&", &options, &block);
    if (NIL_P(block)) rb_raise(rb_eArgError, "a block is needed");

    if (NIL_P(options)) options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("blocking")), Qfalse);
    VALUE body = rb_proc_new(fiber_body, block);
    VALUE fiber = rb_funcall_with_block_kw(fiber_class, id_new, 1, &options, body, RB_PASS_KEYWORDS);
    start_call call = {scheduler, fiber, Qnil};
    start(&call);
    RB_GC_GUARD(body);
    return fiber;
}

/* --- Hooks --- */

/* expect_wake: an unblock that comes for this fiber before it sleeps ends its next kernel_sleep
   (compat/condition_variable.rb). */
static VALUE scheduler_expect_wake(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (NIL_P(scheduler->expecting)) scheduler->expecting = rb_obj_hide(rb_hash_new());
    rb_hash_aset(scheduler->expecting, rb_fiber_current(), Qfalse);
    return Qnil;
}

static VALUE scheduler_forget_wake(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (!NIL_P(scheduler->expecting)) rb_hash_delete(scheduler->expecting, rb_fiber_current());
    return Qnil;
}

static bool expects_wake(const nb_scheduler *scheduler, VALUE fiber) {
    return !NIL_P(scheduler->expecting) && RHASH_SIZE(scheduler->expecting) > 0 &&
           !NIL_P(rb_hash_lookup(scheduler->expecting, fiber));
}

static bool take_expected_wake(nb_scheduler *scheduler) {
    VALUE fiber = rb_fiber_current();
    if (!expects_wake(scheduler, fiber) || rb_hash_lookup(scheduler->expecting, fiber) != Qtrue) return false;
    rb_hash_aset(scheduler->expecting, fiber, Qfalse);
    return true;
}

static VALUE scheduler_kernel_sleep(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 0, 1);
    if (take_expected_wake(scheduler)) return Qtrue;
    int64_t deadline_ns = nb_wait_deadline(scheduler, argc == 0 ? Qnil : argv[0]);
    nb_wait wait;
    nb_wait_init(&wait, scheduler, NB_WAIT_SLEEP);
    if (wait.about.kind == NB_FIBER_WAIT_sleep && expects_wake(scheduler, wait.fiber))
        wait.about.kind = NB_FIBER_WAIT_condition;
    return nb_wait_park(&wait, deadline_ns) == NB_TIMED_OUT ? Qfalse : Qtrue;
}

/* Scheduler.next_wait(kind, text = nil): what the next wait of the running fiber is for, for those
   who look at the server. An unknown kind says nothing. */
static VALUE scheduler_next_wait(int argc, VALUE *argv, VALUE klass) {
    (void)klass;
    rb_check_arity(argc, 1, 2);
    Check_Type(argv[0], T_SYMBOL);
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || !nb_accounting(scheduler)) return Qnil;
    VALUE name = rb_sym2str(argv[0]), text = argc == 2 && !NIL_P(argv[1]) ? StringValue(argv[1]) : Qnil;
    nb_fiber_wait_kind kind = nb_fiber_wait_named(StringValueCStr(name));
    nb_slice words = NIL_P(text) ? nb_slice_of(NULL, 0) : nb_slice_of(RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    if (kind < NB_FIBER_WAIT_KINDS) nb_fiber_next_wait(scheduler, kind, -1, words);
    return Qnil;
}

static VALUE scheduler_switches(VALUE self) { return ULL2NUM(nb_scheduler_get(self)->switches); }

static VALUE scheduler_yield(VALUE self) {
    VALUE duration = INT2FIX(0);
    scheduler_kernel_sleep(1, &duration, self);
    return Qtrue;
}

/* A fork meanwhile has set it to 0. */
static void end_yield_lock(nb_scheduler *scheduler) {
    if (scheduler->lock_yielders > 0) scheduler->lock_yielders--;
}

static void leave_thread(nb_wait *wait) { end_yield_lock(wait->scheduler); }

/* Ruby's own locks, as of a file that is being required, have no class. */
static bool is_thread(VALUE blocker) {
    return RB_TYPE_P(blocker, T_DATA) && RBASIC_CLASS(blocker) != 0 && RTEST(rb_obj_is_kind_of(blocker, rb_cThread));
}

typedef struct join {
    nb_wait wait; /* first */
    VALUE thread;
    bool ends; /* the thread itself has woken this wait */
} join;

/* A wait for a thread (Thread#join, Thread#value) yields it the GVL. */
static nb_wait_outcome await_thread(join *self, nb_scheduler *scheduler, VALUE thread, int64_t deadline_ns) {
    self->thread = thread;
    self->ends = false;
    nb_wait_init(&self->wait, scheduler, NB_WAIT_BLOCK);
    scheduler->lock_yielders++;
    self->wait.leave = leave_thread;
    if (self->wait.about.kind == 0) self->wait.about.kind = NB_FIBER_WAIT_thread;
    return nb_wait_park(&self->wait, deadline_ns);
}

/* Waits until the thread is dead. A thread that ends wakes what waits for it, and only then unlocks
   its mutexes and is dead (thread.c, thread_start_func_2). A waiting thread is told by a flag. A
   fiber is told by a method, after which the thread that ends may have to wait for the GVL.
   Thread#status tells of this time, Thread#alive? does not. */
static bool join_thread(nb_scheduler *scheduler, VALUE thread, int64_t deadline_ns) {
    join self;
    if (await_thread(&self, scheduler, thread, deadline_ns) != NB_WOKEN) return false;
    if (!self.ends) return true;
    while (RTEST(rb_funcall(thread, id_thread_status, 0))) {
        await_thread(&self, scheduler, thread, nb_event_loop_clock(scheduler) + NB_THREAD_END_NS);
    }
    return true;
}

/* What a fiber waits for that is blocked by this. */
static void about_blocker(nb_wait *wait, VALUE blocker) {
    if (!RB_TYPE_P(blocker, T_DATA)) return;
    VALUE klass = RBASIC_CLASS(blocker);
    if (klass == 0 || klass == mutex_class) wait->about.kind = NB_FIBER_WAIT_lock;
    if (klass == mutex_class) wait->about.subject = nb_mutex_holder(blocker);
    if (klass == queue_class || klass == sized_queue_class) wait->about.kind = NB_FIBER_WAIT_queue;
}

typedef struct block {
    nb_wait wait; /* first */
    VALUE blocker;
} block;

static void leave_block(nb_wait *wait) { nb_mutex_wait_end(((block *)wait)->blocker); }

static VALUE scheduler_block(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, 2);
    int64_t deadline_ns = nb_wait_deadline(scheduler, argc == 1 ? Qnil : argv[1]);
    if (is_thread(argv[0])) return join_thread(scheduler, argv[0], deadline_ns) ? Qtrue : Qfalse;
    block blocked;
    blocked.blocker = argv[0];
    nb_wait_init(&blocked.wait, scheduler, NB_WAIT_BLOCK);
    if (blocked.wait.about.kind == 0) about_blocker(&blocked.wait, argv[0]);
    nb_mutex_wait_begin(argv[0]);
    blocked.wait.leave = leave_block;
    return nb_wait_park(&blocked.wait, deadline_ns) == NB_WOKEN ? Qtrue : Qfalse;
}

static void note_end(nb_wait *wait) {
    if (wait->leave != leave_thread) return;
    join *waits = (join *)wait;
    if (waits->thread == rb_thread_current()) waits->ends = true;
}

static VALUE scheduler_unblock(VALUE self, VALUE blocker, VALUE fiber) {
    nb_mutex_unlocking(blocker);
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    if (wait && (wait->kind == NB_WAIT_BLOCK || wait->kind == NB_WAIT_SLEEP)) {
        note_end(wait);
        nb_wait_wake(wait, NB_WOKEN);
    }
    if ((wait == NULL || wait->kind == NB_WAIT_PREEMPTED) && expects_wake(scheduler, fiber))
        rb_hash_aset(scheduler->expecting, fiber, Qtrue);
    return Qnil;
}

static VALUE interrupt(VALUE self, VALUE fiber, VALUE exception) {
    nb_wait *wait = nb_parked_find(&nb_scheduler_get(self)->parked, fiber);
    if (wait == NULL || wait->state == NB_RESUMED) return Qnil;
    return nb_wait_raise(wait, exception, NULL) ? Qtrue : Qfalse;
}

static VALUE scheduler_fiber_interrupt(VALUE self, VALUE fiber, VALUE exception) {
    if (!RTEST(rb_obj_is_kind_of(exception, rb_eException))) rb_raise(rb_eTypeError, "an exception is needed");
    return interrupt(self, fiber, exception);
}

/* raise_in(fiber, *arguments of raise): the exception is made in the fiber. */
static VALUE scheduler_raise_in(int argc, VALUE *argv, VALUE self) {
    rb_check_arity(argc, 1, 4);
    return interrupt(self, argv[0], rb_ary_new_from_values(argc - 1, argv + 1));
}

static VALUE yield_lock_body(VALUE argument) {
    (void)argument;
    return rb_yield_values(0);
}

static VALUE yield_lock_end(VALUE self) {
    end_yield_lock(nb_scheduler_get(self));
    return Qnil;
}

/* yield_lock { } */
static VALUE scheduler_yield_lock(VALUE self) {
    rb_need_block();
    nb_scheduler_get(self)->lock_yielders++;
    return rb_ensure(yield_lock_body, Qnil, yield_lock_end, self);
}

/* Does the running fiber run under this scheduler's loop on its own thread? */
static bool inside(nb_scheduler *scheduler) { return scheduler->switched && nb_scheduler_of_thread() == scheduler; }

static VALUE scheduler_inside_p(VALUE self) { return inside(nb_scheduler_get(self)) ? Qtrue : Qfalse; }

static void await_once(nb_scheduler *scheduler, VALUE parent, int64_t deadline_ns) {
    nb_children_wait waiter;
    nb_children_wait_init(&waiter, scheduler, parent);
    nb_wait_park(&waiter.wait, deadline_ns);
}

/* For #run in a fiber of the loop, which runs already: a second loop on top of it would end with
   the server only. So the fiber waits until the fibers that it has scheduled have ended; where
   there are none, until every ready fiber has run once. */
static void await_children(nb_scheduler *scheduler) {
    VALUE parent = nb_root_now(scheduler);
    await_once(scheduler, parent, nb_event_loop_clock(scheduler));
    while (nb_children_any(scheduler, parent))
        await_once(scheduler, parent, INT64_MAX);
}

static VALUE scheduler_run(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (inside(scheduler)) {
        await_children(scheduler);
    } else {
        nb_event_loop_run(scheduler, NULL);
    }
    return self;
}

static VALUE run_and_release(VALUE self) {
    nb_event_loop_run(nb_scheduler_get(self), NULL);
    nb_scheduler_release(nb_scheduler_get(self));
    return Qnil;
}

/* The loop that runs this fiber goes on afterwards. */
static VALUE scheduler_close(VALUE self) {
    if (!inside(nb_scheduler_get(self))) return run_and_release(self);
    scheduler_run(self);
    return Qnil;
}

/* Ruby calls this when the thread ends. On the way out with an exception, killed, or at exit, the
   fibers that are left are not waited for. */
static VALUE scheduler_scheduler_close(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (NIL_P(rb_errinfo()) && !scheduler->abandoned) return run_and_release(self);
    nb_scheduler_drop(scheduler);
    return Qnil;
}

void nb_fiber_hooks_define(VALUE klass) {
    id_new = rb_intern("new");
    id_call = rb_intern("call");
    id_full_message = rb_intern("full_message");
    id_write = rb_intern("write");
    id_thread_status = rb_intern("status");
    rb_gc_register_address(&fiber_class);
    fiber_class = rb_path2class("Fiber");
    rb_gc_register_address(&fiber_error);
    fiber_error = rb_path2class("FiberError");
    mutex_class = rb_path2class("Thread::Mutex");
    rb_gc_register_mark_object(mutex_class);
    queue_class = rb_path2class("Thread::Queue");
    rb_gc_register_mark_object(queue_class);
    sized_queue_class = rb_path2class("Thread::SizedQueue");
    rb_gc_register_mark_object(sized_queue_class);
    rb_define_singleton_method(klass, "next_wait", scheduler_next_wait, -1);
    rb_define_method(klass, "fiber", scheduler_fiber, -1);
    rb_define_method(klass, "kernel_sleep", scheduler_kernel_sleep, -1);
    rb_define_method(klass, "expect_wake", scheduler_expect_wake, 0);
    rb_define_method(klass, "forget_wake", scheduler_forget_wake, 0);
    rb_define_method(klass, "yield", scheduler_yield, 0);
    rb_define_method(klass, "switches", scheduler_switches, 0);
    rb_define_method(klass, "block", scheduler_block, -1);
    rb_define_method(klass, "unblock", scheduler_unblock, 2);
    rb_define_method(klass, "fiber_interrupt", scheduler_fiber_interrupt, 2);
    rb_define_method(klass, "raise_in", scheduler_raise_in, -1);
    rb_define_method(klass, "yield_lock", scheduler_yield_lock, 0);
    rb_define_alias(klass, "lend", "yield_lock");
    rb_define_method(klass, "run", scheduler_run, 0);
    rb_define_method(klass, "inside?", scheduler_inside_p, 0);
    rb_define_method(klass, "close", scheduler_close, 0);
    rb_define_method(klass, "scheduler_close", scheduler_scheduler_close, 0);
}
