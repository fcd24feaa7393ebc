/*
 * loops.h - the I/O loops of one server (one, unless `io_threads` says more), each with a thread
 * of its own, and what they share.
 *
 * Each loop owns its connections, timers, buffers, queue, and a channel to every executor. Loop 0
 * also has the listeners and the admin pages. It accepts, keeps the limit of connections, and
 * passes each connection to the loop that has the fewest (listener.h).
 *
 * Threads: numbers that other loops read are atomics with one writer.
 */
#ifndef NB_LOOP_LOOPS_H
#define NB_LOOP_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "send/pace.h"
#include "dispatch/lanes.h"
#include "dispatch/queues.h"
#include "metrics/reports.h"
#include "responses/challenges.h"
#include "responses/document_roots.h"
#include "loop/loop_state.h"

/* How a command of an admin client has ended. */
typedef struct nb_admin_result {
    uint32_t number; /* counts them; 0: there was none */
    bool ok;
    char words[256];
} nb_admin_result;

/* What the admin pages are given before the start (server.h). Owned texts; NULL: not given. */
typedef struct nb_admin_side {
    char *page; /* HTML of `/` */
    size_t page_bytes;
    char *token; /* who has it may change the server */
    size_t token_bytes;
    char *host; /* the name of the admin address, in lower case */
    size_t host_bytes;
    bool has_commands;      /* there is commands_fd */
    bool takes_changes;     /* Ruby reloads, and changes the number of workers */
    int commands_fd;        /* a pipe to Ruby; borrowed */
    nb_admin_result result; /* loop 0's: of the last command */
    /* Loop 0's: JSON of /advice.json, and when it was asked for last. Owned; NULL: none. */
    char *advice;
    size_t advice_bytes;
    int64_t advice_asked_ns;
} nb_admin_side;

typedef struct nb_loops {
    nb_loop *each;
    uint16_t count;
    nb_queues queues; /* used where there are several loops */
    nb_queues lane_queues[NB_LANES_MAX];
    uint16_t lane_threads[NB_LANES_MAX]; /* threads of each lane, per process */
    uint16_t lane_count;
    nb_lanes lanes;                   /* which lane a request goes to */
    nb_document_roots document_roots; /* served files */
    nb_challenges challenges;         /* answers to an ACME server */
    nb_compress_types compress_types; /* which media types are compressed */
    nb_address_paces *address_paces;  /* NULL: no limit */
    nb_reports_reader reports;        /* reports of named downloads */
    nb_admin_side admin;              /* for the admin pages */
    /* Connections for which there are descriptors; UINT64_MAX: the limit was not met yet. */
    _Atomic uint64_t connections_bound;
    /* Loop 0 has paused at the limit: rung when a connection ends or becomes idle. */
    nb_doorbell room_bell;
} nb_loops;

/* The sum over all loops of a field of nb_loop that is an _Atomic uint64_t. */
uint64_t nb_loops_sum(const nb_loops *loops, size_t offset);
#define NB_SUM(loop, field) nb_loops_sum((loop)->all, offsetof(nb_loop, field))

/* Cancels a request that an executor has begun with, in the next turn of its loop. False: too many
   are being cancelled. Any thread. */
bool nb_loops_cancel(nb_loops *loops, nb_exchange_id id);
/* Open connections of clients, including those on their way from loop to loop. */
uint64_t nb_loops_connections(const nb_loops *loops);
/* The loop that gets the next connection. Loop 0 only. */
nb_loop *nb_loops_next(nb_loops *loops);
/* The loop whose connection has been idle longest, as far as is known here. NULL: none is idle. */
nb_loop *nb_loops_idlest(const nb_loops *loops);

#endif
