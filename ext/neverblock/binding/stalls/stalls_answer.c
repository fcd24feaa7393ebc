/*
 * stalls_answer.c - see stalls_answer.h.
 */
#include "binding/stalls/stalls_answer.h"

#include <ruby/debug.h>
#include <string.h>

#include "binding/base/module.h"
#include "binding/scheduler/scheduler.h"
#include "binding/stalls/stalls_reporter.h"
#include "binding/stalls/stalls_trace.h"
#include "binding/timeslices/interrupt.h"
#include "os/clock.h"

/* So long a thread has to run before it is said whether it ran Ruby code or collected garbage: one
   collection takes up to half of that. Two fifths of stall_ms are enough. */
#define COMPARED_NS (40 * NB_NS_PER_MS)
/* An answer of the job that takes longer is the last of that job. A trace takes far less, unless
   Ruby collects meanwhile. */
#define LONG_ANSWER_NS (1 * NB_NS_PER_MS)

static ID id_status;

/* --- What the answer is compared with --- */

static void compare(nb_watched *one) {
    if (!atomic_exchange(&one->compare, false)) return;
    one->compared_burst = nb_executor_switched_ns(one->executor);
    one->compared_ran_ns = nb_watched_ran_ns(one);
    one->compared_gc_ms = nb_gc_ms();
}

/* What the thread has to have run since it was compared. */
static int64_t compared_min_ns(const nb_watched *one) {
    int64_t part_ns = one->watch.stall_ns / 5 * 2;
    return part_ns < COMPARED_NS ? part_ns : COMPARED_NS;
}

/* Sets the kind. It is a garbage collection if more than half of what the thread ran since the
   comparison was collections, or if a signal has met one and nothing could be compared. Else it is
   Ruby code. Both times are of the processor's clock. False: the thread has not run for long enough
   to say. */
static bool find_ruby_or_gc(nb_watched *one) {
    bool seen = atomic_exchange(&one->collecting, false);
    one->stall.kind = NB_STALL_gc;
    if (one->compared_burst != atomic_load(&one->asked_burst)) {
        if (seen) return true;
        atomic_store(&one->compare, true);
        compare(one);
    }
    int64_t since_ns = nb_watched_ran_ns(one) - one->compared_ran_ns;
    int64_t gc_ms = (int64_t)(nb_gc_ms() - one->compared_gc_ms);
    if (gc_ms * NB_NS_PER_MS * 2 <= since_ns) one->stall.kind = NB_STALL_ruby;
    return since_ns >= compared_min_ns(one) || !one->clocked;
}

/* --- Where the fiber is --- */

/* Thread#status and Thread#backtrace may let another thread run, and the executor may end
   meanwhile: the record is not its any more. The fiber may have been left as well. */
static bool is_still_about(const nb_watched *one, const nb_executor *executor) {
    return one->executor == executor && nb_watched_still_there(one);
}

/* The job runs where the call returns, and the call's frame is still there. */
static bool returns_from_call(nb_watched *one) {
    one->stall.kind = NB_STALL_c_call;
    return nb_watched_in_call(one, atomic_load(&one->asked_burst));
}

/* By the executor's own thread. False: it is between two fibers, or it is too early to say. */
static bool describe_here(nb_watched *one) {
    if (NIL_P(nb_scheduler_root(one->executor->scheduler))) return false;
    if (!returns_from_call(one) && !find_ruby_or_gc(one)) return false;
    nb_stalls_trace_here(&one->stall);
    return true;
}

/* Not, if the thread has left a short call and waits for the GVL, or is in a call and waits for a
   processor. */
static bool stays_in_call(const nb_watched *one) {
    int64_t quiet_ns = nb_clock_monotonic_ns() - atomic_load(&one->quiet_since_ns);
    if (!nb_thread_sleeps(one->thread_number)) return nb_watched_unserved_ns(one) >= NB_STALLS_QUIET_NS;
    const char *waits_in = nb_thread_waits_in(one->thread_number);
    return quiet_ns >= (waits_in && strcmp(waits_in, "futex(2)") == 0 ? COMPARED_NS : NB_STALLS_QUIET_NS);
}

static VALUE status_of(VALUE thread) { return rb_funcall(thread, id_status, 0); }

/* By another thread, which has the GVL now. The executor's thread that is asleep by its status is
   in a call that has released the GVL. Else it waits for the GVL: it has yielded it, or another
   thread keeps it. False: Ruby code makes short calls, or the thread that keeps the GVL is to
   answer. */
static bool describe_from_elsewhere(nb_watched *one, VALUE current) {
    const nb_executor *executor = one->executor;
    VALUE thread = executor->thread;
    if (returns_from_call(one)) {
        nb_stalls_trace_thread(&one->stall, thread);
        return true;
    }
    VALUE status = nb_interrupt_call(status_of, thread, NULL);
    if (status == Qundef || !is_still_about(one, executor)) return false;
    bool runs = RB_TYPE_P(status, T_STRING) && strcmp(RSTRING_PTR(status), "run") == 0;
    bool waited = runs && atomic_load(&one->half_waited);
    if (waited && nb_stalls_reporter_is(current)) return false;
    if (!runs && !stays_in_call(one)) return false;
    if (runs && !waited && !find_ruby_or_gc(one)) return false;
    if (waited || !runs) one->stall.kind = waited ? NB_STALL_other_thread : NB_STALL_blocking_call;
    if (waited) {
        nb_stalls_trace_here(&one->stall);
    } else {
        nb_stalls_trace_thread(&one->stall, thread);
    }
    return true;
}

/* --- The answer --- */

static bool claim(nb_watched *one) {
    uint32_t expected = NB_ANSWER_ASKED;
    return atomic_compare_exchange_strong(&one->state, &expected, NB_ANSWER_WRITING);
}

static void end_claim(nb_watched *one, bool known) {
    if (known) {
        nb_stalls_trace_request(&one->stall, one->executor);
        one->answered_burst = atomic_load(&one->asked_burst);
    }
    atomic_store(&one->state, known ? NB_ANSWER_READY : NB_ANSWER_ASKED);
}

/* The record was released meanwhile, and is free from now on. */
static void give_up_claim(nb_watched *one) { atomic_store(&one->state, NB_ANSWER_IDLE); }

/* GVL. False: nothing was asked. */
static bool answer(nb_watched *one, VALUE current) {
    if (!claim(one)) return false;
    nb_watched_clear_answer(one);
    one->answered_ran_ns = nb_watched_ran_ns(one);
    nb_executor *executor = one->executor;
    volatile VALUE held = executor->self; /* while Ruby code runs */
    bool here = current == executor->thread;
    bool known = nb_watched_still_there(one) && (here ? describe_here(one) : describe_from_elsewhere(one, current)) &&
                 is_still_about(one, executor);
    if (one->executor == executor) {
        end_claim(one, known);
    } else {
        give_up_claim(one);
    }
    RB_GC_GUARD(held);
    return true;
}

void nb_stalls_answer_all(VALUE reporter) {
    for (nb_watched *one = nb_watched_first(); one; one = one->next) {
        if (one->executor) answer(one, reporter);
    }
}

int ruby_thread_has_gvl_p(void); /* exported, and in no header */

void nb_stalls_answer_in_signal(nb_watched *one) {
    if (!ruby_thread_has_gvl_p() || atomic_load(&one->served_ran_ns) != one->signalled_ran_ns) return;
    if (rb_during_gc()) {
        atomic_store(&one->collecting, true);
        return;
    }
    if (!claim(one)) return;
    nb_watched_clear_answer(one);
    one->stall.kind = NB_STALL_c_call;
    one->claimed_ran_ns = nb_clock_thread_ns();
    atomic_store(&one->doubted, rb_gc_count() != one->served_gc_count);
    bool known = nb_watched_still_there(one);
    if (known) nb_stalls_trace_signalled(&one->stall);
    end_claim(one, known);
}

/* --- The job, in whatever Ruby thread --- */

/* The thread runs a job: it looks for interrupts. A call that a signal has met is none, if it was
   doubted and the thread has hardly run since. */
static void note_served(nb_watched *one) {
    int64_t now_ns = nb_clock_thread_ns();
    atomic_store(&one->served_ran_ns, now_ns);
    atomic_store(&one->quiet_since_ns, nb_clock_monotonic_ns());
    one->served_gc_count = rb_gc_count();
    uint32_t expected = NB_ANSWER_READY;
    if (atomic_load(&one->doubted) && now_ns - one->claimed_ran_ns < NB_STALLS_DOUBTED_NS)
        atomic_compare_exchange_strong(&one->state, &expected, NB_ANSWER_ASKED);
    atomic_store(&one->doubted, false);
}

/* Before Ruby 3.3 a job that is asked for while one runs follows at once on the same thread, which
   looks for nothing else in between (rb_postponed_job_flush). Where answers take longer than the
   time between two questions, no other thread would run: for example, where each allocation
   collects. So an answer that takes long ends the job, and as long passes without an answer. The
   next job begins with the executors that were left out. Changed with the GVL. */
static int64_t answers_again_ns;
static nb_watched *answered_last;

static nb_watched *following(const nb_watched *one) { return one && one->next ? one->next : nb_watched_first(); }

static void answer_some(VALUE current) {
    int64_t began_ns = nb_clock_monotonic_ns(), now_ns = began_ns;
    if (now_ns < answers_again_ns) return;
    nb_watched *first = following(answered_last), *one = first;
    do {
        if (one->executor && answer(one, current)) {
            answered_last = one;
            now_ns = nb_clock_monotonic_ns();
        }
        one = following(one);
    } while (one != first && now_ns - began_ns < LONG_ANSWER_NS);
    answers_again_ns = now_ns + (now_ns - began_ns);
}

/* An interrupt that is pending for this thread would be raised within a trace, and lost: then
   nothing is answered. */
static void job(void *unused) {
    (void)unused;
    VALUE current = rb_thread_current();
    for (nb_watched *one = nb_watched_first(); one; one = one->next) {
        if (!one->executor) continue;
        if (current == one->executor->thread) note_served(one);
        compare(one);
    }
    if (!rb_thread_interrupted(current)) answer_some(current);
}

#ifdef HAVE_RB_POSTPONED_JOB_PREREGISTER
static rb_postponed_job_handle_t job_handle;

static void prepare_job(void) { job_handle = rb_postponed_job_preregister(0, job, NULL); }
void nb_stalls_answer_trigger_job(void) { rb_postponed_job_trigger(job_handle); }
#else
static void prepare_job(void) {}
void nb_stalls_answer_trigger_job(void) { rb_postponed_job_register_one(0, job, NULL); }
#endif

void nb_stalls_answer_define(void) {
    id_status = rb_intern("status");
    prepare_job();
}
