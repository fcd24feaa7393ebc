/*
 * loops.h - the I/O loops of one server (1 unless `io_threads` says more), each with a thread of its own, and what is
 * theirs together.
 *
 * Everything a loop owns is its alone: connections, timers, buffers, queue, a channel to every executor. The first one
 * also has the listeners and the admin pages: it accepts, keeps the limit of connections, and gives each connection to
 * the loop that has the fewest (listener.h). Numbers that others read are atomics with one writer.
 */
#ifndef NB_LOOP_LOOPS_H
#define NB_LOOP_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "send/pace.h"
#include "dispatch/lanes.h"
#include "dispatch/queues.h"
#include "figures/reports.h"
#include "answers/document_roots.h"
#include "loop/loop_state.h"

typedef struct nb_loops {
    nb_loop *each;
    uint16_t count;
    nb_queues queues; /* in use where there are several */
    nb_queues lane_queues[NB_LANES_MAX];
    uint16_t lane_threads[NB_LANES_MAX]; /* of each lane, in each process */
    uint16_t lane_count;
    nb_lanes lanes;                   /* who goes where */
    nb_document_roots document_roots; /* the files they serve */
    nb_address_paces *address_paces;  /* NULL: no limit */
    nb_reports_reader reports;        /* of downloads with names */
    _Atomic uint64_t
        connections_bound; /* as many as there are descriptors for; UINT64_MAX: not known, it has not been met */
    nb_doorbell room_bell; /* the first has stopped accepting at the limit: told when a connection ends or is idle */
} nb_loops;

/* Of a field of nb_loop that is an _Atomic uint64_t: all loops' together. */
uint64_t nb_loops_sum(const nb_loops *loops, size_t offset);
#define NB_SUM(loop, field) nb_loops_sum((loop)->all, offsetof(nb_loop, field))

/* Connections of clients that are open, those on their way from loop to loop included. */
uint64_t nb_loops_connections(const nb_loops *loops);
/* The loop the next connection goes to. For the first loop's thread. */
nb_loop *nb_loops_next(nb_loops *loops);
/* The loop with the connection that has been idle longest, as far as it is known here; NULL: none is idle. */
nb_loop *nb_loops_idlest(const nb_loops *loops);

#endif
