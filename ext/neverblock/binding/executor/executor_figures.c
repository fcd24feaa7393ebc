/*
 * executor_figures.c - see executor_figures.h.
 */
#include "binding/executor/executor_figures.h"

#include "binding/base/module.h"
#include "os/clock.h"
#include "os/memory.h"
#include "binding/hooks/resolve.h"
#include "binding/scheduler/scheduler.h"

/* While the process is busy its figures are written so often. */
#define TELL_EVERY_NS (100 * NB_NS_PER_MS)

/* Weight of the time between two sleeps in the moving average. */
#define REQUEST_NS_WEIGHT 8

static uint64_t gc_figure(const char *name) { return (uint64_t)rb_gc_stat(ID2SYM(rb_intern(name))); }

void nb_executor_figures_begin(nb_executor *executor) {
    executor->gc_before[0] = rb_gc_count();
    executor->gc_before[1] = gc_figure("minor_gc_count");
    executor->gc_before[2] = gc_figure("major_gc_count");
    executor->gc_before[3] = nb_gc_ms();
}

void nb_executor_figures_tell(nb_executor *executor, int64_t now_ns) {
    nb_executor_figures *figures = &executor->board->figures;
    nb_resolver_figures names = nb_resolve_figures();
    executor->figures_told_ns = now_ns;
    executor->gc_told = rb_gc_count();
#define NB_TELL(field, value) atomic_store_explicit(&figures->field, (value), memory_order_relaxed)
    NB_TELL(gc_count, executor->gc_told - executor->gc_before[0]);
    NB_TELL(gc_minor, gc_figure("minor_gc_count") - executor->gc_before[1]);
    NB_TELL(gc_major, gc_figure("major_gc_count") - executor->gc_before[2]);
    NB_TELL(gc_time_ns, (nb_gc_ms() - executor->gc_before[3]) * NB_NS_PER_MS);
    NB_TELL(heap_live_slots, gc_figure("heap_live_slots"));
    NB_TELL(dns_lookups, names.lookups);
    NB_TELL(dns_cached, names.cached);
    NB_TELL(dns_failed, names.failed);
    NB_TELL(dns_pending, names.pending);
    if (!executor->server) NB_TELL(rss_bytes, nb_memory_resident_bytes());
#undef NB_TELL
}

void nb_executor_figures_turn(nb_executor *executor) {
    int64_t now = nb_scheduler_clock(executor->scheduler);
    if (executor->turn_began_ns) nb_histogram_record(&executor->board->figures.lag, now - executor->turn_began_ns);
    executor->turn_began_ns = now;
    if (now - executor->figures_told_ns >= TELL_EVERY_NS) nb_executor_figures_tell(executor, now);
}

void nb_executor_figures_sleep(nb_executor *executor) {
    uint64_t came = executor->received - executor->received_asleep;
    executor->received_asleep = executor->received;
    if (!executor->awake_ns || came == 0) return;
    int64_t mean = (nb_clock_monotonic_ns() - executor->awake_ns) / (int64_t)came;
    int64_t last = atomic_load_explicit(&executor->board->figures.request_ns, memory_order_relaxed);
    int64_t next = last ? last + (mean - last) / REQUEST_NS_WEIGHT : mean;
    uint32_t told = next >= UINT32_MAX ? UINT32_MAX : next > 0 ? (uint32_t)next : 1;
    atomic_store_explicit(&executor->board->figures.request_ns, told, memory_order_relaxed);
}
