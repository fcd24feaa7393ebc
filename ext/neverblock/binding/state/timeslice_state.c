/*
 * timeslice_state.c - see timeslice_state.h.
 */
#include "binding/state/timeslice_state.h"

#include <pthread.h>

#include "base/alloc.h"
#include "binding/base/module.h"
#include "binding/base/process_watchdog.h"
#include "os/thread.h"

/* It is quiet for no longer, as the job also looks at what the fiber allocates. */
#define NB_QUIET_NS (10 * NB_NS_PER_MS)

static nb_timeslices *in_use, *unused;

/* --- All of the process --- */

nb_timeslices *nb_timeslices_in_use(void) { return in_use; }

/* The watchdog tells by the count whether the thread still waits for the GVL or waits again: a
   struct that is used again goes on counting. */
nb_timeslices *nb_timeslices_make(nb_scheduler *scheduler, int64_t timeslice_ns) {
    nb_timeslices *timeslices = unused;
    if (timeslices) {
        unused = timeslices->next;
    } else {
        timeslices = nb_alloc_zero(1, sizeof *timeslices);
    }
    if (timeslices == NULL) return NULL;
    uint32_t waits = timeslices->gvl_waits;
    *timeslices = (nb_timeslices){.next = in_use,
                                  .scheduler = scheduler,
                                  .timeslice_ns = timeslice_ns,
                                  .gvl_waits = waits & ~UINT32_C(1),
                                  .asleep = true,
                                  .switched_to = Qnil};
    in_use = timeslices;
    return timeslices;
}

void nb_timeslices_put_away(nb_timeslices *timeslices) {
    nb_timeslices **link = &in_use;
    while (*link != timeslices)
        link = &(*link)->next;
    *link = timeslices->next;
    timeslices->next = unused;
    unused = timeslices;
}

void nb_timeslices_close(nb_scheduler *scheduler) {
    nb_timeslices *timeslices = scheduler->timeslices;
    if (timeslices == NULL) return;
    scheduler->timeslices = NULL;
    nb_heap_let_collect(&scheduler->heap);
    nb_process_watchdog_remove(timeslices->look, timeslices);
    nb_timeslices_put_away(timeslices);
}

/* --- Work that waits --- */

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

bool nb_timeslices_work_is_seen(const nb_scheduler *scheduler) {
    if (!nb_list_empty(&scheduler->ready) || !nb_list_empty(&scheduler->pass) || nb_inbox_pending(scheduler->inbox))
        return true;
    if (nb_timers_next_ns(&scheduler->timers) <= nb_clock_monotonic_ns()) return true;
    return scheduler->attached && scheduler->source.waits && scheduler->source.waits(scheduler->source.owner);
}

bool nb_timeslices_source_starves(const nb_scheduler *scheduler) {
    return scheduler->attached && scheduler->source.starves && scheduler->source.starves(scheduler->source.owner);
}

static int64_t quiet_until_ns(const nb_timeslices *timeslices, int64_t now_ns) {
    const nb_scheduler *scheduler = timeslices->scheduler;
    int64_t until_ns = now_ns + (timeslices->allocates ? NB_PREEMPT_GRANULARITY_NS
                                                       : smaller(timeslices->timeslice_ns, NB_QUIET_NS));
    if (!nb_list_empty(&scheduler->preempted))
        until_ns = smaller(until_ns, timeslices->switched_ns + timeslices->timeslice_ns);
    return smaller(until_ns, nb_timers_next_ns(&scheduler->timers));
}

/* Work that comes later makes the poller readable. Work that came before the source watched is seen
   here. */
bool nb_timeslices_begin_quiet(nb_timeslices *timeslices, int64_t now_ns) {
    nb_scheduler *scheduler = timeslices->scheduler;
    int fd = scheduler->watches.poll ? nb_poll_descriptor(scheduler->watches.poll) : -1;
    if (fd < 0) return false;
    bool watches = scheduler->attached && scheduler->source.watch;
    if (watches) scheduler->source.watch(scheduler->source.owner, true);
    if (nb_timeslices_work_is_seen(scheduler) || nb_timeslices_source_starves(scheduler) ||
        !nb_list_empty(&scheduler->expired)) {
        if (watches) scheduler->source.watch(scheduler->source.owner, false);
        return false;
    }
    atomic_store_explicit(&timeslices->descriptor, fd, memory_order_relaxed);
    atomic_store_explicit(&timeslices->quiet_until_ns, quiet_until_ns(timeslices, now_ns), memory_order_release);
    return true;
}

void nb_timeslices_end_quiet(nb_timeslices *timeslices) {
    const nb_scheduler *scheduler = timeslices->scheduler;
    if (timeslices->quiet_until_ns == 0) return;
    atomic_store_explicit(&timeslices->quiet_until_ns, 0, memory_order_relaxed);
    if (scheduler->attached && scheduler->source.watch) scheduler->source.watch(scheduler->source.owner, false);
}

void nb_timeslices_work_comes(nb_timeslices *timeslices) {
    if (timeslices->quiet_until_ns == 0) return;
    nb_timeslices_end_quiet(timeslices);
    nb_process_watchdog_ring();
}

/* --- Told by the loop --- */

void nb_timeslices_switch(nb_timeslices *timeslices, int64_t now_ns, bool preempted) {
    nb_timeslices_end_quiet(timeslices);
    timeslices->owed = false;
    timeslices->gc_known = !preempted && !nb_list_empty(&timeslices->scheduler->preempted);
    if (timeslices->gc_known) timeslices->gc_ms = nb_gc_ms();
    atomic_store_explicit(&timeslices->preempted_before, preempted, memory_order_relaxed);
    atomic_store_explicit(&timeslices->switched_ns, now_ns, memory_order_relaxed);
    if (preempted && !nb_timeslices_begin_quiet(timeslices, now_ns)) nb_process_watchdog_ring();
}

void nb_timeslices_rest(nb_timeslices *timeslices) {
    atomic_store_explicit(&timeslices->switched_ns, 0, memory_order_relaxed);
}

static void set_wants_gvl(nb_timeslices *timeslices, uint32_t odd) {
    uint32_t waits = atomic_load_explicit(&timeslices->gvl_waits, memory_order_relaxed);
    if ((waits & 1) != odd) atomic_store_explicit(&timeslices->gvl_waits, waits + 1, memory_order_relaxed);
}

void nb_timeslices_sleep(nb_timeslices *timeslices) {
    atomic_store_explicit(&timeslices->asleep, true, memory_order_relaxed);
}
void nb_timeslices_want_gvl(nb_timeslices *timeslices) { set_wants_gvl(timeslices, 1); }

void nb_timeslices_have_gvl(nb_timeslices *timeslices) {
    atomic_store_explicit(&timeslices->asleep, false, memory_order_relaxed);
    set_wants_gvl(timeslices, 0);
}

void nb_timeslices_begin(nb_timeslices *timeslices) {
    clockid_t clock;
    if (nb_thread_clock(pthread_self(), &clock)) {
        timeslices->clock = clock;
        atomic_store_explicit(&timeslices->clocked, true, memory_order_release);
    }
    nb_timeslices_have_gvl(timeslices);
    nb_process_watchdog_stir();
}
