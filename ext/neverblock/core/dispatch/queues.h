/*
 * queues.h - makes one queue of the queues of several I/O loops. Each loop keeps the requests that
 * wait for an executor in a queue of its own (dispatch.h). Here the bound is counted for all
 * together, and a loop gives way: it hands nothing to an executor while another loop's oldest
 * request came more than a millisecond earlier.
 *
 * A loop that gives way sleeps with its `bell` announced (base/doorbell.h). A loop whose oldest
 * request has changed rings those bells while there is credit left. Without credit the executor
 * rings every loop that waits for some.
 *
 * Threads: each loop writes its own place, all loops read all places.
 */
#ifndef NB_DISPATCH_QUEUES_H
#define NB_DISPATCH_QUEUES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/limits.h"
#include "poll/wake.h"

typedef struct nb_queue_place {
    nb_doorbell bell;          /* the loop sleeps and gives way */
    _Atomic int64_t oldest_ns; /* when its oldest waiting request came (monotonic); 0: none waits */
    const nb_wake *wake;       /* of the loop; borrowed */
} nb_queue_place;

typedef struct nb_queues {
    uint16_t count;
    _Atomic uint32_t waiting; /* requests that wait, on all loops */
    nb_queue_place places[NB_IO_THREADS_MAX];
} nb_queues;

/* The loop `number` publishes when its oldest waiting request came; 0: none waits. */
void nb_queues_publish(nb_queues *queues, uint16_t number, int64_t oldest_ns);
/* True: the loop `number` must not hand over a request that came at arrived_ns, as another loop has
   an older one. */
bool nb_queues_give_way(const nb_queues *queues, uint16_t number, int64_t arrived_ns);
/* Wakes the loops that gave way to the loop `number`. */
void nb_queues_wake_others(nb_queues *queues, uint16_t number);

#endif
