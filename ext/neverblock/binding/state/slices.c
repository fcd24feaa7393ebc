/*
 * slices.c - see slices.h.
 */
#include "binding/state/slices.h"

#include <pthread.h>

#include "base/alloc.h"
#include "binding/base/module.h"
#include "binding/base/ticker.h"
#include "os/thread.h"

/* So long at most it is quiet: what a fiber allocates is looked at in the job, too. */
#define NB_QUIET_NS (10 * NB_NS_PER_MS)

static nb_slices *in_use, *unused;

/* --- Which there are --- */

nb_slices *nb_slices_in_use(void) { return in_use; }

/* Whether the thread waits for the lock is told by an odd number, and by how it changes: it goes on
   from where it was. */
nb_slices *nb_slices_make(nb_scheduler *scheduler, int64_t slice_ns) {
    nb_slices *slices = unused;
    if (slices) {
        unused = slices->next;
    } else {
        slices = nb_alloc_zero(1, sizeof *slices);
    }
    if (slices == NULL) return NULL;
    uint32_t lock = slices->lock;
    *slices = (nb_slices){.next = in_use,
                          .scheduler = scheduler,
                          .slice_ns = slice_ns,
                          .lock = lock & ~UINT32_C(1),
                          .asleep = true,
                          .arrived = Qnil};
    in_use = slices;
    return slices;
}

void nb_slices_put_away(nb_slices *slices) {
    nb_slices **link = &in_use;
    while (*link != slices)
        link = &(*link)->next;
    *link = slices->next;
    slices->next = unused;
    unused = slices;
}

void nb_slices_close(nb_scheduler *scheduler) {
    nb_slices *slices = scheduler->slices;
    if (slices == NULL) return;
    scheduler->slices = NULL;
    nb_heap_let_collect(&scheduler->heap);
    nb_ticker_remove(slices->look, slices);
    nb_slices_put_away(slices);
}

/* --- Work that waits --- */

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

bool nb_slices_work_is_seen(const nb_scheduler *scheduler) {
    if (!nb_list_empty(&scheduler->ready) || !nb_list_empty(&scheduler->pass) || nb_inbox_pending(scheduler->inbox))
        return true;
    if (nb_timers_next_ns(&scheduler->timers) <= nb_clock_monotonic_ns()) return true;
    return scheduler->attached && scheduler->source.waits && scheduler->source.waits(scheduler->source.owner);
}

bool nb_slices_source_starves(const nb_scheduler *scheduler) {
    return scheduler->attached && scheduler->source.starves && scheduler->source.starves(scheduler->source.owner);
}

static int64_t quiet_until_ns(const nb_slices *slices, int64_t now_ns) {
    const nb_scheduler *scheduler = slices->scheduler;
    int64_t until_ns = now_ns + (slices->allocates ? NB_CUT_NS : smaller(slices->slice_ns, NB_QUIET_NS));
    if (!nb_list_empty(&scheduler->cut)) until_ns = smaller(until_ns, slices->switched_ns + slices->slice_ns);
    return smaller(until_ns, nb_timers_next_ns(&scheduler->timers));
}

/* What is read later keeps the poller readable. What came before the source watched is seen
   here. */
bool nb_slices_begin_quiet(nb_slices *slices, int64_t now_ns) {
    nb_scheduler *scheduler = slices->scheduler;
    int fd = scheduler->watches.poll ? nb_poll_descriptor(scheduler->watches.poll) : -1;
    if (fd < 0) return false;
    bool watches = scheduler->attached && scheduler->source.watch;
    if (watches) scheduler->source.watch(scheduler->source.owner, true);
    if (nb_slices_work_is_seen(scheduler) || nb_slices_source_starves(scheduler) ||
        !nb_list_empty(&scheduler->overdue)) {
        if (watches) scheduler->source.watch(scheduler->source.owner, false);
        return false;
    }
    atomic_store_explicit(&slices->descriptor, fd, memory_order_relaxed);
    atomic_store_explicit(&slices->quiet_until_ns, quiet_until_ns(slices, now_ns), memory_order_release);
    return true;
}

void nb_slices_end_quiet(nb_slices *slices) {
    const nb_scheduler *scheduler = slices->scheduler;
    if (slices->quiet_until_ns == 0) return;
    atomic_store_explicit(&slices->quiet_until_ns, 0, memory_order_relaxed);
    if (scheduler->attached && scheduler->source.watch) scheduler->source.watch(scheduler->source.owner, false);
}

void nb_slices_work_comes(nb_slices *slices) {
    if (slices->quiet_until_ns == 0) return;
    nb_slices_end_quiet(slices);
    nb_ticker_ring();
}

/* --- What the loop tells --- */

void nb_slices_switch(nb_slices *slices, int64_t now_ns, bool cut) {
    nb_slices_end_quiet(slices);
    slices->gc_known = !cut && !nb_list_empty(&slices->scheduler->cut);
    if (slices->gc_known) slices->gc_ms = nb_gc_ms();
    atomic_store_explicit(&slices->cut_before, cut, memory_order_relaxed);
    atomic_store_explicit(&slices->switched_ns, now_ns, memory_order_relaxed);
    if (cut && !nb_slices_begin_quiet(slices, now_ns)) nb_ticker_ring();
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

void nb_slices_begin(nb_slices *slices) {
    slices->clocked = nb_thread_clock(pthread_self(), &slices->clock);
    nb_slices_have_lock(slices);
    nb_ticker_stir();
}
