/*
 * stalls.c - see stalls.h.
 */
#include "binding/stalls/stalls.h"

#include "binding/base/process_watchdog.h"
#include "binding/ports/port.h"
#include "binding/ports/running.h"
#include "binding/stalls/stalls_answer.h"
#include "binding/stalls/stalls_reporter.h"
#include "binding/stalls/stalls_signal.h"
#include "binding/stalls/stalls_tell.h"
#include "binding/stalls/stalls_trace.h"
#include "binding/stalls/watched.h"
#include "os/clock.h"

/* Ruby code looks for interrupts far more often: a thread that has run for longer without doing so
   is in a C call. */
#define UNSERVED_NS (10 * NB_NS_PER_MS)
/* A Ruby thread that has the GVL and processor time answers within this time. */
#define UNANSWERED_NS (500 * NB_NS_PER_MS)

/* --- The question --- */

static void ask(nb_watched *one) {
    atomic_store(&one->asked_burst, one->watch.burst_began_ns);
    atomic_store(&one->collecting, false);
    atomic_store(&one->doubted, false);
    one->waits_in = NULL;
    int64_t ran_ns = nb_watched_ran_ns(one), passed_ns = nb_clock_monotonic_ns() - one->ran_at_ns;
    atomic_store(&one->asked_ran_ns, ran_ns);
    atomic_store(&one->quiet_since_ns, nb_clock_monotonic_ns());
    atomic_store(&one->half_waited, one->clocked && (ran_ns - one->ran_ns) * 2 < passed_ns);
}

/* A question without an answer is asked again at each look: another thread may have run the job. */
static void renew_question(nb_watched *one) {
    uint32_t expected = NB_ANSWER_IDLE;
    atomic_compare_exchange_strong(&one->state, &expected, NB_ANSWER_ASKED);
    int64_t served_ns = atomic_load(&one->served_ran_ns);
    if (served_ns != one->heard_ran_ns) atomic_store(&one->asked_ran_ns, nb_watched_ran_ns(one));
    one->heard_ran_ns = served_ns;
    nb_stalls_answer_trigger_job();
    if (!nb_stalls_reporter_asked()) nb_stalls_reporter_ask();
}

/* A thread that is writing the answer finds out by itself that it is too late. */
static void withdraw(nb_watched *one) {
    uint32_t expected = NB_ANSWER_ASKED;
    if (atomic_compare_exchange_strong(&one->state, &expected, NB_ANSWER_IDLE)) return;
    expected = NB_ANSWER_READY;
    atomic_compare_exchange_strong(&one->state, &expected, NB_ANSWER_IDLE);
}

/* --- What a look sees --- */

/* Nobody can answer: the reporter waits for the GVL, and the executor's thread runs without looking
   for interrupts, or sleeps while no other thread can have the GVL. Native threads of a busy
   process may leave that open, so the second case is bounded in time. */
static bool is_stuck(const nb_watched *one, int64_t now_ns) {
    if (!nb_stalls_reporter_waits_for_lock()) return false;
    if (nb_watched_unserved_ns(one) >= UNSERVED_NS) return true;
    if (!nb_thread_sleeps(one->thread_number)) return false;
    return !nb_thread_others_run() || now_ns - one->watch.asked_ns >= UNANSWERED_NS;
}

/* Other fibers are ready, or requests wait for this executor. */
static bool work_waits(const nb_watched *one) {
    const nb_executor *executor = one->executor;
    const nb_board *board = executor->board;
    uint32_t itself = atomic_load_explicit(&board->pulse.running, memory_order_relaxed) ? 0 : 1;
    if (atomic_load_explicit(&board->figures.ready, memory_order_relaxed) > itself) return true;
    for (uint16_t i = 0; i < executor->port_count; i++) {
        const nb_port *port = &executor->ports[i];
        if (nb_channel_loop_starves(port->channel)) return true;
        if (nb_ring_more(&port->requests, __atomic_load_n(&port->in_hand, __ATOMIC_RELAXED))) return true;
    }
    return false;
}

/* The signal may have met the end of a collection: the thread has hardly run since, and does not
   wait in a call either. */
static bool is_doubted(nb_watched *one) {
    if (!atomic_load(&one->doubted)) return false;
    bool hardly_ran = nb_watched_ran_ns(one) - one->claimed_ran_ns < NB_STALLS_DOUBTED_NS;
    if (hardly_ran && !nb_thread_sleeps(one->thread_number)) return true;
    atomic_store(&one->doubted, false);
    return false;
}

static bool is_answered(nb_watched *one) {
    if (is_doubted(one) || atomic_load(&one->state) != NB_ANSWER_READY) return false;
    if (one->answered_burst == one->watch.burst_began_ns) return true;
    atomic_store(&one->state, NB_ANSWER_IDLE);
    return false;
}

/* The thread was in a call without the GVL when its place was found, and has not run since. */
static bool is_unmoved(const nb_watched *one) {
    if (!one->clocked || one->stall.kind != NB_STALL_blocking_call) return false;
    return nb_watched_ran_ns(one) == one->answered_ran_ns;
}

static void note_starved(nb_watched *one) {
    one->starved_ns = nb_thread_starved_ns(one->thread_number) - one->starved_from_ns;
}

/* The burst that has ended keeps its `starved_ns`, as it may still be told. A look that comes late
   has been without a processor itself: the new burst is measured from the look before. */
static void note_new_burst(nb_watched *one, const nb_stall_sight *sight) {
    bool late = sight->switched_ns && sight->now_ns - sight->switched_ns > one->watch.stall_ns / 2;
    note_starved(one);
    int64_t seen_ns = one->starved_from_ns + one->starved_ns;
    one->starved_from_ns = late ? one->starved_seen_ns : seen_ns;
    one->starved_seen_ns = seen_ns;
    one->ran_ns = nb_watched_ran_ns(one);
    one->ran_at_ns = sight->now_ns;
}

static nb_stall_sight sight_of(nb_watched *one, int64_t now_ns) {
    nb_stall_sight sight = {.now_ns = now_ns, .switched_ns = nb_executor_switched_ns(one->executor)};
    if (sight.switched_ns != one->watch.burst_began_ns) {
        note_new_burst(one, &sight);
        return sight;
    }
    if (one->watch.phase < NB_STALL_COMPARED) return sight;
    sight.work_waits = !one->lane && work_waits(one);
    sight.answered = is_answered(one);
    sight.yields = one->lane || sight.answered;
    if (sight.answered && one->stall.kind == NB_STALL_c_call) sight.yields = false;
    if (sight.answered && one->stall.kind == NB_STALL_blocking_call) sight.yields = one->lane;
    sight.unmoved = sight.answered && is_unmoved(one);
    sight.stuck = one->watch.phase == NB_STALL_ASKED && !sight.answered && is_stuck(one, now_ns);
    return sight;
}

/* The burst could not be asked about while it lasted, and the job has told of it when its call had
   returned. */
static bool was_answered_late(nb_watched *one, int64_t burst_began_ns) {
    if (atomic_load(&one->state) != NB_ANSWER_READY || one->answered_burst != burst_began_ns) return false;
    return nb_watched_in_call(one, burst_began_ns);
}

/* The observer (nb_watchdog_look): the watchdog's thread. */
static int64_t look(void *owner, int64_t now_ns, int *fd) {
    (void)fd;
    nb_watched *one = owner;
    nb_stall_sight sight = sight_of(one, now_ns);
    int64_t burst_began_ns = one->watch.burst_began_ns;
    nb_stall_next next = nb_stall_watch_look(&one->watch, &sight);
    bool late = (next.what & (NB_STALL_LATE | NB_STALL_OVER)) && was_answered_late(one, burst_began_ns);
    if (late) nb_stalls_blame(one, true);
    if (late && (next.what & NB_STALL_LATE)) nb_stalls_tell_late(one, now_ns, next.lasted_ns);
    if (next.what & NB_STALL_OVER) nb_stalls_tell_over(one, next.lasted_ns);
    if (next.what & (NB_STALL_FORGET | NB_STALL_OVER)) withdraw(one);
    if (next.what & NB_STALL_COMPARE) {
        atomic_store(&one->compare, true);
        nb_stalls_answer_trigger_job();
    }
    if (next.what & NB_STALL_ASK) {
        withdraw(one);
        ask(one);
    }
    if (one->watch.phase == NB_STALL_ASKED || one->watch.phase == NB_STALL_SIGNALLED) renew_question(one);
    if (next.what & NB_STALL_SIGNAL) nb_stalls_signal_send(one);
    if (next.what & NB_STALL_TELL) {
        note_starved(one);
        nb_stalls_tell(one, now_ns);
    }
    return next.again_ns;
}

/* --- Begin and end --- */

/* No burst is looked at before a quarter of stall_ms: so rarely an idle executor is looked at. */
void nb_stalls_begin(nb_executor *executor, VALUE options) {
    if (NIL_P(options)) return;
    nb_watched *one = nb_watched_take(executor);
    nb_watched_prepare(one, options);
    nb_stalls_signal_install();
    nb_stalls_reporter_start(nb_stalls_answer_all);
    one->begun = true;
    int64_t idle_ns = NB_STALL_FIRST(one->watch.stall_ns);
    if (idle_ns < NB_PROCESS_WATCHDOG_IDLE_NS) idle_ns = NB_PROCESS_WATCHDOG_IDLE_NS;
    if (!nb_process_watchdog_add(look, one, idle_ns)) nb_stalls_end(executor);
}

VALUE nb_stalls_end(nb_executor *executor) {
    nb_watched *one = executor->watched;
    if (!one) return Qnil;
    VALUE ending = Qnil;
    if (one->begun && !nb_executor_in_child(executor)) {
        nb_process_watchdog_remove(look, one);
        ending = nb_stalls_reporter_leave();
    }
    nb_watched_release(one);
    return ending;
}

void nb_stalls_forget(nb_executor *executor) {
    if (executor->watched && nb_executor_in_child(executor)) nb_watched_release(executor->watched);
}

void nb_stalls_define(VALUE module) {
    (void)module;
    nb_stalls_reporter_define();
    nb_stalls_trace_define();
    nb_stalls_answer_define();
}
