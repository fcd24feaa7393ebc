/*
 * wait.c - see wait.h.
 */
#include "binding/state/wait.h"

#include "binding/state/held_back.h"
#include "binding/state/loop_time.h"
#include "binding/state/timeslice_state.h"
#include "os/clock.h"

static void wait_expired(nb_scheduler *scheduler, nb_alarm *alarm) {
    (void)scheduler;
    nb_wait_wake(NB_LIST_ENTRY(alarm, nb_wait, alarm), NB_TIMED_OUT);
}

void nb_wait_init(nb_wait *wait, nb_scheduler *scheduler, nb_wait_kind kind) {
    *wait = (nb_wait){.scheduler = scheduler,
                      .self = scheduler->self,
                      .fiber = rb_fiber_current(),
                      .root = nb_root_now(scheduler),
                      .status = rb_last_status_get(),
                      .exception = Qnil,
                      .masks = Qnil,
                      .kind = kind,
                      .state = NB_WAITING,
                      .outcome = NB_WOKEN,
                      .resumed_in = scheduler->resumed_in,
                      .question = scheduler->question,
                      .preempt_disabled = scheduler->preempt_disabled,
                      .resumes = scheduler->resumes,
                      .serving = scheduler->serving,
                      .last_socket = scheduler->last_socket,
                      .about = nb_fiber_take_next_wait(scheduler),
                      .record = NB_FIBER_NONE,
                      .place = NB_WATERFALL_NONE,
                      .alarm = {.fire = wait_expired}};
    nb_list_init(&wait->link);
    if (kind == NB_WAIT_SLEEP && wait->about.kind == 0) wait->about.kind = NB_FIBER_WAIT_sleep;
}

void nb_wait_defer(nb_scheduler *scheduler, VALUE fiber, VALUE exception) {
    if (NIL_P(scheduler->deferred)) scheduler->deferred = rb_ary_new();
    rb_ary_push(scheduler->deferred, rb_assoc_new(fiber, exception));
}

VALUE nb_wait_take_deferred(nb_scheduler *scheduler, VALUE fiber) {
    VALUE all = scheduler->deferred, left = rb_ary_new(), found = Qnil;
    for (long i = 0; i < RARRAY_LEN(all); i++) {
        VALUE entry = RARRAY_AREF(all, i);
        if (NIL_P(found) && RARRAY_AREF(entry, 0) == fiber) {
            found = RARRAY_AREF(entry, 1);
        } else if (RTEST(rb_fiber_alive_p(RARRAY_AREF(entry, 0)))) {
            rb_ary_push(left, entry);
        }
    }
    scheduler->deferred = RARRAY_LEN(left) > 0 ? left : Qnil;
    return found;
}

/* Woken by a Mutex, a Queue or a ConditionVariable after something was raised into the wait: the
   wake was meant for this fiber and for no other, so it comes first. */
static void wake_before_raise(nb_wait *wait) {
    if (wait->kind != NB_WAIT_BLOCK && wait->kind != NB_WAIT_SLEEP) return;
    wait->outcome = NB_WOKEN;
    if (wait->late_link == NULL) return;
    nb_list_remove(wait->late_link);
    nb_list_append(&wait->scheduler->expired, wait->late_link);
    wait->exception = Qnil;
}

/* While a fiber runs, or the loop sleeps, the loop's time is an old one. */
static int64_t woken_ns(nb_scheduler *scheduler) {
    if (scheduler->switched || scheduler->sleeper.sleeping) return nb_clock_monotonic_ns();
    return nb_event_loop_now(scheduler);
}

bool nb_wait_wake(nb_wait *wait, nb_wait_outcome outcome) {
    if (wait->state != NB_WAITING) {
        /* What came after the deadline but before the fiber ran has still come. */
        if (wait->state == NB_READY && wait->outcome == NB_TIMED_OUT) wait->outcome = outcome;
        if (wait->state == NB_READY && wait->outcome == NB_RAISES && outcome == NB_WOKEN) wake_before_raise(wait);
        return false;
    }
    nb_scheduler *scheduler = wait->scheduler;
    wait->state = NB_READY;
    wait->outcome = outcome;
    nb_timers_disarm(&scheduler->timers, &wait->alarm.timer);
    nb_list_append(&scheduler->ready, &wait->link);
    wait->counted = true;
    if (wait->accounted_ns) wait->ready_ns = woken_ns(scheduler);
    scheduler->ready_count++;
    nb_wait_tell_ready(wait);
    if (scheduler->sleeper.sleeping) nb_sleeper_wake(&scheduler->sleeper);
    if (scheduler->timeslices) nb_timeslices_work_comes(scheduler->timeslices);
    return true;
}

bool nb_wait_raise(nb_wait *wait, VALUE exception, nb_list *late_link) {
    if (wait->kind == NB_WAIT_PREEMPTED) {
        if (late_link || !NIL_P(wait->exception)) return false;
        wait->exception = exception;
        return true;
    }
    if (wait->state == NB_RESUMED || (wait->state == NB_READY && wait->outcome != NB_TIMED_OUT)) return false;
    if (wait->shielded && (late_link || !NIL_P(wait->exception))) return false;
    if (late_link && nb_held_back(wait->masks, exception, true)) return false;
    wait->exception = exception;
    if (wait->shielded) return true;
    wait->late_link = late_link;
    nb_wait_wake(wait, NB_RAISES);
    return true;
}

/* Whoever is in a shield has no other end of the wait to hope for. */
void nb_wait_fail(nb_wait *wait, VALUE exception) {
    bool ends = wait->state == NB_WAITING || (wait->state == NB_READY && wait->outcome == NB_TIMED_OUT);
    if (wait->kind != NB_WAIT_PREEMPTED && wait->shielded && ends) {
        if (!NIL_P(wait->exception)) nb_wait_defer(wait->scheduler, wait->fiber, wait->exception);
        wait->exception = Qnil;
        wait->shielded = false;
    }
    nb_wait_raise(wait, exception, NULL);
}

int64_t nb_wait_deadline(nb_scheduler *scheduler, VALUE interval) {
    const double seconds_max = 9e9; /* 285 years: what is longer has no deadline */
    if (NIL_P(interval)) return INT64_MAX;

    double seconds = -1;
    if (FIXNUM_P(interval)) seconds = (double)FIX2LONG(interval);
    if (RB_FLOAT_TYPE_P(interval)) seconds = RFLOAT_VALUE(interval);
    if (seconds == 0) return nb_event_loop_clock(scheduler);
    if (seconds > 0 && seconds < seconds_max)
        return nb_event_loop_clock(scheduler) + (int64_t)(seconds * (double)NB_NS_PER_S);

    struct timespec time = rb_time_timespec_interval(interval);
    if ((double)time.tv_sec >= seconds_max) return INT64_MAX;
    return nb_event_loop_clock(scheduler) + (int64_t)time.tv_sec * NB_NS_PER_S + (int64_t)time.tv_nsec;
}
