/*
 * scheduler_slice.c - the end of a running fiber's slice of time: what the ticker looks at, the postponed job it asks Ruby for, and what that
 * job does in the thread it meets.
 *
 * The ticker only sees for how long the thread has run one fiber, or has waited for Ruby's lock, and asks for the job again each millisecond from
 * then on; sooner where the fiber could not be left. Where a job, or the switch to a fiber whose slice had ended before, has found that nobody else waits, it is quiet: whoever brings something
 * makes the loop's poller readable, for which the ticker sleeps, and until that happens nobody has to look. A job is Ruby's to run, later or on another thread than was meant: so it decides anew, by
 * what it finds in the thread it runs on, and a job that comes too late does nothing. There, Ruby's lock held, between two instructions of Ruby code or where a C function lets
 * interrupts act (wherever Ruby could switch threads as well), the fiber is put into the list `cut` and transfers to the loop, as a fiber
 * that waits does. docs/decisions/0007 says where that must not be, and how each case is kept out.
 */
#include "scheduler_internal.h"

#include <errno.h>
#include <poll.h>
#include <ruby/debug.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/thread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "neverblock.h"
#include "os/clock.h"
#include "os/thread.h"
#include "ticker.h"

/* What a fiber that was cut, and has not waited since, may run at least; how often the ticker asks again; and how long a thread that waits
   for Ruby's lock is left to. */
#define NB_CUT_NS NB_NS_PER_MS
/* Where the fiber could not be left, the next question comes so soon: an Enumerator that was just between two fibers is not a moment later, though most questions meet
   it there. So many come as soon; the next ones after twice, three times that: what cannot be left for long is not asked all the time. */
#define NB_AGAIN_NS (NB_NS_PER_MS / 10)
#define NB_AGAIN_COUNT 32
/* For so long after one was put off. Else the answer is looked for when the next question would come: each look wakes a thread. */
#define NB_PUT_OFF_NS NB_NS_PER_S
/* After a thread of Ruby has kept the lock from an executor, the ticker looks each millisecond for so long. */
#define NB_CONTENDED_NS NB_NS_PER_S
/* One that was cut goes on this soon (NB_CUT_WAITS_NS), in the middle of what others do: for twice as long the ticker looks each millisecond, unless it is quiet, lest it looks while one of the
   others runs, and next when that would have had a slice. */
#define NB_CUT_SEEN_NS (20 * NB_NS_PER_MS)
/* So long at most it is quiet: what a fiber allocates is looked at in the job, too. */
#define NB_QUIET_NS (10 * NB_NS_PER_MS)
/* A thread that is awake and has not run for so long sits in a call, and does not wait for the lock. */
#define NB_STILL_NS (200 * NB_NS_PER_MS)
/* How long a thread that gives the lock up stays away from it at most, and between two looks whether it was taken. */
#define NB_GIVE_NS NB_NS_PER_MS
#define NB_GIVE_STEP_NS 50000
/* A slice that is never too short to get anywhere. */
#define NB_SLICE_MS_MAX 60000

/* What the ticker reads is atomic. Never freed but used again: a thread without the lock may look at it. */
struct nb_slices {
    nb_slices *next;
    nb_scheduler *scheduler;
    int64_t slice_ns;
    clockid_t clock; /* of what the thread runs, if it is `clocked` */
    bool clocked;
    _Atomic int64_t switched_ns; /* when the thread began to run its fiber; 0: it runs none */
    _Atomic bool cut_before;     /* the fiber's slice had ended, and it has not waited since */
    _Atomic uint32_t lock;       /* odd: the thread waits for Ruby's lock */
    _Atomic bool asleep;         /* it does not want it */
    _Atomic bool forced;         /* the next job cuts that may, whatever the time is */
    _Atomic uint32_t kept;       /* ends that were put off, as the fiber could not be left there */
    _Atomic uint64_t cuts;       /* slices that have ended */
    _Atomic int64_t
        quiet_until_ns;     /* until then nobody waits for the fiber's time unless `descriptor` gets readable; or 0 */
    _Atomic int descriptor; /* the poller's */
    bool allocates;         /* much beside objects, as the last job has found */
    uint64_t given;         /* times another thread has given Ruby's lock up for this one */
    int64_t
        idle_ns; /* since when the thread does not run though it has a fiber to run, as the jobs on other threads have seen it */
    int64_t ran_ns;   /* what it had run then */
    int64_t given_ns; /* when it was last offered the lock and did not take it */
    bool follows;     /* Ruby tells of the thread's switches */
    VALUE arrived;    /* the fiber of the last that was told of; compared only */
    size_t gc_ms;     /* what collections had taken when the thread began to run its fiber, if it is `gc_known` */
    bool gc_known;
    /* the ticker's */
    uint32_t lock_seen;
    int64_t lock_seen_ns, contended_ns;
    int64_t ran_seen_ns, still_ns; /* what the thread had run, and since when it has not run more */
    int64_t stint_ns, asked_ns;    /* the stint for which it has asked last, and when */
    uint64_t cuts_seen;
    int64_t cut_seen_ns;       /* when there was last a fiber that was cut */
    uint32_t kept_seen, again; /* what was put off by then; how many in a row have been, of this stint */
    int64_t put_off_ns;        /* when it was last seen that one had been; 0: never */
};

static nb_slices *in_use, *unused;

/* --- The job --- */

static void slice_over(void *unused_data);

#ifdef HAVE_RB_POSTPONED_JOB_PREREGISTER
static rb_postponed_job_handle_t job;

static void ask_for_job(void) { rb_postponed_job_trigger(job); }

static void prepare_job(void) { job = rb_postponed_job_preregister(0, slice_over, NULL); }

static bool may_follow(void) { return true; }
#else
/* Before Ruby 3.3 a thread that registers a job takes a place in Ruby's list first and fills it then; between the two the old contents of the
   place may be run (vm_trace.c, postponed_job_register). So each place is filled once, with what may be run at any time. */
static void do_nothing(void *unused_data) { (void)unused_data; }

static void ask_for_job(void) { rb_postponed_job_register_one(0, slice_over, NULL); }

/* YJIT throws away all that it has compiled when a hook is added for any event a TracePoint may have (vm_trace.c, update_global_event_hook), and does not compile it
   again: that is dearer than ends of slices that come later. */
static bool yjit;

static bool may_follow(void) { return !yjit; }

static void prepare_job(void) {
    yjit = RTEST(rb_eval_string("defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?"));
    while (rb_postponed_job_register(0, do_nothing, NULL) == 1) {
    }
    rb_thread_check_ints();
}
#endif

/* --- The ticker's look --- */

static int64_t look_at_lock(nb_slices *slices, uint32_t lock, int64_t now_ns) {
    if (lock != slices->lock_seen) {
        slices->lock_seen = lock;
        slices->lock_seen_ns = now_ns;
    } else if (now_ns - slices->lock_seen_ns >= NB_CUT_NS / 2) {
        slices->contended_ns = now_ns;
        ask_for_job();
    }
    return now_ns + NB_CUT_NS;
}

/* A thread from which Ruby has taken the lock, in a fiber or between two, tells nobody that it waits for it. */
static void look_at_thread(nb_slices *slices, int64_t now_ns) {
    if (!slices->clocked) return;
    int64_t ran_ns = nb_thread_ran_ns(slices->clock);
    if (ran_ns != slices->ran_seen_ns) {
        slices->ran_seen_ns = ran_ns;
        slices->still_ns = now_ns;
    } else if (now_ns - slices->still_ns >= NB_CUT_NS / 2 && now_ns - slices->still_ns < NB_STILL_NS) {
        slices->contended_ns = now_ns;
        ask_for_job();
    }
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

/* Of the last question, as far as is known. */
static bool was_put_off(const nb_slices *slices) { return slices->kept != slices->kept_seen; }

static int64_t again_ns(const nb_slices *slices) {
    return was_put_off(slices) ? smaller(NB_AGAIN_NS * (1 + slices->again / NB_AGAIN_COUNT), NB_CUT_NS) : NB_CUT_NS;
}

static int64_t answer_ns(const nb_slices *slices, int64_t now_ns) {
    bool lately = slices->put_off_ns != 0 && now_ns - slices->put_off_ns < NB_PUT_OFF_NS;
    return lately ? NB_AGAIN_NS : NB_CUT_NS;
}

/* The first look after a question is for its answer. */
static int64_t ask_for_end(nb_slices *slices, int64_t switched_ns, int64_t now_ns) {
    bool same = slices->stint_ns == switched_ns;
    if (was_put_off(slices)) slices->put_off_ns = now_ns;
    if (same && now_ns < slices->asked_ns + again_ns(slices)) return slices->asked_ns + again_ns(slices);
    slices->again = same && was_put_off(slices) ? slices->again + 1 : 0;
    slices->stint_ns = switched_ns;
    slices->asked_ns = now_ns;
    slices->kept_seen = slices->kept;
    ask_for_job();
    return now_ns + answer_ns(slices, now_ns);
}

static bool is_readable(int fd) {
    struct pollfd looked_at = {.fd = fd, .events = POLLIN};
    return poll(&looked_at, 1, 0) > 0;
}

static int64_t look_at_fiber(nb_slices *slices, int64_t now_ns, int *fd) {
    int64_t switched_ns = slices->switched_ns, until_ns = slices->quiet_until_ns;
    /* Between two fibers for long, as in a collection, it is to be looked at all the same: a loop that has not slept goes on without a word to the ticker. */
    if (switched_ns == 0) return slices->asleep ? NB_TICKER_NEVER : now_ns + NB_TICKER_IDLE_NS;
    if (slices->forced) {
        ask_for_job();
        return now_ns;
    }
    if (until_ns > now_ns && !is_readable(slices->descriptor)) {
        *fd = slices->descriptor;
        return until_ns;
    }
    int64_t due_ns = switched_ns + (slices->cut_before ? NB_CUT_NS : slices->slice_ns);
    return due_ns > now_ns ? due_ns : ask_for_end(slices, switched_ns, now_ns);
}

static bool is_cut_seen(nb_slices *slices, int64_t now_ns) {
    uint64_t cuts = slices->cuts;
    if (slices->cut_before || cuts != slices->cuts_seen) slices->cut_seen_ns = now_ns;
    slices->cuts_seen = cuts;
    return slices->cut_seen_ns != 0 && now_ns - slices->cut_seen_ns < NB_CUT_SEEN_NS;
}

static int64_t look(void *owner, int64_t now_ns, int *fd) {
    nb_slices *slices = owner;
    uint32_t lock = slices->lock;
    if (lock & 1) return look_at_lock(slices, lock, now_ns);
    if (!slices->asleep) look_at_thread(slices, now_ns);
    int64_t next_ns = look_at_fiber(slices, now_ns, fd);
    bool contended = slices->contended_ns != 0 && now_ns - slices->contended_ns < NB_CONTENDED_NS;
    bool soon = (is_cut_seen(slices, now_ns) && *fd < 0) || contended;
    return soon && next_ns > now_ns + NB_CUT_NS ? now_ns + NB_CUT_NS : next_ns;
}

/* --- Work that waits --- */

/* As far as it can be seen from another thread, too: by all but the descriptors. */
static bool work_is_seen(const nb_scheduler *scheduler) {
    if (!nb_list_empty(&scheduler->ready) || !nb_list_empty(&scheduler->pass) || nb_inbox_pending(scheduler))
        return true;
    if (nb_timers_next_ns(&scheduler->timers) <= nb_clock_monotonic_ns()) return true;
    return scheduler->attached && scheduler->source.waits && scheduler->source.waits(scheduler->source.owner);
}

bool nb_slices_work_waits(nb_scheduler *scheduler) {
    if (work_is_seen(scheduler)) return true;
    return scheduler->poll && nb_loop_poll(scheduler) && !nb_list_empty(&scheduler->ready);
}

static bool source_starves(const nb_scheduler *scheduler) {
    return scheduler->attached && scheduler->source.starves && scheduler->source.starves(scheduler->source.owner);
}

static int64_t quiet_until_ns(const nb_slices *slices, int64_t now_ns) {
    const nb_scheduler *scheduler = slices->scheduler;
    int64_t until_ns = now_ns + (slices->allocates ? NB_CUT_NS : smaller(slices->slice_ns, NB_QUIET_NS));
    if (!nb_list_empty(&scheduler->cut)) until_ns = smaller(until_ns, slices->switched_ns + slices->slice_ns);
    return smaller(until_ns, nb_timers_next_ns(&scheduler->timers));
}

/* Right after nb_slices_work_waits, which has read what the poller knew; what is read later keeps it readable. What came before the source watched is seen here. */
static bool begin_quiet(nb_slices *slices, int64_t now_ns) {
    nb_scheduler *scheduler = slices->scheduler;
    int fd = scheduler->poll ? nb_poll_descriptor(scheduler->poll) : -1;
    if (fd < 0) return false;
    bool watches = scheduler->attached && scheduler->source.watch;
    if (watches) scheduler->source.watch(scheduler->source.owner, true);
    if (work_is_seen(scheduler) || source_starves(scheduler) || !nb_list_empty(&scheduler->overdue)) {
        if (watches) scheduler->source.watch(scheduler->source.owner, false);
        return false;
    }
    atomic_store_explicit(&slices->descriptor, fd, memory_order_relaxed);
    atomic_store_explicit(&slices->quiet_until_ns, quiet_until_ns(slices, now_ns), memory_order_release);
    return true;
}

static void end_quiet(nb_slices *slices) {
    const nb_scheduler *scheduler = slices->scheduler;
    if (slices->quiet_until_ns == 0) return;
    atomic_store_explicit(&slices->quiet_until_ns, 0, memory_order_relaxed);
    if (scheduler->attached && scheduler->source.watch) scheduler->source.watch(scheduler->source.owner, false);
}

void nb_slices_work_comes(nb_slices *slices) {
    if (slices->quiet_until_ns == 0) return;
    end_quiet(slices);
    nb_ticker_ring();
}

/* --- What the loop tells --- */

void nb_slices_switch(nb_slices *slices, int64_t now_ns, bool cut) {
    end_quiet(slices);
    slices->gc_known = !cut && !nb_list_empty(&slices->scheduler->cut);
    if (slices->gc_known) slices->gc_ms = nb_gc_ms();
    atomic_store_explicit(&slices->cut_before, cut, memory_order_relaxed);
    atomic_store_explicit(&slices->switched_ns, now_ns, memory_order_relaxed);
    if (cut && !begin_quiet(slices, now_ns)) nb_ticker_ring();
}

void nb_slices_rest(nb_slices *slices) { atomic_store_explicit(&slices->switched_ns, 0, memory_order_relaxed); }

static void lock_turn(nb_slices *slices, uint32_t odd) {
    uint32_t lock = atomic_load_explicit(&slices->lock, memory_order_relaxed);
    if ((lock & 1) != odd) atomic_store_explicit(&slices->lock, lock + 1, memory_order_relaxed);
}

void nb_slices_sleep(nb_slices *slices) { atomic_store_explicit(&slices->asleep, true, memory_order_relaxed); }
void nb_slices_want_lock(nb_slices *slices) { lock_turn(slices, 1); }

void nb_slices_have_lock(nb_slices *slices) {
    atomic_store_explicit(&slices->asleep, false, memory_order_relaxed);
    lock_turn(slices, 0);
}

/* --- The end of a slice --- */

/* Not what was collected meanwhile, beside one that was cut: that is for the most part of what that one has made, and another that happens to meet it is not to
   wait behind it for that. */
static int64_t ran_ns(const nb_slices *slices) {
    int64_t collected_ns = slices->gc_known ? (int64_t)(nb_gc_ms() - slices->gc_ms) * NB_NS_PER_MS : 0;
    return nb_clock_monotonic_ns() - slices->switched_ns - collected_ns;
}

/* What a limit raises, and could not when it was due, as another interrupt of Ruby came first. */
static bool is_overdue(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->overdue)) return false;
    return nb_timeout_overdue(scheduler, rb_fiber_current(), nb_root_now(scheduler)) != NULL;
}

/* Its time is over and others wait for theirs: fibers that have waited for something after a millisecond, if the fiber has had a whole first slice
   before; those whose slice has ended after a slice. Or it is to be ended itself. */
static bool is_over(nb_scheduler *scheduler, int64_t first_ns) {
    nb_slices *slices = scheduler->slices;
    int64_t ran = ran_ns(slices);
    if (ran < (slices->cut_before ? NB_CUT_NS : first_ns)) return false;
    if (is_overdue(scheduler)) return true;
    if (ran >= slices->slice_ns && !nb_list_empty(&scheduler->cut)) return true;
    if (nb_slices_work_waits(scheduler) || source_starves(scheduler)) return true;
    begin_quiet(slices, nb_clock_monotonic_ns());
    return false;
}

static VALUE sleeps_or_is_sent(VALUE thread) {
    VALUE sleeps = rb_funcall(thread, rb_intern("stop?"), 0);
    return RTEST(sleeps) ? sleeps : rb_funcall(thread, rb_intern("pending_interrupt?"), 0);
}

/* Is the fiber in the middle of a wait of Ruby's own that no hook knows, as for a constant that another thread is loading (3.1: variable.c, autoload_sleep)? What the thread's state
   says is of that fiber, and another that waits so would leave it asleep (thread.c, sleep_forever). Or was it sent something that Ruby has taken together with the job, which it runs
   first (thread.c, rb_threadptr_execute_interrupts)? The flag is down, and whoever runs next would have it. What is sent during these calls would be raised in the job, which
   swallows it: it is sent again. That these calls have found no room on the stack is not told: the fiber finds that itself. */
static bool is_rubys(nb_scheduler *scheduler) {
    int tag = 0;
    VALUE answer = rb_protect(sleeps_or_is_sent, rb_thread_current(), &tag);
    if (tag == 0) return RTEST(answer);
    VALUE sent = rb_errinfo();
    rb_set_errinfo(Qnil);
    if (RTEST(rb_obj_is_kind_of(sent, rb_eSysStackError)) || RTEST(rb_obj_is_kind_of(sent, rb_eNoMemError)))
        return true;
    bool raised = RTEST(rb_obj_is_kind_of(sent, rb_eException));
    if (!nb_interrupt_self(raised ? rb_ary_new_from_args(1, sent) : Qnil) && raised) nb_wait_defer(scheduler, sent);
    return true;
}

/* The main thread's fibers may be in a trap handler, which nothing tells. A blocking fiber waits without the hooks for what a fiber that was
   cut may hold; one in the table is on its way into a wait or out of it. */
static bool stays(nb_scheduler *scheduler) {
    if (!scheduler->switched || scheduler->uncut > 0 || scheduler->masked || nb_hold_now(scheduler)) return true;
    if (NIL_P(rb_fiber_scheduler_current()) || rb_thread_current() == rb_thread_main()) return true;
    VALUE fiber = rb_fiber_current();
    if (fiber == scheduler->loop || fiber == scheduler->starter) return true;
    return nb_parked_find(&scheduler->parked, fiber) != NULL || is_rubys(scheduler);
}

static nb_place place(nb_scheduler *scheduler) { return stays(scheduler) ? NB_PLACE_STAYS : nb_frames_place(); }

/* Ruby tells of a switch right after the look for interrupts in it (cont.c, fiber_switch), which is where the job has met it, and before anything else may happen. */
static void after_switch(rb_event_flag_t event, VALUE data, VALUE self, ID method, VALUE klass) {
    (void)event, (void)data, (void)self, (void)method, (void)klass;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler == NULL || scheduler->slices == NULL) {
        rb_thread_remove_event_hook(rb_thread_current(), after_switch);
        return;
    }
    scheduler->slices->arrived = rb_fiber_current();
    ask_for_job();
}

/* From now until the next job, as each switch pays for being told of. */
static void follow_switches(nb_slices *slices) {
    if (slices->follows || !may_follow()) return;
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

/* A fiber that was just switched to has not taken yet what it was given, but will have when it next looks for interrupts: the frame of what has switched, in C, is still
   there. */
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
    end_quiet(scheduler->slices);
    scheduler->slices->cuts++;
    if (scheduler->attached && scheduler->source.cut) scheduler->source.cut(scheduler->source.owner);
    nb_wait_cut(scheduler);
}

/* What a limit of the running fiber raises is raised here, or where this cannot be, in its next wait. */
static void raise_overdue(nb_scheduler *scheduler) {
    if (nb_list_empty(&scheduler->overdue) || stays(scheduler)) return;
    nb_late *late = nb_timeout_overdue(scheduler, rb_fiber_current(), nb_root_now(scheduler));
    if (late && nb_interrupt_self(late->raises)) nb_list_remove(&late->link);
}

/* What Thread#raise has brought to this thread comes first, and to the fiber that runs. */
static void end_slice(nb_scheduler *scheduler) {
    nb_slices *slices = scheduler->slices;
    VALUE arrived = take_arrived(slices);
    if (slices->switched_ns == 0 || rb_thread_interrupted(rb_thread_current())) return;
    slices->allocates = nb_heap_computes(scheduler);
    if (!slices->forced && !is_over(scheduler, slices->slice_ns)) return;
    if (!may_end(scheduler, arrived)) {
        slices->kept++;
        return;
    }
    slices->forced = false;
    leave(scheduler);
    if (scheduler->slices == slices) raise_overdue(scheduler);
}

/* --- Ruby's lock, kept by another thread --- */

void nb_slices_begin(nb_slices *slices) {
    slices->clocked = nb_thread_clock(pthread_self(), &slices->clock);
    nb_slices_have_lock(slices);
    nb_ticker_stir();
}

static void nap(void) {
    struct timespec step = {0, NB_GIVE_STEP_NS};
    nanosleep(&step, NULL);
}

static bool has_run(const nb_slices *slices) {
    return slices->clocked && nb_thread_ran_ns(slices->clock) != slices->ran_ns;
}

typedef struct give_call {
    const nb_slices *slices;
    uint32_t lock; /* as it was; even: the thread was in the middle of a fiber */
    bool taken;
} give_call;

static void *until_taken(void *argument) {
    give_call *call = argument;
    const nb_slices *slices = call->slices;
    for (int64_t waited_ns = 0; waited_ns < NB_GIVE_NS && !call->taken; waited_ns += NB_GIVE_STEP_NS) {
        nap();
        call->taken = call->lock & 1 ? slices->lock != call->lock : has_run(slices);
    }
    return NULL;
}

/* Not by rb_thread_schedule, which lets a Thread#kill act: in a job of Ruby 3.1 that would be swallowed. */
static bool give_lock_to(nb_slices *slices) {
    give_call call = {slices, slices->lock, false};
    slices->given++;
    if (slices->clocked) slices->ran_ns = nb_thread_ran_ns(slices->clock);
    rb_nogvl(until_taken, &call, NULL, NULL, RB_NOGVL_INTR_FAIL);
    return call.taken;
}

/* The thread is awake and does not have the lock. Between two fibers, and in one that has not had its slice, it is to have it at once; in one that computes when
   others wait, else after a slice. The fiber may sit in a call without the lock as well, which nothing tells: then it is not taken, and not offered again for a slice. */
static bool is_due(nb_slices *slices, int64_t now_ns) {
    int64_t switched_ns = slices->switched_ns;
    if (slices->asleep || now_ns - slices->given_ns < slices->slice_ns) return false;
    if (slices->idle_ns < switched_ns || has_run(slices)) {
        slices->idle_ns = now_ns;
        if (slices->clocked) slices->ran_ns = nb_thread_ran_ns(slices->clock);
    }
    if (switched_ns == 0 || slices->idle_ns - switched_ns < slices->slice_ns) return true;
    return now_ns - slices->idle_ns >= slices->slice_ns || work_is_seen(slices->scheduler) ||
           source_starves(slices->scheduler);
}

static void give_lock(void) {
    int64_t now_ns = nb_clock_monotonic_ns();
    for (nb_slices *slices = in_use; slices; slices = slices->next) {
        if (slices->lock & 1) {
            give_lock_to(slices);
            return;
        }
        if (!is_due(slices, now_ns)) continue;
        if (!give_lock_to(slices)) slices->given_ns = now_ns;
        return;
    }
}

static void slice_over(void *unused_data) {
    (void)unused_data;
    int error = errno;
    nb_scheduler *scheduler = nb_scheduler_of_thread();
    if (scheduler && scheduler->slices) {
        end_slice(scheduler);
    } else {
        give_lock();
    }
    errno = error;
}

/* --- Opening and closing --- */

static nb_slices *slices_new(void) {
    nb_slices *slices = unused;
    if (slices) {
        unused = slices->next;
    } else {
        slices = nb_alloc_zero(1, sizeof *slices);
    }
    if (slices == NULL) rb_memerror();
    return slices;
}

void nb_slices_open(nb_scheduler *scheduler, int64_t slice_ns) {
    if (scheduler->slices) {
        scheduler->slices->slice_ns = slice_ns;
        return;
    }
    nb_slices *slices = slices_new();
    nb_interrupt_prepare();
    uint32_t lock = slices->lock;
    *slices = (nb_slices){.next = in_use,
                          .scheduler = scheduler,
                          .slice_ns = slice_ns,
                          .lock = lock & ~UINT32_C(1),
                          .asleep = true,
                          .arrived = Qnil};
    in_use = slices;
    scheduler->slices = slices;
    if (!NIL_P(scheduler->loop)) nb_slices_begin(slices);
    if (nb_ticker_add(look, slices, NB_TICKER_IDLE_NS)) return;
    nb_slices_close(scheduler);
    rb_raise(rb_path2class("NeverBlock::Error"),
             "there is no thread to be had for time slices: see `ulimit -u`, or set cooperative true");
}

/* In the child of a fork too, where the ticker has none of it. */
void nb_slices_close(nb_scheduler *scheduler) {
    nb_slices *slices = scheduler->slices;
    if (slices == NULL) return;
    scheduler->slices = NULL;
    nb_heap_let_collect(scheduler);
    nb_ticker_remove(look, slices);
    nb_slices **link = &in_use;
    while (*link != slices)
        link = &(*link)->next;
    *link = slices->next;
    slices->next = unused;
    unused = slices;
}

void nb_scheduler_slice(VALUE self, unsigned slice_ms) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    if (slice_ms > 0) {
        nb_slices_open(scheduler, slice_ms * NB_NS_PER_MS);
    } else {
        nb_slices_close(scheduler);
        if (in_use == NULL) nb_interrupt_end();
    }
}

bool nb_scheduler_has_cut(VALUE self) { return !nb_list_empty(&nb_scheduler_get(self)->cut); }

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

/* quiet?: nobody waits for the running fiber's time, and nobody looks whether somebody does until something comes. */
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
    if (is_over(scheduler, smaller(first_ns, scheduler->slices->slice_ns))) leave(scheduler);
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

/* A fork in the block has set both to nothing, and a fiber that has ended in it may have left more. */
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

void nb_scheduler_slice_define(VALUE klass, VALUE module) {
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
    prepare_job();
}
