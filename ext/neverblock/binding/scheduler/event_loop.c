/*
 * event_loop.c - see event_loop.h.
 */
#include "binding/scheduler/event_loop.h"

#include <pthread.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <stdatomic.h>

#include "binding/base/forks.h"
#include "binding/base/process_watchdog.h"
#include "binding/fibers/root.h"
#include "binding/fibers/start.h"
#include "binding/fibers/transfer.h"
#include "binding/state/accounting.h"
#include "binding/state/loop_time.h"
#include "binding/state/object.h"
#include "binding/state/timeslice_state.h"
#include "binding/state/watches.h"
#include "os/clock.h"

/* Events taken from the poller at once; what is left comes with the next turn. */
#define NB_POLL_EVENTS_MAX 128
/* While fibers are ready the poller is asked this often: an I/O wake is at most this late behind
   CPU work. */
#define NB_BUSY_POLL_NS 50000
/* A loop that never sleeps proves a kept registration after this time: so late is a fiber at most
   whose descriptor was closed and given out again unheard. */
#define NB_TRUST_NS (50 * NB_NS_PER_MS)
/* Work that comes all the time keeps a preempted fiber from going on for so long at most. */
#define NB_PREEMPTED_WAITS_MAX_NS (10 * NB_NS_PER_MS)

typedef struct loop_sleep_call {
    nb_scheduler *scheduler;
    int64_t timeout_ns;
    int64_t until_ns; /* when that has passed; INT64_MAX: never */
    bool with_source;
    bool shares_gvl;
    bool woken;
    size_t count;
    nb_poll_event events[NB_POLL_EVENTS_MAX];
} loop_sleep_call;

void nb_event_loop_stamp(nb_scheduler *scheduler, int64_t time_ns) {
    if (!scheduler->attached || scheduler->source.switched_ns == NULL) return;
    atomic_store_explicit(scheduler->source.switched_ns, time_ns, memory_order_relaxed);
    if (scheduler->source.parked == NULL) return;
    atomic_store_explicit(scheduler->source.parked, (uint32_t)scheduler->parked.count, memory_order_relaxed);
    atomic_store_explicit(scheduler->source.ready, (uint32_t)scheduler->ready_count, memory_order_relaxed);
}

/* --- Switching --- */

/* A fiber that ends returns to the root of Ruby's resume chain, which is not this fiber when a
   fiber runs the loop below another's. */
static void transfer_to(nb_scheduler *scheduler, VALUE fiber) {
    VALUE loop = scheduler->loop_fiber;
    scheduler->parks = false;
    nb_transfer_to(scheduler, fiber);
    while (scheduler->loop_fiber != loop)
        rb_fiber_transfer(scheduler->loop_fiber, 0, NULL);
    if (!scheduler->parks) nb_accounting_fiber_ended(scheduler);
}

static void resume_wait(nb_wait *wait) {
    nb_list_remove(&wait->link);
    nb_wait_uncount(wait);
    nb_timers_disarm(&wait->scheduler->timers, &wait->alarm.timer);
    wait->state = NB_RESUMED;
}

void nb_event_loop_take(nb_wait *wait) {
    nb_scheduler *scheduler = wait->scheduler;
    if (nb_accounting(scheduler)) nb_accounting_passed(scheduler, nb_event_loop_clock(scheduler));
    resume_wait(wait);
    scheduler->now_fresh = false;
    scheduler->switches++;
}

void nb_event_loop_switch(nb_scheduler *scheduler, VALUE fiber, nb_wait *wait) {
    if (scheduler->attached) nb_event_loop_stamp(scheduler, nb_event_loop_now(scheduler));
    nb_accounting_switched(scheduler, scheduler->now_ns);
    if (scheduler->timeslices)
        nb_timeslices_switch(scheduler->timeslices, nb_event_loop_now(scheduler),
                             wait && wait->kind == NB_WAIT_PREEMPTED);
    if (wait) resume_wait(wait);
    if (fiber == scheduler->loop_fiber) return;

    VALUE target = wait ? fiber : nb_start_by(scheduler, fiber);
    scheduler->now_fresh = false;
    scheduler->went_on = false;
    scheduler->switches++;
    scheduler->root = wait ? wait->root : fiber;
    scheduler->switched = true;
    scheduler->resumes = NULL;
    if (!wait) {
        scheduler->preempt_disabled = 0;
        scheduler->resumed_in = (nb_resumed_in){0};
        nb_root_forget_status();
        scheduler->serving = (nb_serving){.record = NB_FIBER_NONE};
        scheduler->last_socket = (nb_socket_use){0};
    }
    transfer_to(scheduler, target);
    while (!nb_list_empty(&scheduler->spawners)) {
        nb_wait *spawner = NB_LIST_ENTRY(scheduler->spawners.previous, nb_wait, link);
        resume_wait(spawner);
        scheduler->root = spawner->root;
        scheduler->resumes = NULL;
        transfer_to(scheduler, spawner->fiber);
    }
    scheduler->switched = false;
    scheduler->last_socket = (nb_socket_use){0};
    if (scheduler->fork_generation != nb_fork_generation) nb_scheduler_forget(scheduler);
    nb_start_check(scheduler);
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
        nb_event_loop_switch(scheduler, wait->fiber, wait);
        if (until && until->state != NB_WAITING) return;
    }
}

/* --- Timers and descriptors --- */

static void deliver(nb_scheduler *scheduler, const nb_poll_event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (events[i].cookie == NB_COOKIE_WAKE) {
            nb_wake_clear(&scheduler->sleeper.wake);
        } else if (events[i].cookie != NB_COOKIE_SOURCE) {
            nb_watches_deliver(scheduler, &events[i]);
        }
    }
}

bool nb_event_loop_poll(nb_scheduler *scheduler) {
    nb_poll_event events[NB_POLL_EVENTS_MAX];
    size_t count = 0;
    scheduler->watches.polled_ns = nb_event_loop_now(scheduler);
    if (nb_poll_wait(scheduler->watches.poll, events, NB_POLL_EVENTS_MAX, 0, &count) != NB_OK) return false;
    deliver(scheduler, events, count);
    bool sound = nb_watches_prove(scheduler, scheduler->watches.polled_ns - NB_TRUST_NS);
    return count > 0 || !sound;
}

bool nb_event_loop_work_waits(nb_scheduler *scheduler) {
    if (nb_timeslices_work_is_seen(scheduler)) return true;
    return scheduler->watches.poll && nb_event_loop_poll(scheduler) && !nb_list_empty(&scheduler->ready);
}

static void drain_inbox(nb_scheduler *scheduler) {
    for (nb_parcel *parcel = nb_inbox_take(scheduler->inbox), *next; parcel; parcel = next) {
        next = parcel->next;
        parcel->arrived = true;
        if (parcel->wait) {
            nb_wait_wake(parcel->wait, NB_WOKEN);
        } else {
            parcel->abandoned(parcel);
        }
    }
}

/* --- Sleep --- */

static int64_t left_ns(const loop_sleep_call *call) {
    if (call->until_ns == INT64_MAX) return -1;
    int64_t left = call->until_ns - nb_clock_monotonic_ns();
    return left > 0 ? left : 0;
}

/* Any signal ends the system call, such as SIGCONT or one that the main thread handles. The loop
   sleeps on without the GVL: to take it for that would interrupt a fiber that computes. */
static void wait_in_poller(loop_sleep_call *call) {
    const nb_scheduler *scheduler = call->scheduler;
    for (int64_t timeout_ns = call->timeout_ns;; timeout_ns = left_ns(call)) {
        if (nb_poll_wait(scheduler->watches.poll, call->events, NB_POLL_EVENTS_MAX, timeout_ns, &call->count) !=
            NB_OK) {
            call->count = 0;
            return;
        }
        if (call->count > 0 || timeout_ns == 0) return;
        if (atomic_load_explicit(&scheduler->sleeper.signaled, memory_order_acquire)) return;
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
    atomic_store_explicit(&call->scheduler->sleeper.asleep, false, memory_order_release);
    if (call->shares_gvl) atomic_fetch_add_explicit(&nb_sleepers_want_gvl, 1, memory_order_relaxed);
    call->woken = true;
    if (call->scheduler->timeslices) nb_timeslices_want_gvl(call->scheduler->timeslices);
    return NULL;
}

static void sleep_interrupt(void *sleeper) { nb_sleeper_rouse(sleeper); }

/* Where collections are put off, and nothing is due before they are to come again. */
static bool bound_by_heap(const nb_scheduler *scheduler, loop_sleep_call *call) {
    if (!nb_heap_waits(&scheduler->heap) || (call->timeout_ns >= 0 && call->timeout_ns <= NB_HEAP_WAITS_NS))
        return false;
    call->timeout_ns = NB_HEAP_WAITS_NS;
    call->until_ns = nb_clock_monotonic_ns() + NB_HEAP_WAITS_NS;
    return true;
}

/* Interrupts (signals, Thread#raise) that are pending make rb_nogvl return at once, later ones call
   sleep_interrupt, whose signal stays in the wake descriptor until it is polled: between the check
   and the sleep none is lost. The turn then lets them act. */
static void sleep_in_poller(nb_scheduler *scheduler, bool with_source) {
    loop_sleep_call call = {.scheduler = scheduler,
                            .timeout_ns = -1,
                            .until_ns = nb_timers_next_ns(&scheduler->timers),
                            .with_source = with_source};
    call.shares_gvl = scheduler->attached && scheduler->source.shares_gvl;
    int64_t due_ns = with_source ? scheduler->source.due(scheduler->source.owner) : INT64_MAX;
    if (due_ns < call.until_ns) call.until_ns = due_ns;
    if (call.until_ns != INT64_MAX) {
        int64_t now_ns = nb_event_loop_clock(scheduler);
        if (call.until_ns <= now_ns) return;
        call.timeout_ns = call.until_ns - now_ns;
    }

    bool heap_waits = bound_by_heap(scheduler, &call);
    /* a pinned fiber counts as running */
    if (!scheduler->switched) nb_event_loop_stamp(scheduler, 0);
    if (!scheduler->switched && scheduler->timeslices) nb_timeslices_rest(scheduler->timeslices);
    if (scheduler->timeslices) nb_timeslices_sleep(scheduler->timeslices);
    scheduler->sleeper.thread = pthread_self();
    scheduler->sleeper.sleeping = true;
    atomic_store_explicit(&scheduler->sleeper.signaled, false, memory_order_relaxed);
    atomic_store_explicit(&scheduler->sleeper.asleep, true, memory_order_release);
    rb_nogvl(sleep_body, &call, sleep_interrupt, &scheduler->sleeper, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    if (call.woken && call.shares_gvl) atomic_fetch_sub_explicit(&nb_sleepers_want_gvl, 1, memory_order_relaxed);
    scheduler->sleeper.sleeping = false;
    /* Where an interrupt was pending it has not been there. */
    atomic_store_explicit(&scheduler->sleeper.asleep, false, memory_order_relaxed);
    scheduler->now_fresh = false;
    if (scheduler->timeslices) nb_timeslices_have_gvl(scheduler->timeslices);
    if (scheduler->attached || scheduler->timeslices) nb_process_watchdog_stir();
    if (heap_waits && nb_clock_monotonic_ns() >= call.until_ns) nb_heap_let_collect(&scheduler->heap);
    deliver(scheduler, call.events, call.count);
}

static void loop_sleep(nb_scheduler *scheduler, bool with_source) {
    nb_scheduler_open(scheduler);
    if (scheduler->watches.count > 0 && nb_event_loop_poll(scheduler)) return;
    if (!nb_watches_prove(scheduler, INT64_MAX)) return;
    if (!with_source) {
        if (!nb_inbox_pending(scheduler->inbox)) sleep_in_poller(scheduler, false);
        return;
    }
    if (!scheduler->source.prepare_sleep(scheduler->source.owner)) return;
    if (nb_list_empty(&scheduler->ready) && !nb_inbox_pending(scheduler->inbox)) sleep_in_poller(scheduler, true);
    if (scheduler->attached) scheduler->source.awake(scheduler->source.owner);
}

/* --- The loop --- */

static bool nothing_left(const nb_scheduler *scheduler) {
    if (scheduler->parked.count > 0 || !nb_list_empty(&scheduler->ready)) return false;
    return !scheduler->attached || scheduler->source.finished(scheduler->source.owner);
}

static void busy_poll(nb_scheduler *scheduler) {
    if (scheduler->watches.count == 0) return;
    if (nb_event_loop_now(scheduler) - scheduler->watches.polled_ns >= NB_BUSY_POLL_NS) nb_event_loop_poll(scheduler);
}

/* Releases the GVL for another thread, and takes it again. While fibers are ready or preempted the
   loop never sleeps, and Ruby takes its lock away every 100 ms only (TIME_QUANTUM_MSEC in
   thread.c). A thread that works for a fiber of ours, or another executor's loop, would have the
   lock that seldom, and may need it several times. So it is yielded after each turn. Any thread may
   take it then and keep it for those 100 ms: the loop runs for as long itself before it yields
   again. */
static void yield_lock(nb_scheduler *scheduler) {
    int64_t run_ns = nb_clock_thread_ns();
    if (run_ns < scheduler->yield_lock_ns) {
        rb_thread_check_ints();
        return;
    }
    int64_t began_ns = nb_clock_monotonic_ns();
    nb_event_loop_stamp(scheduler, 0);
    if (scheduler->timeslices) nb_timeslices_rest(scheduler->timeslices);
    if (scheduler->timeslices) nb_timeslices_want_gvl(scheduler->timeslices);
    rb_thread_schedule();
    if (scheduler->timeslices) nb_timeslices_have_gvl(scheduler->timeslices);
    scheduler->yield_lock_ns = run_ns + (nb_event_loop_clock(scheduler) - began_ns);
}

static void let_others_run(nb_scheduler *scheduler) {
    bool yields = scheduler->lock_yielders > 0 && scheduler->ready_count > 0;
    if (yields || atomic_load_explicit(&nb_sleepers_want_gvl, memory_order_relaxed) > 0) {
        yield_lock(scheduler);
    } else {
        rb_thread_check_ints();
    }
}

/* What waits goes first; then each turn goes on with one preempted fiber. It waits no longer than
   NB_PREEMPTED_WAITS_MAX_NS after the last one. */
static void resume_preempted(nb_scheduler *scheduler) {
    int64_t now_ns = nb_event_loop_clock(scheduler);
    if (nb_event_loop_work_waits(scheduler) && now_ns - scheduler->preempted_resumed_ns < NB_PREEMPTED_WAITS_MAX_NS)
        return;
    nb_wait *wait = NB_LIST_ENTRY(scheduler->preempted.next, nb_wait, link);
    nb_event_loop_switch(scheduler, wait->fiber, wait);
    scheduler->preempted_resumed_ns = nb_event_loop_now(scheduler);
}

/* The part of a turn before its sleep. True: the source had something. */
static bool run_ready(nb_scheduler *scheduler, const nb_wait *until) {
    bool with_source = scheduler->attached && until == NULL;
    bool fed = with_source && scheduler->source.drain(scheduler->source.owner);
    if (scheduler->pending_tag == 0) run_pass(scheduler, until);
    if (scheduler->pending_tag == 0)
        scheduler->pending_tag = nb_heap_turn(&scheduler->heap, scheduler->parked.count,
                                              !nb_list_empty(&scheduler->preempted));
    if (with_source && scheduler->attached) scheduler->source.turn_end(scheduler->source.owner);
    raise_pending(scheduler);

    nb_event_loop_expire(scheduler);
    if (nb_inbox_pending(scheduler->inbox)) drain_inbox(scheduler);
    let_others_run(scheduler);
    return fed;
}

static void run_turn(nb_scheduler *scheduler, const nb_wait *until) {
    bool fed = run_ready(scheduler, until);
    if (until && until->state != NB_WAITING) return;
    if (!nb_list_empty(&scheduler->preempted)) {
        resume_preempted(scheduler);
    } else if (!nb_list_empty(&scheduler->ready) || (fed && scheduler->watches.count > 0)) {
        busy_poll(scheduler);
    } else if (until || !nothing_left(scheduler)) {
        loop_sleep(scheduler, scheduler->attached && until == NULL);
    }
}

/* Fibers that become ready meanwhile stay in the ready queue. */
void nb_event_loop_pinned(nb_scheduler *scheduler, const nb_wait *wait) {
    for (;;) {
        nb_event_loop_expire(scheduler);
        if (nb_inbox_pending(scheduler->inbox)) drain_inbox(scheduler);
        rb_thread_check_ints();
        if (wait->state != NB_WAITING) return;
        loop_sleep(scheduler, false);
    }
}

typedef struct run_call {
    nb_scheduler *scheduler;
    nb_wait *until;
    VALUE (*turns)(VALUE call);
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

/* Left by an exception or with its wait done, a pass may be unfinished: the rest goes first in the
   next. */
static void end_pass(nb_scheduler *scheduler) {
    nb_list_append_all(&scheduler->pass, &scheduler->ready);
    nb_list_append_all(&scheduler->ready, &scheduler->pass);
    nb_list_append_all(&scheduler->ready, &scheduler->spawners);
}

static VALUE run_body(VALUE argument) {
    const run_call *call = (const run_call *)argument;
    nb_scheduler *scheduler = call->scheduler;
    int tag = 0, left = 0;
    nb_list_append_all(&scheduler->ready, &scheduler->spawners);
    do {
        rb_protect(call->turns, argument, &tag);
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
    scheduler->loop_fiber = call->outer_loop;
    scheduler->switched = call->outer_switched;
    scheduler->root = call->outer_root;
    nb_event_loop_stamp(scheduler, 0);
    nb_heap_let_collect(&scheduler->heap);
    if (!scheduler->timeslices) return Qnil;
    nb_timeslices_rest(scheduler->timeslices);
    if (NIL_P(scheduler->loop_fiber)) nb_timeslices_sleep(scheduler->timeslices);
    return Qnil;
}

void nb_event_loop_run(nb_scheduler *scheduler, nb_wait *until) {
    run_call call = {.scheduler = scheduler,
                     .until = until,
                     .turns = run_turns,
                     .outer_loop = scheduler->loop_fiber,
                     .outer_root = scheduler->root,
                     .outer_switched = scheduler->switched};
    scheduler->loop_fiber = rb_fiber_current();
    scheduler->switched = false;
    if (scheduler->timeslices) nb_timeslices_begin(scheduler->timeslices);
    rb_ensure(run_body, (VALUE)&call, run_end, (VALUE)&call);
}

/* --- Beneath another scheduler --- */

typedef struct host_call {
    run_call run; /* first */
    VALUE (*body)(VALUE);
    VALUE argument;
} host_call;

static VALUE host_body(VALUE argument) {
    const host_call *call = (const host_call *)argument;
    return call->body(call->argument);
}

VALUE nb_event_loop_host(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument) {
    host_call call = {.run = {.scheduler = scheduler,
                              .outer_loop = scheduler->loop_fiber,
                              .outer_root = scheduler->root,
                              .outer_switched = scheduler->switched},
                      .body = body,
                      .argument = argument};
    scheduler->loop_fiber = rb_fiber_current();
    scheduler->switched = false;
    return rb_ensure(host_body, (VALUE)&call, run_end, (VALUE)&call);
}

typedef struct hosted_turn {
    run_call run; /* first */
    nb_alarm bound;
    int64_t until_ns, idle_ns;
    bool ends; /* no sleep when the source is finished */
} hosted_turn;

/* It ends the sleep, and that is all. */
static void bound_passed(nb_scheduler *scheduler, nb_alarm *alarm) { (void)scheduler, (void)alarm; }

static void hosted_sleep(nb_scheduler *scheduler, hosted_turn *turn) {
    int64_t began_ns = nb_clock_monotonic_ns(), ran_ns = nb_clock_thread_ns();
    if (turn->until_ns != INT64_MAX && nb_timers_arm(&scheduler->timers, &turn->bound.timer, turn->until_ns) != NB_OK)
        rb_memerror();
    loop_sleep(scheduler, scheduler->attached);
    nb_timers_disarm(&scheduler->timers, &turn->bound.timer);
    turn->idle_ns = nb_clock_monotonic_ns() - began_ns - (nb_clock_thread_ns() - ran_ns);
}

/* A fiber that has run may have set a timer of the scheduler above, which is not in the bound. */
static VALUE hosted_turns(VALUE argument) {
    hosted_turn *turn = (hosted_turn *)argument;
    nb_scheduler *scheduler = turn->run.scheduler;
    uint64_t switches = scheduler->switches;
    run_ready(scheduler, NULL);
    if (scheduler->switches != switches || !nb_list_empty(&scheduler->ready)) {
        busy_poll(scheduler);
    } else if (!turn->ends || !scheduler->attached || !scheduler->source.finished(scheduler->source.owner)) {
        hosted_sleep(scheduler, turn);
    }
    return Qnil;
}

static VALUE hosted_end(VALUE argument) {
    hosted_turn *turn = (hosted_turn *)argument;
    nb_scheduler *scheduler = turn->run.scheduler;
    nb_timers_disarm(&scheduler->timers, &turn->bound.timer);
    end_pass(scheduler);
    scheduler->switched = false;
    return Qnil;
}

int64_t nb_event_loop_turn(nb_scheduler *scheduler, int64_t until_ns, bool ends) {
    hosted_turn turn = {.run = {.scheduler = scheduler, .turns = hosted_turns},
                        .bound = {.fire = bound_passed},
                        .until_ns = until_ns,
                        .ends = ends};
    rb_ensure(run_body, (VALUE)&turn, hosted_end, (VALUE)&turn);
    return turn.idle_ns;
}
