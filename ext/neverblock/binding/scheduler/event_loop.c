/*
 * event_loop.c - the loop: what the source has brought, one pass over the fibers that are ready, due timers, descriptors, sleep.
 *
 * A pass works off a snapshot of the ready queue; what becomes ready meanwhile runs in the next, so that timers and descriptors
 * have their turn however busy the fibers are. Ruby's lock is released only to sleep, with nothing ready.
 */
#include "binding/state/state.h"

#include "base/assert.h"
#include "os/clock.h"
#include "binding/base/ticker.h"

#include <pthread.h>
#include <ruby/thread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define NB_COOKIE_WAKE UINT64_MAX
#define NB_COOKIE_SOURCE (UINT64_MAX - 1)
/* A loop that never sleeps proves a kept registration after this time: so late is a fiber at most whose
   descriptor was closed and given out again unheard. */
#define NB_TRUST_NS (50 * NB_NS_PER_MS)
/* Work that comes all the time keeps a fiber whose slice has ended from going on for so long at most. */
#define NB_CUT_WAITS_NS (10 * NB_NS_PER_MS)
/* A thread that leaves the poller at a signal is out of it by the next; for a second at most, on a machine that stands still. */
#define SIGNAL_EVERY_NS (NB_NS_PER_MS / 10)
#define SIGNALS_MAX 10000

/* Loops that share the lock, have slept, and wait for it. */
static _Atomic uint32_t lock_wanted;

/* In a fork's child there is no other. */
void nb_loop_forget_others(void) { atomic_store_explicit(&lock_wanted, 0, memory_order_relaxed); }

typedef struct loop_sleep_call {
    nb_scheduler *scheduler;
    int64_t timeout_ns;
    int64_t until_ns; /* when that has passed; INT64_MAX: never */
    bool with_source;
    bool shares_lock;
    bool woken;
    size_t count;
    nb_poll_event events[NB_POLL_EVENTS_MAX];
} loop_sleep_call;

int64_t nb_loop_clock(nb_scheduler *scheduler) {
    scheduler->now_ns = nb_clock_monotonic_ns();
    scheduler->now_fresh = true;
    return scheduler->now_ns;
}

int64_t nb_loop_now(nb_scheduler *scheduler) {
    return scheduler->now_fresh ? scheduler->now_ns : nb_loop_clock(scheduler);
}

static void stamp(nb_scheduler *scheduler, int64_t time_ns) {
    if (!scheduler->attached || scheduler->source.switched_ns == NULL) return;
    atomic_store_explicit(scheduler->source.switched_ns, time_ns, memory_order_relaxed);
    if (scheduler->source.parked == NULL) return;
    atomic_store_explicit(scheduler->source.parked, (uint32_t)scheduler->parked.count, memory_order_relaxed);
    atomic_store_explicit(scheduler->source.ready, (uint32_t)scheduler->ready_count, memory_order_relaxed);
}

int64_t nb_scheduler_now(VALUE self) { return nb_loop_now(nb_scheduler_get(self)); }
int64_t nb_scheduler_clock(VALUE self) { return nb_loop_clock(nb_scheduler_get(self)); }

/* --- Switching --- */

/* A fiber that ends returns to the root of Ruby's resume chain, which is not this fiber when a fiber runs the loop below another's. */
static void transfer_to(nb_scheduler *scheduler, VALUE fiber) {
    VALUE loop = scheduler->loop;
    scheduler->parks = false;
    nb_transfer_to(scheduler, fiber);
    while (scheduler->loop != loop)
        rb_fiber_transfer(scheduler->loop, 0, NULL);
}

static void resume_wait(nb_wait *wait) {
    nb_list_remove(&wait->link);
    nb_wait_uncount(wait);
    nb_timers_disarm(&wait->scheduler->timers, &wait->alarm.timer);
    wait->state = NB_RESUMED;
}

void nb_loop_switch(nb_scheduler *scheduler, VALUE fiber, nb_wait *wait) {
    if (scheduler->attached) stamp(scheduler, nb_loop_now(scheduler));
    if (scheduler->slices)
        nb_slices_switch(scheduler->slices, nb_loop_now(scheduler), wait && wait->kind == NB_WAIT_CUT);
    if (wait) resume_wait(wait);
    if (fiber == scheduler->loop) return;

    VALUE target = wait ? fiber : nb_start_by(scheduler, fiber);
    scheduler->now_fresh = false;
    scheduler->went_on = false;
    scheduler->switches++;
    scheduler->root = wait ? wait->root : fiber;
    scheduler->switched = true;
    scheduler->resumes = NULL;
    if (!wait) nb_scheduler_forget_status();
    transfer_to(scheduler, target);
    while (!nb_list_empty(&scheduler->spawners)) {
        nb_wait *spawner = NB_LIST_ENTRY(scheduler->spawners.previous, nb_wait, link);
        resume_wait(spawner);
        scheduler->root = spawner->root;
        scheduler->resumes = NULL;
        transfer_to(scheduler, spawner->fiber);
    }
    scheduler->switched = false;
    if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    nb_start_check(scheduler);
}

typedef struct protected_switch {
    nb_scheduler *scheduler;
    VALUE fiber;
    nb_wait *wait;
} protected_switch;

static VALUE switch_body(VALUE argument) {
    protected_switch *call = (protected_switch *)argument;
    nb_loop_switch(call->scheduler, call->fiber, call->wait);
    return Qnil;
}

void nb_scheduler_switch_to(VALUE self, VALUE fiber) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_wait *wait = nb_parked_find(&scheduler->parked, fiber);
    NB_ASSERT(wait == NULL || (wait->kind == NB_WAIT_PARK && wait->state != NB_RESUMED));
    NB_ASSERT(!scheduler->switched);

    protected_switch call = {scheduler, fiber, wait};
    int tag = 0;
    rb_protect(switch_body, (VALUE)&call, &tag);
    if (tag != 0) tag = nb_transfer_raised(scheduler, tag);
    scheduler->switched = false;
    if (tag != 0) scheduler->pending_tag = tag;
}

bool nb_scheduler_take_want(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    VALUE error = rb_errinfo();
    if (scheduler->pending_tag == 0) return false;
    if (!rb_obj_is_kind_of(error, rb_path2class("FiberError")) && !rb_obj_is_kind_of(error, rb_eNoMemError))
        return false;
    scheduler->pending_tag = 0;
    return true;
}

VALUE nb_scheduler_root(VALUE self) { return nb_root_now(nb_scheduler_get(self)); }

void nb_scheduler_stamp(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    stamp(scheduler, nb_loop_clock(scheduler));
    if (scheduler->slices) nb_slices_switch(scheduler->slices, scheduler->now_ns, false);
    scheduler->now_fresh = false;
}

/* The tag's error info is still this fiber's: nothing but drain has run in it since. */
static void raise_pending(nb_scheduler *scheduler) {
    int tag = scheduler->pending_tag;
    if (tag == 0) return;
    scheduler->pending_tag = 0;
    rb_jump_tag(tag);
}

static void run_pass(nb_scheduler *scheduler, const nb_wait *until) {
    nb_list_append_all(&scheduler->pass, &scheduler->ready);
    while (!nb_list_empty(&scheduler->pass)) {
        nb_wait *wait = NB_LIST_ENTRY(scheduler->pass.next, nb_wait, link);
        nb_loop_switch(scheduler, wait->fiber, wait);
        if (until && until->state != NB_WAITING) return;
    }
}

/* --- Timers and descriptors --- */

void nb_loop_expire(nb_scheduler *scheduler) {
    if (scheduler->timers.count == 0) return;
    int64_t now_ns = nb_loop_now(scheduler);
    nb_timer *timer;
    while ((timer = nb_timers_expire(&scheduler->timers, now_ns)) != NULL) {
        nb_alarm *alarm = NB_LIST_ENTRY(timer, nb_alarm, timer);
        alarm->fire(scheduler, alarm);
    }
}

static void deliver(nb_scheduler *scheduler, const nb_poll_event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (events[i].cookie == NB_COOKIE_WAKE) {
            nb_wake_clear(&scheduler->wake);
        } else if (events[i].cookie != NB_COOKIE_SOURCE) {
            nb_descriptors_deliver(scheduler, &events[i]);
        }
    }
}

bool nb_loop_poll(nb_scheduler *scheduler) {
    nb_poll_event events[NB_POLL_EVENTS_MAX];
    size_t count = 0;
    scheduler->polled_ns = nb_loop_now(scheduler);
    if (nb_poll_wait(scheduler->poll, events, NB_POLL_EVENTS_MAX, 0, &count) != NB_OK) return false;
    deliver(scheduler, events, count);
    bool sound = nb_descriptors_prove(scheduler, scheduler->polled_ns - NB_TRUST_NS);
    return count > 0 || !sound;
}

/* --- Sleep --- */

static int64_t left_ns(const loop_sleep_call *call) {
    if (call->until_ns == INT64_MAX) return -1;
    int64_t left = call->until_ns - nb_clock_monotonic_ns();
    return left > 0 ? left : 0;
}

/* Any signal ends the system call, such as SIGCONT or one that Ruby has the main thread see to. Whoever came back for that would want Ruby's lock, take it from a fiber that computes, and sleep
   again. */
static void wait_in_poller(loop_sleep_call *call) {
    const nb_scheduler *scheduler = call->scheduler;
    for (int64_t timeout_ns = call->timeout_ns;; timeout_ns = left_ns(call)) {
        if (nb_poll_wait(scheduler->poll, call->events, NB_POLL_EVENTS_MAX, timeout_ns, &call->count) != NB_OK) {
            call->count = 0;
            return;
        }
        if (call->count > 0 || timeout_ns == 0) return;
        if (atomic_load_explicit(&scheduler->signaled, memory_order_acquire)) return;
    }
}

static void sleep_without_lock(loop_sleep_call *call) {
    nb_scheduler_source *source = &call->scheduler->source;
    nb_source_wait waited = NB_SOURCE_CANNOT;
    if (call->with_source && source->wait) waited = source->wait(source->owner, call->timeout_ns);
    if (waited == NB_SOURCE_WAITED) return;
    if (waited == NB_SOURCE_CALLED) call->timeout_ns = 0;
    wait_in_poller(call);
}

static void *sleep_body(void *argument) {
    loop_sleep_call *call = argument;
    sleep_without_lock(call);
    atomic_store_explicit(&call->scheduler->asleep, false, memory_order_release);
    if (call->shares_lock) atomic_fetch_add_explicit(&lock_wanted, 1, memory_order_relaxed);
    call->woken = true;
    if (call->scheduler->slices) nb_slices_want_lock(call->scheduler->slices);
    return NULL;
}

/* Ruby ends its own waits by this signal too. One that comes before the sleeper's system call is lost, so it is sent until the sleeper has left that. */
static void signal_sleeper(nb_scheduler *scheduler) {
    const struct timespec pause = {.tv_nsec = SIGNAL_EVERY_NS};
    for (int i = 0; i < SIGNALS_MAX && atomic_load_explicit(&scheduler->asleep, memory_order_acquire); i++) {
        atomic_store_explicit(&scheduler->signaled, true, memory_order_release);
        pthread_kill(scheduler->sleeper, SIGVTALRM);
        nanosleep(&pause, NULL);
    }
}

/* An application that has closed all descriptors of its process has closed this one. */
void nb_loop_rouse(nb_scheduler *scheduler) {
    if (!nb_wake_signal(&scheduler->wake)) signal_sleeper(scheduler);
}

static void sleep_interrupt(void *scheduler) { nb_loop_rouse(scheduler); }

void nb_loop_wake(nb_scheduler *scheduler) {
    scheduler->sleeping = false;
    nb_loop_rouse(scheduler);
}

/* Where collections are put off, and nothing is due before they are to come again. */
static bool bound_by_heap(const nb_scheduler *scheduler, loop_sleep_call *call) {
    if (!nb_heap_waits(scheduler) || (call->timeout_ns >= 0 && call->timeout_ns <= NB_HEAP_WAITS_NS)) return false;
    call->timeout_ns = NB_HEAP_WAITS_NS;
    call->until_ns = nb_clock_monotonic_ns() + NB_HEAP_WAITS_NS;
    return true;
}

/* Interrupts (signals, Thread#raise) that are pending make rb_nogvl return at once, later ones call sleep_interrupt, whose signal stays
   in the wake descriptor until it is polled: between the check and the sleep none is lost. The turn then lets them act. */
static void sleep_in_poller(nb_scheduler *scheduler, bool with_source) {
    loop_sleep_call call = {.scheduler = scheduler,
                            .timeout_ns = -1,
                            .until_ns = nb_timers_next_ns(&scheduler->timers),
                            .with_source = with_source};
    call.shares_lock = scheduler->attached && scheduler->source.shares_lock;
    if (call.until_ns != INT64_MAX) {
        int64_t now_ns = nb_loop_clock(scheduler);
        if (call.until_ns <= now_ns) return;
        call.timeout_ns = call.until_ns - now_ns;
    }

    bool heap_waits = bound_by_heap(scheduler, &call);
    if (!scheduler->switched) stamp(scheduler, 0); /* a fiber that holds the thread is seen to */
    if (!scheduler->switched && scheduler->slices) nb_slices_rest(scheduler->slices);
    if (scheduler->slices) nb_slices_sleep(scheduler->slices);
    scheduler->sleeper = pthread_self();
    scheduler->sleeping = true;
    atomic_store_explicit(&scheduler->signaled, false, memory_order_relaxed);
    atomic_store_explicit(&scheduler->asleep, true, memory_order_release);
    rb_nogvl(sleep_body, &call, sleep_interrupt, scheduler, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    if (call.woken && call.shares_lock) atomic_fetch_sub_explicit(&lock_wanted, 1, memory_order_relaxed);
    scheduler->sleeping = false;
    /* Where an interrupt was pending it has not been there. */
    atomic_store_explicit(&scheduler->asleep, false, memory_order_relaxed);
    scheduler->now_fresh = false;
    if (scheduler->slices) nb_slices_have_lock(scheduler->slices);
    if (scheduler->attached || scheduler->slices) nb_ticker_stir();
    if (heap_waits && nb_clock_monotonic_ns() >= call.until_ns) nb_heap_let_collect(scheduler);
    deliver(scheduler, call.events, call.count);
}

static void loop_sleep(nb_scheduler *scheduler, bool with_source) {
    nb_scheduler_open(scheduler);
    if (scheduler->watching > 0 && nb_loop_poll(scheduler)) return;
    if (!nb_descriptors_prove(scheduler, INT64_MAX)) return;
    if (!with_source) {
        if (!nb_inbox_pending(scheduler)) sleep_in_poller(scheduler, false);
        return;
    }
    if (!scheduler->source.prepare_sleep(scheduler->source.owner)) return;
    if (nb_list_empty(&scheduler->ready) && !nb_inbox_pending(scheduler)) sleep_in_poller(scheduler, true);
    if (scheduler->attached) scheduler->source.awake(scheduler->source.owner);
}

/* --- The loop --- */

static bool nothing_left(const nb_scheduler *scheduler) {
    if (scheduler->parked.count > 0 || !nb_list_empty(&scheduler->ready)) return false;
    return !scheduler->attached || scheduler->source.finished(scheduler->source.owner);
}

static void busy_poll(nb_scheduler *scheduler) {
    if (scheduler->watching == 0) return;
    if (nb_loop_now(scheduler) - scheduler->polled_ns >= NB_BUSY_POLL_NS) nb_loop_poll(scheduler);
}

/* While fibers are ready, or were cut, the loop never sleeps, and Ruby takes its lock away every 100 ms only: a thread that works for a fiber of ours, and
   needs the lock several times, would have it that often; so would another executor's loop. So it is offered after each turn. Any thread may take it then, and keep it for
   those 100 ms: the loop runs as long itself before it offers the lock again. */
static void lend_lock(nb_scheduler *scheduler) {
    int64_t run_ns = nb_clock_thread_ns();
    if (run_ns < scheduler->lend_ns) {
        rb_thread_check_ints();
        return;
    }
    int64_t began_ns = nb_clock_monotonic_ns();
    stamp(scheduler, 0);
    if (scheduler->slices) nb_slices_rest(scheduler->slices);
    if (scheduler->slices) nb_slices_want_lock(scheduler->slices);
    rb_thread_schedule();
    if (scheduler->slices) nb_slices_have_lock(scheduler->slices);
    scheduler->lend_ns = run_ns + (nb_loop_clock(scheduler) - began_ns);
}

static void let_others_run(nb_scheduler *scheduler) {
    bool lends = scheduler->lent > 0 && scheduler->ready_count > 0;
    if (lends || atomic_load_explicit(&lock_wanted, memory_order_relaxed) > 0) {
        lend_lock(scheduler);
    } else {
        rb_thread_check_ints();
    }
}

/* What waits goes first, and one that was cut goes on in each turn after that; but not later than a slice of time after the last. */
static void go_on_with_cut(nb_scheduler *scheduler) {
    int64_t now_ns = nb_loop_clock(scheduler);
    if (nb_slices_work_waits(scheduler) && now_ns - scheduler->cut_ns < NB_CUT_WAITS_NS) return;
    nb_wait *wait = NB_LIST_ENTRY(scheduler->cut.next, nb_wait, link);
    nb_loop_switch(scheduler, wait->fiber, wait);
    scheduler->cut_ns = nb_loop_now(scheduler);
}

static void run_turn(nb_scheduler *scheduler, const nb_wait *until) {
    bool with_source = scheduler->attached && until == NULL;
    bool fed = with_source && scheduler->source.drain(scheduler->source.owner);
    if (scheduler->pending_tag == 0) run_pass(scheduler, until);
    nb_heap_turn(scheduler);
    with_source = with_source && scheduler->attached;
    if (with_source) scheduler->source.turn_end(scheduler->source.owner);
    raise_pending(scheduler);

    nb_loop_expire(scheduler);
    if (nb_inbox_pending(scheduler)) nb_inbox_drain(scheduler);
    let_others_run(scheduler);

    if (until && until->state != NB_WAITING) return;
    if (!nb_list_empty(&scheduler->cut)) {
        go_on_with_cut(scheduler);
    } else if (!nb_list_empty(&scheduler->ready) || (fed && scheduler->watching > 0)) {
        busy_poll(scheduler);
    } else if (until || !nothing_left(scheduler)) {
        loop_sleep(scheduler, with_source);
    }
}

/* Who becomes ready meanwhile stays in the ready queue. */
void nb_loop_hold(nb_scheduler *scheduler, const nb_wait *wait) {
    for (;;) {
        nb_loop_expire(scheduler);
        if (nb_inbox_pending(scheduler)) nb_inbox_drain(scheduler);
        rb_thread_check_ints();
        if (wait->state != NB_WAITING) return;
        loop_sleep(scheduler, false);
    }
}

typedef struct run_call {
    nb_scheduler *scheduler;
    nb_wait *until;
    VALUE outer_loop, outer_root;
    bool outer_switched;
} run_call;

static VALUE run_turns(VALUE argument) {
    run_call *call = (run_call *)argument;
    nb_scheduler *scheduler = call->scheduler;
    if (call->until) {
        while (call->until->state == NB_WAITING)
            run_turn(scheduler, call->until);
        return Qnil;
    }
    do {
        run_turn(scheduler, NULL);
    } while (!nothing_left(scheduler));
    return Qnil;
}

/* Left by an exception or with its wait done, a pass may be unfinished: the rest goes first in the next. */
static void end_pass(nb_scheduler *scheduler) {
    nb_list_append_all(&scheduler->pass, &scheduler->ready);
    nb_list_append_all(&scheduler->ready, &scheduler->pass);
    nb_list_append_all(&scheduler->ready, &scheduler->spawners);
}

static VALUE run_body(VALUE argument) {
    nb_scheduler *scheduler = ((run_call *)argument)->scheduler;
    int tag = 0, left = 0;
    nb_list_append_all(&scheduler->ready, &scheduler->spawners);
    do {
        rb_protect(run_turns, argument, &tag);
        if (tag == 0) return Qnil;
        left = nb_transfer_raised(scheduler, tag);
        end_pass(scheduler);
        scheduler->switched = false;
    } while (left == 0);
    rb_jump_tag(left);
}

static VALUE run_end(VALUE argument) {
    run_call *call = (run_call *)argument;
    nb_scheduler *scheduler = call->scheduler;
    end_pass(scheduler);
    scheduler->loop = call->outer_loop;
    scheduler->switched = call->outer_switched;
    scheduler->root = call->outer_root;
    stamp(scheduler, 0);
    nb_heap_let_collect(scheduler);
    if (!scheduler->slices) return Qnil;
    nb_slices_rest(scheduler->slices);
    if (NIL_P(scheduler->loop)) nb_slices_sleep(scheduler->slices);
    return Qnil;
}

void nb_loop_run(nb_scheduler *scheduler, nb_wait *until) {
    run_call call = {.scheduler = scheduler,
                     .until = until,
                     .outer_loop = scheduler->loop,
                     .outer_root = scheduler->root,
                     .outer_switched = scheduler->switched};
    scheduler->loop = rb_fiber_current();
    scheduler->switched = false;
    if (scheduler->slices) nb_slices_begin(scheduler->slices);
    rb_ensure(run_body, (VALUE)&call, run_end, (VALUE)&call);
}

nb_status nb_loop_open(nb_scheduler *scheduler) {
    nb_status status = nb_wake_init(&scheduler->wake);
    if (status != NB_OK) return status;
    status = nb_poll_create(NULL, &scheduler->poll);
    if (status != NB_OK) return status;
    status = nb_poll_add(scheduler->poll, scheduler->wake.read_fd, NB_POLL_READ, NB_COOKIE_WAKE);
    return status == NB_OK && scheduler->attached ? nb_loop_watch_source(scheduler) : status;
}

nb_status nb_loop_watch_source(nb_scheduler *scheduler) {
    return nb_poll_add(scheduler->poll, scheduler->source.wake_fd, NB_POLL_READ | NB_POLL_EDGE, NB_COOKIE_SOURCE);
}

int nb_scheduler_poll_descriptor(VALUE self) {
    nb_scheduler *scheduler = nb_scheduler_get(self);
    nb_scheduler_open(scheduler);
    return nb_poll_descriptor(scheduler->poll);
}
