/*
 * slice_lock.c - see slice_lock.h.
 */
#include "binding/slices/slice_lock.h"

#include <ruby.h>
#include <ruby/thread.h>
#include <time.h>

#include "binding/state/slices.h"
#include "os/clock.h"
#include "os/thread.h"

/* How long a thread that gives the lock up stays away from it at most, and between two looks
   whether it was taken. */
#define NB_GIVE_NS NB_NS_PER_MS
#define NB_GIVE_STEP_NS 50000

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

/* Not by rb_thread_schedule, which lets a Thread#kill act: in a job of Ruby 3.1 that would be
   swallowed. */
static bool give_lock_to(nb_slices *slices) {
    give_call call = {slices, slices->lock, false};
    slices->given++;
    if (slices->clocked) slices->ran_ns = nb_thread_ran_ns(slices->clock);
    rb_nogvl(until_taken, &call, NULL, NULL, RB_NOGVL_INTR_FAIL);
    return call.taken;
}

/* The thread is awake and does not have the lock. Between two fibers, and in one that has not had
   its slice, it is to have it at once; in one that computes when others wait, else after a slice.
   The fiber may sit in a call without the lock as well, which nothing tells: then it is not taken,
   and not offered again for a slice. */
static bool is_due(nb_slices *slices, int64_t now_ns) {
    int64_t switched_ns = slices->switched_ns;
    if (slices->asleep || now_ns - slices->given_ns < slices->slice_ns) return false;
    if (slices->idle_ns < switched_ns || has_run(slices)) {
        slices->idle_ns = now_ns;
        if (slices->clocked) slices->ran_ns = nb_thread_ran_ns(slices->clock);
    }
    if (switched_ns == 0 || slices->idle_ns - switched_ns < slices->slice_ns) return true;
    return now_ns - slices->idle_ns >= slices->slice_ns || nb_slices_work_is_seen(slices->scheduler) ||
           nb_slices_source_starves(slices->scheduler);
}

void nb_slice_give_lock(void) {
    int64_t now_ns = nb_clock_monotonic_ns();
    for (nb_slices *slices = nb_slices_in_use(); slices; slices = slices->next) {
        if (slices->lock & 1) {
            give_lock_to(slices);
            return;
        }
        if (!is_due(slices, now_ns)) continue;
        if (!give_lock_to(slices)) slices->given_ns = now_ns;
        return;
    }
}
