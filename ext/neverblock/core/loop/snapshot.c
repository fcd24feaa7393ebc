/*
 * snapshot.c - see snapshot.h.
 */
#include "loop/snapshot.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/clock.h"
#include "os/memory.h"
#include "loop/loop_state.h"
#include "loop/loops.h"
#include "loop/slow_clients.h"

#define RSS_EVERY_NS NB_NS_PER_S

nb_status nb_figures_create(nb_loop *loop) {
    if (loop->figures) return NB_OK;
    loop->figures = nb_alloc_zero(1, sizeof(*loop->figures));
    if (!loop->figures) return NB_NO_MEMORY;
    loop->responses.stages = &loop->figures->stages;
    if (nb_slow_clients_create(loop) != NB_OK) return NB_NO_MEMORY;
    return nb_downloads_measure(&loop->downloads);
}

void nb_figures_destroy(nb_loop *loop) {
    if (!loop->figures) return;
    nb_stages_deinit(&loop->figures->stages);
    nb_slow_clients_destroy(loop);
    nb_free(loop->figures);
    loop->figures = NULL;
    loop->responses.stages = NULL;
}

/* --- what there is to show --- */

nb_server_state nb_figures_state(const nb_loop *loop) {
    bool drains = loop->connections.draining || atomic_load_explicit(&loop->drain, memory_order_acquire) ||
                  atomic_load_explicit(&loop->stop, memory_order_acquire);
    if (drains) return NB_SERVER_DRAINING;
    if (!loop->config.front && loop->dispatch.count && nb_dispatch_executors_gone(&loop->dispatch))
        return NB_SERVER_ENDED;
    return nb_dispatch_executors_idle(&loop->dispatch) ? NB_SERVER_STARTING : NB_SERVER_SERVING;
}

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

static nb_process_figures process_of(const nb_dispatch_channel *channel) {
    nb_executor_figures *figures = &channel->channel->board->figures;
    return (nb_process_figures){
        .gc_count = LOAD(figures->gc_count),
        .gc_minor = LOAD(figures->gc_minor),
        .gc_major = LOAD(figures->gc_major),
        .gc_time_ns = LOAD(figures->gc_time_ns),
        .dns_lookups = LOAD(figures->dns_lookups),
        .dns_cached = LOAD(figures->dns_cached),
        .dns_failed = LOAD(figures->dns_failed),
    };
}

static void add_process(nb_process_figures *total, const nb_process_figures *process) {
    total->gc_count += process->gc_count;
    total->gc_minor += process->gc_minor;
    total->gc_major += process->gc_major;
    total->gc_time_ns += process->gc_time_ns;
    total->dns_lookups += process->dns_lookups;
    total->dns_cached += process->dns_cached;
    total->dns_failed += process->dns_failed;
}

void nb_figures_channel_end(nb_loop *loop, const nb_dispatch_channel *channel) {
    /* Once for all loops, as each has a channel to the executor. */
    if (!loop->figures || loop->number > 0) return;
    nb_tally_add(&loop->figures->past_stalls, &channel->channel->board->stalls);
    /* A spare and a thread of a lane report the same process as its first executor. */
    if (channel->helped != NB_CHANNEL_NONE || channel->channel->link->lane) return;
    nb_process_figures process = process_of(channel);
    add_process(&loop->figures->past, &process);
}

/* Each worker is a process. Executors of one process report the same numbers at different times:
   the latest counts. */
static void read_process(const nb_dispatch_channel *channel, nb_figures_now *now) {
    nb_executor_figures *figures = &channel->channel->board->figures;
    nb_process_figures process = process_of(channel);
    bool shared = nb_channel_is_shared(channel->channel);
    if (shared) {
        add_process(&now->processes, &process);
    } else if (process.gc_count >= now->processes.gc_count) {
        now->processes = process;
    } else {
        return;
    }
    now->heap_live_slots = (shared ? now->heap_live_slots : 0) + LOAD(figures->heap_live_slots);
    now->dns_pending = (shared ? now->dns_pending : 0) + LOAD(figures->dns_pending);
}

/* Adds a spare, or a thread of a lane, to the executor with which it is shown. */
static void add_spare(const nb_dispatch_channel *channel, nb_executor_now *executor, nb_figures_now *now) {
    nb_executor_figures *figures = &channel->channel->board->figures;
    uint32_t parked = LOAD(figures->parked), pooled = LOAD(figures->pooled);
    executor->taken += LOAD(figures->taken);
    executor->helped += LOAD(figures->found_blocked);
    executor->running += LOAD(figures->running);
    executor->parked += parked > pooled ? parked - pooled : 0;
    executor->ready += LOAD(figures->ready);
    now->queued += nb_link_pending(channel->channel->link);
    nb_tally_add(&now->stalls, &channel->channel->board->stalls);
}

static void read_executor(nb_loop *loop, const nb_dispatch_channel *channel, nb_figures_now *now) {
    nb_board *board = channel->channel->board;
    nb_executor_figures *figures = &board->figures;
    int64_t switched_ns = LOAD(board->pulse.switched_ns);
    uint32_t parked = LOAD(figures->parked), pooled = LOAD(figures->pooled);
    nb_executor_now *executor = &now->executors[now->executor_count++];
    *executor = (nb_executor_now){
        .taken = LOAD(figures->taken),
        .turns = LOAD(board->pulse.turns),
        .fibers_limit = LOAD(figures->fibers_limit),
        .running = LOAD(figures->running),
        .parked = parked > pooled ? parked - pooled : 0,
        .ready = LOAD(figures->ready),
        .busy_ns = switched_ns && loop->time.now_ns > switched_ns ? loop->time.now_ns - switched_ns : 0,
        .rss_bytes = LOAD(figures->rss_bytes),
        .number = channel->number,
        .labelled = nb_dispatch_has_number(&loop->dispatch, channel),
        .retiring = channel->retire_due || channel->lost,
        .pid = channel->pid,
        .lag = &figures->lag,
    };
    now->queued += nb_link_pending(channel->channel->link);
    const nb_dispatch_channel *spare = channel;
    while ((spare = nb_dispatch_spare_of(&loop->dispatch, spare))) {
        add_spare(spare, executor, now);
    }
    now->running += executor->running;
    nb_tally_add(&now->stalls, &board->stalls);
    read_process(channel, now);
}

/* Threads of lanes have numbers of their own. They are shown with the executor of their process. */
static void add_lane(const nb_dispatch *lane, nb_figures_now *now) {
    for (uint16_t i = 0; i < lane->count; i++) {
        const nb_dispatch_channel *channel = &lane->channels[i];
        for (uint16_t j = 0; channel->channel && j < now->executor_count; j++) {
            nb_executor_now *executor = &now->executors[j];
            if (executor->pid != channel->pid) continue;
            now->running += LOAD(channel->channel->board->figures.running);
            add_spare(channel, executor, now);
            break;
        }
    }
}

static uint64_t rss_bytes(nb_loop *loop) {
    nb_figures *figures = loop->figures;
    if (!figures->rss_read_ns || loop->time.now_ns - figures->rss_read_ns >= RSS_EVERY_NS) {
        figures->rss_bytes = nb_memory_resident_bytes();
        figures->rss_read_ns = loop->time.now_ns;
    }
    return figures->rss_bytes;
}

static uint64_t responses(const nb_loops *all) {
    uint64_t sum = 0;
    for (uint16_t i = 0; i < all->count; i++) {
        sum += nb_counted(&all->each[i].responses.stages->under_way);
    }
    return sum;
}

/* A histogram of one loop, by its offset in a struct of the loop. NULL: not kept. */
typedef const nb_histogram *histogram_of(const nb_loop *loop, size_t place);

static const nb_histogram *together(const nb_loop *loop, nb_histogram *room, histogram_of *of, size_t place) {
    const nb_loops *all = loop->all;
    if (all->count == 1 && of(loop, place)) return of(loop, place);
    memset(room, 0, sizeof(*room));
    for (uint16_t i = 0; i < all->count; i++) {
        const nb_histogram *one = of(&all->each[i], place);
        if (one) nb_histogram_add(room, one);
    }
    return room;
}

static const nb_histogram *of_stages(const nb_loop *loop, size_t place) {
    return (const void *)((const char *)loop->responses.stages + place);
}

const nb_histogram *nb_figures_stage(const nb_loop *loop, nb_stage stage, nb_histogram *room) {
    return together(loop, room, of_stages, offsetof(nb_stages, each) + (size_t)stage * sizeof(nb_histogram));
}

bool nb_figures_exemplar(const nb_loop *loop, unsigned bucket, nb_exemplar *exemplar) {
    const nb_loops *all = loop->all;
    bool found = false;
    for (uint16_t i = 0; i < all->count; i++) {
        const nb_stages *stages = all->each[i].responses.stages;
        nb_exemplar read;
        if (!stages || !nb_exemplars_read(&stages->exemplars, bucket, &read)) continue;
        if (!found || read.wall_ns > exemplar->wall_ns) *exemplar = read;
        found = true;
    }
    return found;
}

const nb_histogram *nb_figures_lag(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, of_stages, offsetof(nb_stages, lag));
}

void nb_figures_read(nb_loop *loop, nb_figures_now *now) {
    *now = (nb_figures_now){
        .queued = nb_dispatch_waiting_in_all(&loop->dispatch),
        .writing = responses(loop->all),
        .processes = loop->figures->past,
        .memory_rss = rss_bytes(loop),
        .memory_spool = nb_spool_bytes(&loop->connections.spool),
        .memory_responses = NB_SUM(loop, counters.response_bytes),
        .errors = NB_SUM(loop, counters.errors) + NB_SUM(loop, counters.broken),
        .log_dropped = nb_log_dropped_by_all(),
        .uptime_ns = loop->time.now_ns - loop->started_ns,
    };
    nb_tally_add(&now->stalls, &loop->figures->past_stalls);
    for (uint16_t i = 0; i < loop->dispatch.count; i++) {
        const nb_dispatch_channel *channel = &loop->dispatch.channels[i];
        if (channel->channel && channel->helped == NB_CHANNEL_NONE) read_executor(loop, channel, now);
    }
    for (const nb_dispatch *lane = loop->dispatch.next_lane; lane; lane = lane->next_lane) {
        add_lane(lane, now);
    }
    nb_tally_keep_rows(&loop->figures->past_stalls, &now->stalls);
}

/* --- downloads --- */

uint64_t nb_figures_downloads(const nb_loop *loop, uint16_t algorithm, nb_download_result result) {
    size_t place = offsetof(nb_loop, downloads) + offsetof(nb_downloads, results);
    return nb_loops_sum(loop->all,
                        place + ((size_t)algorithm * NB_DOWNLOAD_RESULT_COUNT + result) * sizeof(_Atomic uint64_t));
}

/* place: offset of a pointer. */
static const nb_histogram *of_downloads(const nb_loop *loop, size_t place) {
    return *(nb_histogram *const *)(const void *)((const char *)&loop->downloads + place);
}

const nb_histogram *nb_figures_first_byte(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, of_downloads, offsetof(nb_downloads, first_byte));
}

const nb_histogram *nb_figures_download(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, of_downloads, offsetof(nb_downloads, whole));
}

const nb_histogram *nb_figures_speed(const nb_loop *loop, nb_histogram *room) {
    return together(loop, room, of_downloads, offsetof(nb_downloads, speed));
}
