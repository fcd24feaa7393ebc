/*
 * figures.c - see figures.h.
 */
#include "server/figures.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/clock.h"
#include "os/memory.h"
#include "server/loop.h"

/* Kept for the next responses; more are given back to the heap. */
#define LEAVING_KEPT_MAX 1024u

#define RSS_EVERY_NS NB_NS_PER_S

nb_status nb_figures_create(nb_loop *loop) {
    if (loop->figures) return NB_OK;
    loop->figures = nb_alloc_zero(1, sizeof(*loop->figures));
    return loop->figures ? nb_downloads_measure(&loop->downloads) : NB_NO_MEMORY;
}

static void free_list(nb_leaving *leaving) {
    while (leaving) {
        nb_leaving *next = leaving->next;
        nb_free(leaving);
        leaving = next;
    }
}

void nb_figures_destroy(nb_loop *loop) {
    nb_figures *figures = loop->figures;
    if (!figures) return;
    free_list(figures->left);
    free_list(figures->free);
    nb_free(figures);
    loop->figures = NULL;
}

/* --- hooks --- */

void nb_figures_phase(nb_loop *loop, nb_connection *connection) {
    if (connection->admin) return;
    nb_phase phase = nb_connection_phase(connection);
    if (phase == connection->phase) return;
    if (connection->phase != NB_PHASE_NONE) nb_count(&loop->phases[connection->phase], (uint64_t)-1);
    if (phase != NB_PHASE_NONE) nb_count(&loop->phases[phase], 1);
    connection->phase = (uint8_t)phase;
}

void nb_figures_head(nb_loop *loop, const nb_connection *connection, nb_exchange *exchange) {
    if (!loop->figures || connection->admin) return;
    exchange->began_ns = connection->began_ns;
    exchange->complete_ns = loop->now_ns;
    nb_histogram_record(&loop->figures->stages[NB_STAGE_HEAD], loop->now_ns - connection->began_ns);
}

void nb_figures_body(nb_loop *loop, nb_exchange *exchange) {
    if (!loop->figures || exchange->began_ns == 0) return;
    nb_histogram_record(&loop->figures->stages[NB_STAGE_BODY], loop->now_ns - exchange->complete_ns);
    exchange->complete_ns = loop->now_ns;
}

void nb_figures_answer(nb_loop *loop, nb_exchange *exchange, int64_t taken_ns) {
    const nb_connection *connection = exchange->connection;
    if (connection->admin) return;
    unsigned class = exchange->facts.status / 100;
    if (class >= 1 && class <= 5) nb_count(&loop->answered[class - 1], 1);
    nb_figures *figures = loop->figures;
    if (!figures) return;
    if (exchange->began_ns == 0) exchange->began_ns = connection->began_ns; /* of a head that could not be read */
    exchange->answered_ns = loop->now_ns;
    nb_count(&figures->answers, 1);
    if (taken_ns == 0) return;
    nb_histogram_record(&figures->stages[NB_STAGE_QUEUE], taken_ns - exchange->complete_ns);
    nb_histogram_record(&figures->stages[NB_STAGE_RUN], loop->now_ns - taken_ns);
}

static nb_leaving *take_leaving(nb_figures *figures) {
    nb_leaving *leaving = figures->free;
    if (!leaving) return nb_alloc(sizeof(*leaving));
    figures->free = leaving->next;
    figures->free_count--;
    return leaving;
}

static void give_leaving(nb_figures *figures, nb_leaving *leaving) {
    nb_count(&figures->answers, (uint64_t)-1);
    if (figures->free_count >= LEAVING_KEPT_MAX) {
        nb_free(leaving);
        return;
    }
    leaving->next = figures->free;
    figures->free = leaving;
    figures->free_count++;
}

void nb_figures_dropped(nb_loop *loop, nb_exchange *exchange) {
    if (exchange->answered_ns) nb_count(&loop->figures->answers, (uint64_t)-1);
    exchange->answered_ns = 0;
}

/* Without memory for the note, the response is not taken down. */
void nb_figures_leaving(nb_loop *loop, nb_connection *connection, nb_exchange *exchange) {
    if (exchange->cut) nb_count(&loop->broken, 1);
    if (!exchange->answered_ns) return;
    nb_leaving *leaving = exchange->cut ? NULL : take_leaving(loop->figures);
    if (!leaving) {
        nb_figures_dropped(loop, exchange);
        return;
    }
    *leaving = (nb_leaving){NULL, connection->sent + nb_connection_owed(connection), exchange->began_ns,
                            exchange->answered_ns};
    if (connection->leaving) {
        connection->leaving_last->next = leaving;
    } else {
        connection->leaving = leaving;
    }
    connection->leaving_last = leaving;
}

void nb_figures_sent(nb_loop *loop, nb_connection *connection, uint64_t bytes) {
    connection->sent += bytes;
    if (!connection->admin) NB_COUNT(loop, bytes_sent, bytes);
    while (connection->leaving && connection->leaving->end <= connection->sent) {
        nb_leaving *leaving = connection->leaving;
        connection->leaving = leaving->next;
        leaving->next = loop->figures->left;
        loop->figures->left = leaving;
    }
}

void nb_figures_connection_end(nb_loop *loop, nb_connection *connection) {
    while (connection->leaving) {
        nb_leaving *leaving = connection->leaving;
        connection->leaving = leaving->next;
        give_leaving(loop->figures, leaving);
    }
}

void nb_figures_turn(nb_loop *loop) {
    nb_figures *figures = loop->figures;
    if (!figures) return;
    int64_t now_ns = figures->left ? nb_clock_monotonic_ns() : loop->now_ns;
    while (figures->left) {
        nb_leaving *leaving = figures->left;
        figures->left = leaving->next;
        nb_histogram_record(&figures->stages[NB_STAGE_WRITE], now_ns - leaving->answered_ns);
        nb_histogram_record(&figures->stages[NB_STAGE_TOTAL], now_ns - leaving->began_ns);
        give_leaving(figures, leaving);
    }
    if (figures->polled_ns) nb_histogram_record(&figures->lag, now_ns - figures->polled_ns);
}

/* --- what there is to show --- */

nb_server_state nb_figures_state(const nb_loop *loop) {
    bool drains = loop->draining || atomic_load_explicit(&loop->drain, memory_order_acquire) ||
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
    if (!loop->figures || loop->number > 0) return; /* each loop has a channel to it */
    nb_tally_add(&loop->figures->past_stalls, &channel->channel->board->stalls);
    if (channel->before != NB_CHANNEL_NONE) return; /* the executor it helps tells the same */
    nb_process_figures process = process_of(channel);
    add_process(&loop->figures->past, &process);
}

/* Workers are a process each. Executors of one process tell the same, some later than others: the latest counts. */
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

/* What it does is shown as done by the executor whose spare it is, or whose process has it. */
static void add_spare(const nb_dispatch_channel *channel, nb_executor_now *executor, nb_figures_now *now) {
    nb_executor_figures *figures = &channel->channel->board->figures;
    uint32_t parked = LOAD(figures->parked), pooled = LOAD(figures->pooled);
    executor->taken += LOAD(figures->taken);
    executor->helped += LOAD(figures->let_in);
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
        .busy_ns = switched_ns && loop->now_ns > switched_ns ? loop->now_ns - switched_ns : 0,
        .rss_bytes = LOAD(figures->rss_bytes),
        .number = channel->number,
        .pid = channel->pid,
        .lag = &figures->lag,
    };
    now->queued += nb_link_pending(channel->channel->link);
    const nb_dispatch_channel *spare = channel;
    while ((spare = nb_dispatch_after(&loop->dispatch, spare))) {
        add_spare(spare, executor, now);
    }
    now->running += executor->running;
    nb_tally_add(&now->stalls, &board->stalls);
    read_process(channel, now);
}

/* Threads of lanes, which have numbers of their own, are shown with the executor of their process. */
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
    if (!figures->rss_read_ns || loop->now_ns - figures->rss_read_ns >= RSS_EVERY_NS) {
        figures->rss_bytes = nb_memory_resident_bytes();
        figures->rss_read_ns = loop->now_ns;
    }
    return figures->rss_bytes;
}

static uint64_t answers(const nb_loops *all) {
    uint64_t sum = 0;
    for (uint16_t i = 0; i < all->count; i++) {
        sum += nb_counted(&all->each[i].figures->answers);
    }
    return sum;
}

/* offset: of a histogram in nb_figures. */
static const nb_histogram *together(const nb_loop *loop, size_t offset, nb_histogram *room) {
    const nb_loops *all = loop->all;
    if (all->count == 1) return (const void *)((const char *)loop->figures + offset);
    memset(room, 0, sizeof(*room));
    for (uint16_t i = 0; i < all->count; i++) {
        nb_histogram_add(room, (const void *)((const char *)all->each[i].figures + offset));
    }
    return room;
}

const nb_histogram *nb_figures_stage(const nb_loop *loop, nb_stage stage, nb_histogram *room) {
    return together(loop, offsetof(nb_figures, stages) + (size_t)stage * sizeof(nb_histogram), room);
}

const nb_histogram *nb_figures_lag(const nb_loop *loop, nb_histogram *room) {
    return together(loop, offsetof(nb_figures, lag), room);
}

void nb_figures_read(nb_loop *loop, nb_figures_now *now) {
    uint64_t shed = NB_SUM(loop, counters.shed), failed = NB_SUM(loop, answered[4]), broken = NB_SUM(loop, broken);
    *now = (nb_figures_now){
        .queued = nb_dispatch_waiting_in_all(&loop->dispatch),
        .writing = answers(loop->all),
        .processes = loop->figures->past,
        .memory_rss = rss_bytes(loop),
        .memory_spool = nb_spool_bytes(&loop->spool),
        .memory_responses = NB_SUM(loop, counters.response_bytes),
        .errors = failed > shed ? failed - shed + broken : broken,
        .log_dropped = nb_log_dropped_by_all(),
        .uptime_ns = loop->now_ns - loop->started_ns,
    };
    nb_tally_add(&now->stalls, &loop->figures->past_stalls);
    for (uint16_t i = 0; i < loop->dispatch.count; i++) {
        const nb_dispatch_channel *channel = &loop->dispatch.channels[i];
        if (channel->channel && channel->before == NB_CHANNEL_NONE) read_executor(loop, channel, now);
    }
    for (const nb_dispatch *lane = loop->dispatch.next_lane; lane; lane = lane->next_lane) {
        add_lane(lane, now);
    }
}
