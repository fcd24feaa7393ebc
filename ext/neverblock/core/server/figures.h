/*
 * figures.h - what the loop knows about itself and its executors, as numbers: how long the stages of requests took,
 * how late the loop came, and everything countable at one moment for those who show it (admin.h).
 *
 * Stages of a request: head (first byte to whole head), body (head to whole body), queue (whole request until an
 * executor takes it), run (until the head of the response is here), write (until its last byte has left to the
 * kernel), total (first byte to last). They are taken down only when somebody can read them: with an admin listener
 * (loop->figures is NULL without one, and nothing here costs more than that look). Counters are kept always.
 *
 * Times are the loop's own clock, read when a poll returns, when parts of responses are taken and after they were
 * sent. Owned by the loop's thread; where there are several loops the first shows what all have counted.
 */
#ifndef NB_SERVER_FIGURES_H
#define NB_SERVER_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/tally.h"
#include "server/connection.h"
#include "dispatch/dispatch.h"

struct nb_loop;

typedef enum nb_stage {
    NB_STAGE_HEAD,
    NB_STAGE_BODY,
    NB_STAGE_QUEUE,
    NB_STAGE_RUN,
    NB_STAGE_WRITE,
    NB_STAGE_TOTAL,
    NB_STAGES
} nb_stage;

/* A whole response that has not left whole. */
typedef struct nb_leaving nb_leaving;
struct nb_leaving {
    nb_leaving *next;
    uint64_t end; /* place of its last byte among all that the connection sends */
    int64_t began_ns, answered_ns;
};

/* What a process with executors counts. */
typedef struct nb_process_figures {
    uint64_t gc_count, gc_minor, gc_major, gc_time_ns;
    uint64_t dns_lookups, dns_cached, dns_failed;
} nb_process_figures;

typedef struct nb_figures {
    nb_histogram stages[NB_STAGES];
    nb_histogram lag;         /* from one look at the poller to the next: how long an event may have waited */
    int64_t polled_ns;        /* when the last poll returned; 0: before the first */
    _Atomic uint64_t answers; /* responses that have begun and not left whole */
    nb_leaving *left, *free;  /* those that left in this turn; unused ones */
    uint32_t free_count;
    uint64_t rss_bytes; /* as it was at rss_read_ns */
    int64_t rss_read_ns;
    nb_process_figures past; /* of processes that have ended */
    nb_tally past_stalls;    /* likewise */
} nb_figures;

/* The first admin listener asks for it. NB_NO_MEMORY. */
nb_status nb_figures_create(struct nb_loop *loop);
void nb_figures_destroy(struct nb_loop *loop);

/* --- hooks; each is called where the thing happens, and looks whether anybody wants to know --- */

/* A connection's state has settled: it is counted under what it does now. */
void nb_figures_phase(struct nb_loop *loop, nb_connection *connection);
/* The head of a request is whole. */
void nb_figures_head(struct nb_loop *loop, const nb_connection *connection, nb_exchange *exchange);
/* Its body is. */
void nb_figures_body(struct nb_loop *loop, nb_exchange *exchange);
/* A response begins. taken_ns: when an executor took its request; 0: none did. */
void nb_figures_answer(struct nb_loop *loop, nb_exchange *exchange, int64_t taken_ns);
/* The first exchange of a connection has ended; its bytes are the last in the outbox now. */
void nb_figures_leaving(struct nb_loop *loop, nb_connection *connection, nb_exchange *exchange);
/* Bytes went to a client. */
void nb_figures_sent(struct nb_loop *loop, nb_connection *connection, uint64_t bytes);
/* The exchange's response will not be sent any further. */
void nb_figures_dropped(struct nb_loop *loop, nb_exchange *exchange);
/* The connection ends: so do the responses that have not left. */
void nb_figures_connection_end(struct nb_loop *loop, nb_connection *connection);
/* The channel's executor is no more: what its process has counted stays in the totals. */
void nb_figures_channel_end(struct nb_loop *loop, const nb_dispatch_channel *channel);
/* Everything that could be sent in this turn was; the poller is asked next. Reads the clock when a response has left. */
void nb_figures_turn(struct nb_loop *loop);

/* --- what there is to show --- */

/* An executor with its spares. */
typedef struct nb_executor_now {
    uint64_t taken, turns;
    uint64_t helped; /* times a spare was let in */
    uint32_t fibers_limit, running, parked, ready;
    int64_t busy_ns;    /* how long the fiber that runs now has; 0: none does */
    uint64_t rss_bytes; /* of its process, when that is a worker */
    uint16_t number;    /* its label */
    int32_t pid;        /* of its process, when that is a worker; 0 */
    const nb_histogram *lag;
} nb_executor_now;

/* Of all loops. Where there are several the sum is made in `room`, the caller's. */
const nb_histogram *nb_figures_stage(const struct nb_loop *loop, nb_stage stage, nb_histogram *room);
const nb_histogram *nb_figures_lag(const struct nb_loop *loop, nb_histogram *room);

typedef struct nb_figures_now {
    uint64_t queued, running, writing; /* requests */
    uint64_t errors;
    uint64_t memory_rss, memory_spool, memory_responses; /* bytes */
    uint64_t heap_live_slots, dns_pending;
    nb_process_figures processes; /* together, ended ones included */
    nb_tally stalls;              /* by kind (nb_stall_kind) and culprit, those of executors that have ended included */
    uint64_t log_dropped;
    int64_t uptime_ns;
    nb_executor_now executors[NB_CHANNELS_MAX];
    uint16_t executor_count;
} nb_figures_now;

void nb_figures_read(struct nb_loop *loop, nb_figures_now *now);

typedef enum nb_server_state {
    NB_SERVER_STARTING,
    NB_SERVER_SERVING,
    NB_SERVER_DRAINING,
    NB_SERVER_ENDED
} nb_server_state;

/* STARTING: no executor has asked for a request yet. ENDED: every executor has gone, unasked. */
nb_server_state nb_figures_state(const struct nb_loop *loop);

#endif
