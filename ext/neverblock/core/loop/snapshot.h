/*
 * snapshot.h - all metrics of a server at one moment, for those who show them (admin.h): what all
 * loops have counted (metrics/), and what executors say of themselves (channel.h).
 *
 * Threads: all of it belongs to the loop's thread. Loop 0 reads the metrics of all loops.
 */
#ifndef NB_LOOP_SNAPSHOT_H
#define NB_LOOP_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/tally.h"
#include "dispatch/dispatch.h"
#include "metrics/downloads.h"
#include "metrics/stages.h"

struct nb_loop;

/* Metrics of a process with executors. */
typedef struct nb_process_figures {
    uint64_t gc_count, gc_minor, gc_major, gc_time_ns;
    uint64_t dns_lookups, dns_cached, dns_failed;
} nb_process_figures;

typedef struct nb_figures {
    nb_stages stages;
    uint64_t rss_bytes; /* as of rss_read_ns */
    int64_t rss_read_ns;
    nb_process_figures past; /* of processes that have ended */
    /* Likewise; with a row for each culprit that was shown with one, so that it keeps that row. */
    nb_tally past_stalls;
} nb_figures;

/* Called with the first admin listener: metrics are kept from then on. NB_NO_MEMORY. */
nb_status nb_figures_create(struct nb_loop *loop);
void nb_figures_destroy(struct nb_loop *loop);

/* The channel's executor has ended: the metrics of its process stay in the totals. */
void nb_figures_channel_end(struct nb_loop *loop, const nb_dispatch_channel *channel);

/* --- what there is to show --- */

/* An executor, including its spares. */
typedef struct nb_executor_now {
    uint64_t taken, turns;
    uint64_t helped; /* times a spare took its requests */
    uint32_t fibers_limit, running, parked, ready;
    int64_t busy_ns;    /* how long the fiber that runs now has run; 0: none runs */
    uint64_t rss_bytes; /* of its process, if that is a worker */
    uint16_t number;    /* its label */
    bool labelled;      /* no newer executor has this number */
    bool retiring;      /* it takes no more requests */
    int32_t pid;        /* of its process, if that is a worker */
    const nb_histogram *lag;
} nb_executor_now;

/* Histograms of all loops. With several loops the sum is made in `room`, which the caller owns. */
const nb_histogram *nb_figures_stage(const struct nb_loop *loop, nb_stage stage, nb_histogram *room);
/* The newest exemplar that a loop has for this bucket of durations. False: none has one. */
bool nb_figures_exemplar(const struct nb_loop *loop, unsigned bucket, nb_exemplar *exemplar);
const nb_histogram *nb_figures_lag(const struct nb_loop *loop, nb_histogram *room);

typedef struct nb_figures_now {
    uint64_t queued, running, writing; /* requests */
    uint64_t errors;
    uint64_t memory_rss, memory_spool, memory_responses; /* bytes */
    uint64_t heap_live_slots, dns_pending;
    nb_process_figures processes; /* totals, including ended processes */
    /* By kind (nb_stall_kind) and culprit, including ended executors. */
    nb_tally stalls;
    uint64_t log_dropped;
    int64_t uptime_ns;
    nb_executor_now executors[NB_CHANNELS_MAX];
    uint16_t executor_count;
} nb_figures_now;

void nb_figures_read(struct nb_loop *loop, nb_figures_now *now);

/* Downloads of all loops. Histograms as above. */
uint64_t nb_figures_downloads(const struct nb_loop *loop, uint16_t algorithm, nb_download_result result);
const nb_histogram *nb_figures_first_byte(const struct nb_loop *loop, nb_histogram *room);
const nb_histogram *nb_figures_download(const struct nb_loop *loop, nb_histogram *room);
/* Buckets hold bytes a second in place of nanoseconds. */
const nb_histogram *nb_figures_speed(const struct nb_loop *loop, nb_histogram *room);

typedef enum nb_server_state {
    NB_SERVER_STARTING,
    NB_SERVER_SERVING,
    NB_SERVER_DRAINING,
    NB_SERVER_ENDED
} nb_server_state;

/* STARTING: no executor has asked for a request yet. ENDED: every executor has ended, without being
   told to. */
nb_server_state nb_figures_state(const struct nb_loop *loop);

#endif
