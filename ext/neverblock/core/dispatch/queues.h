/*
 * queues.h - where a server has several I/O loops, each keeps the requests that wait for an executor in a queue of its
 * own (dispatch.h). This makes them one: their bound is counted together, and a loop gives nothing to an executor while
 * another's oldest request came more than a millisecond before.
 *
 * A loop that gives way so sleeps with its `bell` announced. One whose oldest request has changed while there still is
 * credit rings those (doorbell.h); where there is none, the executor rings every loop that waits for some.
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
    nb_doorbell bell;          /* the loop sleeps, and gives way */
    _Atomic int64_t oldest_ns; /* when the first that waits had come; 0: none does */
    const nb_wake *wake;       /* the loop's */
} nb_queue_place;

typedef struct nb_queues {
    uint16_t count;
    _Atomic uint32_t waiting; /* in all */
    nb_queue_place places[NB_IO_THREADS_MAX];
} nb_queues;

/* Of the loop `number`: when the first that waits there had come. */
void nb_queues_publish(nb_queues *queues, uint16_t number, int64_t oldest_ns);
/* A request that came at arrived_ns to the loop `number` must not be given now: another loop's is older. */
bool nb_queues_give_way(const nb_queues *queues, uint16_t number, int64_t arrived_ns);
/* The loops that gave way to `number` look again. */
void nb_queues_wake_others(nb_queues *queues, uint16_t number);

#endif
