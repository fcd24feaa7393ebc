/*
 * timeslice_lock.c - see timeslice_lock.h.
 */
#include "binding/timeslices/timeslice_lock.h"

#include <ruby.h>
#include <ruby/thread.h>
#include <time.h>

#include "binding/state/timeslice_state.h"
#include "os/clock.h"
#include "os/thread.h"

/* A thread that hands the GVL off stays away from it for so long at most, and looks so often
   whether it was acquired. */
#define NB_HANDOFF_NS NB_NS_PER_MS
#define NB_HANDOFF_STEP_NS 50000
/* Between two handoffs a thread runs for so long at least, by its own clock. One that has little to
   do, as the thread of Timeout, would come to its end too late otherwise: each time it gets the GVL
   after all others. */
#define NB_HANDOFF_RUN_NS (NB_NS_PER_MS / 2)

static void nap(void) {
    struct timespec step = {0, NB_HANDOFF_STEP_NS};
    nanosleep(&step, NULL);
}

static bool has_run(const nb_timeslices *timeslices) {
    return timeslices->clocked && nb_thread_ran_ns(timeslices->clock) != timeslices->ran_ns;
}

typedef struct handoff_call {
    const nb_timeslices *timeslices;
    uint32_t waits; /* as it was; even: the thread was running a fiber */
    bool acquired;
} handoff_call;

static void *await_acquired(void *argument) {
    handoff_call *call = argument;
    const nb_timeslices *timeslices = call->timeslices;
    for (int64_t waited_ns = 0; waited_ns < NB_HANDOFF_NS && !call->acquired; waited_ns += NB_HANDOFF_STEP_NS) {
        nap();
        call->acquired = call->waits & 1 ? timeslices->gvl_waits != call->waits : has_run(timeslices);
    }
    return NULL;
}

/* Not by rb_thread_schedule, which lets a Thread#kill act: Ruby 3.1 would swallow that in a job. */
static bool hand_off_lock_to(nb_timeslices *timeslices) {
    handoff_call call = {timeslices, timeslices->gvl_waits, false};
    timeslices->lock_handoffs++;
    if (timeslices->clocked) timeslices->ran_ns = nb_thread_ran_ns(timeslices->clock);
    rb_nogvl(await_acquired, &call, NULL, NULL, RB_NOGVL_INTR_FAIL);
    return call.acquired;
}

/* Is the GVL to be handed off to this thread, which is awake and does not have it? Between two
   fibers, and in a fiber whose time slice has not ended, at once. In another fiber at once if
   others wait, else after a time slice. The fiber may also be in a call without the GVL, which
   nothing tells: the thread does not acquire the GVL then, and is not offered it again for a time
   slice. */
static bool is_due(nb_timeslices *timeslices, int64_t now_ns) {
    int64_t switched_ns = timeslices->switched_ns;
    if (timeslices->asleep || now_ns - timeslices->handoff_failed_ns < timeslices->timeslice_ns) return false;
    if (timeslices->idle_ns < switched_ns || has_run(timeslices)) {
        timeslices->idle_ns = now_ns;
        if (timeslices->clocked) timeslices->ran_ns = nb_thread_ran_ns(timeslices->clock);
    }
    if (switched_ns == 0 || timeslices->idle_ns - switched_ns < timeslices->timeslice_ns) return true;
    return now_ns - timeslices->idle_ns >= timeslices->timeslice_ns ||
           nb_timeslices_work_is_seen(timeslices->scheduler) || nb_timeslices_source_starves(timeslices->scheduler);
}

/* Has this thread run for long enough since its last handoff? */
static bool has_run_itself(void) {
    static _Thread_local int64_t ran_before_ns;
    int64_t ran_now_ns = nb_thread_ran_ns(CLOCK_THREAD_CPUTIME_ID);
    if (ran_now_ns - ran_before_ns < NB_HANDOFF_RUN_NS) return false;
    ran_before_ns = ran_now_ns;
    return true;
}

void nb_timeslice_hand_off_gvl(void) {
    if (!has_run_itself()) return;
    int64_t now_ns = nb_clock_monotonic_ns();
    for (nb_timeslices *timeslices = nb_timeslices_in_use(); timeslices; timeslices = timeslices->next) {
        if (timeslices->gvl_waits & 1) {
            hand_off_lock_to(timeslices);
            return;
        }
        if (!is_due(timeslices, now_ns)) continue;
        if (!hand_off_lock_to(timeslices)) timeslices->handoff_failed_ns = now_ns;
        return;
    }
}
