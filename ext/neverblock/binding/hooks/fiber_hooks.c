/*
 * fiber_hooks.c - NeverBlock::Scheduler: the object, its life, and the hooks that need no descriptor: fiber, kernel_sleep, block, unblock.
 * The loop is scheduler/event_loop.c, waits are state/wait.c, descriptors hooks/io.c.
 */
#include "binding/state/state.h"

#include "base/alloc.h"

#include <errno.h>
#include <pthread.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/thread.h>
#include <sys/socket.h>
#include <sys/stat.h>

VALUE nb_scheduler_class;
unsigned nb_fork_generation;

/* For want of a stack a collection is made when at least so many fibers have ended since the last: beside thousands that wait it takes a second. */
#define NB_COLLECT_ENDED_MIN 128

static size_t ended_fibers;
static nb_list all_schedulers = {&all_schedulers, &all_schedulers};
static VALUE fiber_class, fiber_error;
static ID id_new, id_call, id_full_message, id_write, id_closed_p;

/* --- The object --- */

static void scheduler_mark(void *data) {
    const nb_scheduler *scheduler = data;
    for (size_t i = 0; i < scheduler->parked.capacity; i++) {
        if (scheduler->parked.slots[i].fiber != 0) rb_gc_mark(scheduler->parked.slots[i].fiber);
    }
    /* A fiber that another has resumed is in no wait, but an alarm may be on its stack. */
    for (const nb_list *link = scheduler->blocks.next; link != &scheduler->blocks; link = link->next)
        rb_gc_mark(NB_LIST_ENTRY(link, nb_late, block)->fiber);
    rb_gc_mark(scheduler->loop);
    rb_gc_mark(scheduler->deferred);
    rb_gc_mark(scheduler->expecting);
    nb_children_mark(scheduler);
    rb_gc_mark(scheduler->starter);
    rb_gc_mark(scheduler->starter_thread);
    rb_gc_mark(scheduler->start_error);
}

/* The waits lie on stacks that may be gone by now: they are not looked at. */
static void scheduler_free(void *data) {
    nb_scheduler *scheduler = data;
    nb_list_remove(&scheduler->all);
    nb_slices_close(scheduler);
    if (scheduler->fork_generation == nb_fork_generation) nb_inbox_close(scheduler);
    nb_scheduler_release(scheduler);
    nb_descriptors_deinit(scheduler);
    nb_timers_deinit(&scheduler->timers);
    nb_parked_table_deinit(&scheduler->parked);
    nb_free(scheduler);
}

static size_t scheduler_size(const void *data) {
    const nb_scheduler *scheduler = data;
    return sizeof *scheduler + scheduler->parked.capacity * sizeof(nb_parked) +
           scheduler->timers.capacity * sizeof(nb_timer_slot) + scheduler->descriptor_count * sizeof(nb_descriptor);
}

static const rb_data_type_t scheduler_type = {
    .wrap_struct_name = "NeverBlock::Scheduler",
    .function = {.dmark = scheduler_mark, .dfree = scheduler_free, .dsize = scheduler_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void init_lists(nb_scheduler *scheduler) {
    nb_list_init(&scheduler->ready);
    nb_list_init(&scheduler->pass);
    nb_list_init(&scheduler->cut);
    nb_list_init(&scheduler->spawners);
    nb_list_init(&scheduler->files);
    nb_list_init(&scheduler->unproven);
    nb_list_init(&scheduler->overdue);
    nb_list_init(&scheduler->blocks);
    nb_list_init(&scheduler->awaiting);
    nb_list_init(&scheduler->children);
    nb_timers_init(&scheduler->timers);
}

static VALUE scheduler_alloc(VALUE klass) {
    nb_scheduler *scheduler = nb_alloc_zero(1, sizeof *scheduler);
    if (scheduler == NULL) rb_memerror();
    scheduler->loop = scheduler->root = Qnil;
    scheduler->deferred = Qnil;
    scheduler->expecting = Qnil;
    scheduler->starter = scheduler->starter_thread = scheduler->start_error = Qnil;
    scheduler->wake = (nb_wake){-1, -1};
    scheduler->fork_generation = nb_fork_generation;
    scheduler->room_for = NB_ROOM_FOR_MIN;
    scheduler->dry_fd = -1;
    init_lists(scheduler);
    nb_list_append(&all_schedulers, &scheduler->all);
    scheduler->self = TypedData_Wrap_Struct(klass, &scheduler_type, scheduler);
    return scheduler->self;
}

nb_scheduler *nb_scheduler_get(VALUE self) {
    nb_scheduler *scheduler = rb_check_typeddata(self, &scheduler_type);
    if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    return scheduler;
}

nb_scheduler *nb_scheduler_of_thread(void) {
    VALUE self = rb_fiber_scheduler_get();
    if (NIL_P(self) || !rb_typeddata_is_kind_of(self, &scheduler_type)) return NULL;
    nb_scheduler *scheduler = RTYPEDDATA_DATA(self);
    return scheduler->fork_generation == nb_fork_generation ? scheduler : NULL;
}

void nb_scheduler_open(nb_scheduler *scheduler) {
    if (scheduler->poll) return;
    nb_status status = nb_loop_open(scheduler);
    if (status == NB_OK) return;
    int error = errno;
    nb_scheduler_release(scheduler);
    if (status == NB_SYSTEM) rb_syserr_fail(error, "NeverBlock::Scheduler");
    rb_memerror();
}

void nb_scheduler_release(nb_scheduler *scheduler) {
    scheduler->starter = scheduler->starter_thread = Qnil;
    if (scheduler->fork_generation == nb_fork_generation) nb_inbox_mute(scheduler);
    nb_descriptors_unkeep(scheduler);
    nb_poll_destroy(scheduler->poll);
    scheduler->poll = NULL;
    if (scheduler->wake.read_fd >= 0) nb_wake_deinit(&scheduler->wake);
    scheduler->wake = (nb_wake){-1, -1};
}

/* --- Fork --- */

static void count_fork(void) { nb_fork_generation++; }

/* In a child only the forking fiber lives on. The others' waits are cut loose, in case something still ends them; the parent's epoll
   is closed unchanged (its registrations belong to both processes). */
void nb_scheduler_forget(nb_scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->parked.capacity; i++) {
        for (nb_wait *wait = scheduler->parked.slots[i].wait; wait; wait = wait->outer) {
            nb_list_init(&wait->link);
        }
    }
    for (size_t i = 1; i <= scheduler->timers.count; i++)
        scheduler->timers.slots[i].timer->index = 0;
    while (!nb_list_empty(&scheduler->overdue))
        nb_list_remove(scheduler->overdue.next);
    while (!nb_list_empty(&scheduler->blocks))
        nb_list_remove(scheduler->blocks.next);
    nb_children_forget(scheduler);
    while (!nb_list_empty(&scheduler->files))
        nb_list_remove(scheduler->files.next);
    nb_loop_forget_others();
    scheduler->fork_generation = nb_fork_generation;
    scheduler->deferred = Qnil;
    scheduler->expecting = Qnil;
    scheduler->starter = scheduler->starter_thread = scheduler->start_error = Qnil;
    scheduler->attached = false;
    scheduler->sleeping = false;
    atomic_store_explicit(&scheduler->asleep, false, memory_order_relaxed);
    scheduler->pending_tag = 0;
    scheduler->uncut = scheduler->long_requests = 0;
    scheduler->resumes = NULL;
    scheduler->question = NB_ASKS_NOTHING;
    scheduler->masked = false;
    nb_slices_close(scheduler);
    scheduler->lent = scheduler->shields = scheduler->ready_count = 0;
    nb_parked_table_deinit(&scheduler->parked);
    nb_timers_deinit(&scheduler->timers);
    init_lists(scheduler);
    nb_descriptors_forget(scheduler);
    nb_descriptors_deinit(scheduler);
    scheduler->inbox = NULL; /* left: a thread that is no more may hold its lock */
    nb_scheduler_release(scheduler);
}

/* Closes the parent's descriptors in a child, in every scheduler, also those of threads that are gone. */
static VALUE scheduler_s_after_fork(VALUE klass) {
    for (nb_list *link = all_schedulers.next; link != &all_schedulers; link = link->next) {
        nb_scheduler *scheduler = NB_LIST_ENTRY(link, nb_scheduler, all);
        if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    }
    return klass;
}

static bool some_watch(void) {
    for (nb_list *link = all_schedulers.next; link != &all_schedulers; link = link->next) {
        const nb_scheduler *scheduler = NB_LIST_ENTRY(link, nb_scheduler, all);
        if (scheduler->watching > 0 || scheduler->keeps || !nb_list_empty(&scheduler->files)) return true;
    }
    return false;
}

void nb_scheduler_closing(int fd) {
    for (nb_list *link = all_schedulers.next; link != &all_schedulers; link = link->next) {
        nb_scheduler *scheduler = NB_LIST_ENTRY(link, nb_scheduler, all);
        if (scheduler->fork_generation == nb_fork_generation) nb_descriptor_closing(scheduler, fd);
    }
}

/* closing(io): to be called before it is closed. */
static VALUE scheduler_s_closing(VALUE klass, VALUE io) {
    if (some_watch() && !RTEST(rb_funcall(io, id_closed_p, 0))) nb_scheduler_closing(nb_descriptor_of(io));
    return klass;
}

/* closes_at_once?(io): whether close(2) cannot wait: a pipe, or a socket that does not linger (SO_LINGER, socket(7)). A file's may write to the disk. */
static VALUE scheduler_s_closes_at_once_p(VALUE klass, VALUE io) {
    (void)klass;
    if (RTEST(rb_funcall(io, id_closed_p, 0))) return Qfalse;
    int fd = nb_descriptor_of(io);
    struct stat status;
    if (fstat(fd, &status) != 0) return Qfalse;
    if (S_ISFIFO(status.st_mode)) return Qtrue;
    if (!S_ISSOCK(status.st_mode)) return Qfalse;
    struct linger linger = {0};
    socklen_t size = sizeof linger;
    if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size) != 0) return Qfalse;
    return linger.l_onoff == 0 || linger.l_linger == 0 ? Qtrue : Qfalse;
}

/* --- For the rest of the binding --- */

void nb_scheduler_attach(VALUE self, const nb_scheduler_source *source) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (scheduler->attached) rb_raise(rb_eArgError, "this scheduler has a source already");
    scheduler->source = *source;
    scheduler->attached = true;
    nb_heap_attached();
    if (scheduler->poll == NULL || nb_loop_watch_source(scheduler) == NB_OK) return;
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

void nb_scheduler_run(VALUE self) { nb_loop_run(nb_scheduler_get(self), NULL); }

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

/* What ends the process or the thread goes on to the loop; anything else is told, as for a thread, and costs this fiber only. */
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

/* A fiber gets its stack when it is first switched to: what fails there is told with its mend. The stacks of fibers that have ended
   are given back when these are collected, and nothing else about a stack makes Ruby collect. */
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

/* expect_wake: an unblock that comes for this fiber before it sleeps ends its next kernel_sleep (compat/condition_variable.rb). */
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
    nb_wait_park(&wait, deadline_ns);
    return Qtrue;
}

static VALUE scheduler_switches(VALUE self) { return ULL2NUM(nb_scheduler_get(self)->switches); }

static VALUE scheduler_yield(VALUE self) {
    VALUE duration = INT2FIX(0);
    return scheduler_kernel_sleep(1, &duration, self);
}

/* A fork meanwhile has set it to 0. */
static void take_back(nb_scheduler *scheduler) {
    if (scheduler->lent > 0) scheduler->lent--;
}

static void leave_thread(nb_wait *wait) { take_back(wait->scheduler); }

/* Ruby's own locks (of a file that is being required) have no class. */
static bool is_thread(VALUE blocker) {
    return RB_TYPE_P(blocker, T_DATA) && RBASIC_CLASS(blocker) != 0 && RTEST(rb_obj_is_kind_of(blocker, rb_cThread));
}

/* Who waits for a thread (Thread#join, Thread#value) lends it Ruby's lock. */
static VALUE scheduler_block(int argc, VALUE *argv, VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    rb_check_arity(argc, 1, 2);
    int64_t deadline_ns = nb_wait_deadline(scheduler, argc == 1 ? Qnil : argv[1]);
    nb_wait wait;
    nb_wait_init(&wait, scheduler, NB_WAIT_BLOCK);
    if (is_thread(argv[0])) {
        scheduler->lent++;
        wait.leave = leave_thread;
    }
    return nb_wait_park(&wait, deadline_ns) == NB_WOKEN ? Qtrue : Qfalse;
}

static VALUE scheduler_unblock(VALUE self, VALUE blocker, VALUE fiber) {
    nb_mutex_unlocking(blocker);
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    if (wait && (wait->kind == NB_WAIT_BLOCK || wait->kind == NB_WAIT_SLEEP)) nb_wait_wake(wait, NB_WOKEN);
    if ((wait == NULL || wait->kind == NB_WAIT_CUT) && expects_wake(scheduler, fiber))
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

static VALUE lend_body(VALUE argument) {
    (void)argument;
    return rb_yield_values(0);
}

static VALUE lend_end(VALUE self) {
    take_back(nb_scheduler_get(self));
    return Qnil;
}

/* lend { } */
static VALUE scheduler_lend(VALUE self) {
    rb_need_block();
    nb_scheduler_get(self)->lent++;
    return rb_ensure(lend_body, Qnil, lend_end, self);
}

/* Whether the loop of this thread's scheduler has switched to the fiber that runs, or to one that has resumed it. */
static bool inside(nb_scheduler *scheduler) { return scheduler->switched && nb_scheduler_of_thread() == scheduler; }

static VALUE scheduler_inside_p(VALUE self) { return inside(nb_scheduler_get(self)) ? Qtrue : Qfalse; }

static VALUE scheduler_run(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (inside(scheduler)) {
        nb_children_await(scheduler);
    } else {
        nb_loop_run(scheduler, NULL);
    }
    return self;
}

static VALUE run_and_release(VALUE self) {
    nb_scheduler_run(self);
    nb_scheduler_release(nb_scheduler_get(self));
    return Qnil;
}

/* The loop that runs this fiber goes on afterwards. */
static VALUE scheduler_close(VALUE self) {
    if (!inside(nb_scheduler_get(self))) return run_and_release(self);
    scheduler_run(self);
    return Qnil;
}

/* What Ruby calls when the thread ends. On the way out with an exception, killed, or at exit, nobody waits for what fibers wait for. */
static VALUE scheduler_scheduler_close(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (NIL_P(rb_errinfo()) && !scheduler->abandoned) return run_and_release(self);
    nb_scheduler_release(scheduler);
    return Qnil;
}

void nb_scheduler_define(VALUE module) {
    id_new = rb_intern("new");
    id_call = rb_intern("call");
    id_full_message = rb_intern("full_message");
    id_write = rb_intern("write");
    id_closed_p = rb_intern("closed?");
    rb_gc_register_address(&fiber_class);
    fiber_class = rb_path2class("Fiber");
    rb_gc_register_address(&fiber_error);
    fiber_error = rb_path2class("FiberError");
    rb_gc_register_address(&nb_scheduler_class);
    nb_scheduler_class = rb_define_class_under(module, "Scheduler", rb_cObject);
    rb_define_alloc_func(nb_scheduler_class, scheduler_alloc);
    rb_define_singleton_method(nb_scheduler_class, "after_fork", scheduler_s_after_fork, 0);
    rb_define_singleton_method(nb_scheduler_class, "closing", scheduler_s_closing, 1);
    rb_define_singleton_method(nb_scheduler_class, "closes_at_once?", scheduler_s_closes_at_once_p, 1);
    rb_define_method(nb_scheduler_class, "fiber", scheduler_fiber, -1);
    rb_define_method(nb_scheduler_class, "kernel_sleep", scheduler_kernel_sleep, -1);
    rb_define_method(nb_scheduler_class, "expect_wake", scheduler_expect_wake, 0);
    rb_define_method(nb_scheduler_class, "forget_wake", scheduler_forget_wake, 0);
    rb_define_method(nb_scheduler_class, "yield", scheduler_yield, 0);
    rb_define_method(nb_scheduler_class, "switches", scheduler_switches, 0);
    rb_define_method(nb_scheduler_class, "block", scheduler_block, -1);
    rb_define_method(nb_scheduler_class, "unblock", scheduler_unblock, 2);
    rb_define_method(nb_scheduler_class, "fiber_interrupt", scheduler_fiber_interrupt, 2);
    rb_define_method(nb_scheduler_class, "raise_in", scheduler_raise_in, -1);
    rb_define_method(nb_scheduler_class, "lend", scheduler_lend, 0);
    rb_define_method(nb_scheduler_class, "run", scheduler_run, 0);
    rb_define_method(nb_scheduler_class, "inside?", scheduler_inside_p, 0);
    rb_define_method(nb_scheduler_class, "close", scheduler_close, 0);
    rb_define_method(nb_scheduler_class, "scheduler_close", scheduler_scheduler_close, 0);
    nb_scheduler_hold_define(nb_scheduler_class);
    nb_scheduler_slice_define(nb_scheduler_class, module);
    nb_scheduler_frames_define(nb_scheduler_class);
    nb_scheduler_resume_define(nb_scheduler_class);
    nb_scheduler_io_define(nb_scheduler_class);
    nb_scheduler_file_define(nb_scheduler_class);
    nb_scheduler_resolve_define(nb_scheduler_class);
    nb_scheduler_heap_define(module);
    nb_scheduler_mutex_define();
    nb_scheduler_start_define();
    nb_scheduler_wait_define(nb_scheduler_class);
    nb_scheduler_process_define(nb_scheduler_class);
    nb_scheduler_timeout_define(nb_scheduler_class);
    nb_scheduler_root_define(nb_scheduler_class);
    nb_scheduler_interrupt_define();
    pthread_atfork(NULL, NULL, count_fork);
}
