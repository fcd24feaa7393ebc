/*
 * sending.h - one client's file ranges on their way, with the memory that stands before them, sent
 * by one algorithm (include/neverblock.h). A step of the algorithm runs on the loop or on a file
 * worker.
 *
 *   begun -> (a step on the loop | with a worker -> returned)* -> ended
 *
 * While a sending is with a worker, the worker alone uses its send queue and its transport. The
 * loop sends nothing to that client, and closes and frees nothing of it. The loop may look at the
 * progress and may cancel. Cancelling wakes a worker that waits for the client; the sending is then
 * returned as any other. A worker queues the next step itself, behind the steps of other sendings,
 * and returns the sending after the last.
 *
 * Threads: all functions are for the loop's thread.
 */
#ifndef NB_SEND_SENDING_H
#define NB_SEND_SENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/workers.h"
#include "send/algorithms.h"
#include "send/send_queue.h"

typedef struct nb_sending nb_sending;

/* What one algorithm has done in one loop. Any thread may read it. */
typedef struct nb_sender_figures {
    _Atomic uint64_t bursts, bytes; /* bursts: steps that sent something */
} nb_sender_figures;

/* What the sendings of one loop share. */
typedef struct nb_senders {
    nb_workers *workers; /* NULL: there are none */
    nb_pool *pool;
    /* Called on a worker: the owner is to call nb_sending_take_back on the loop's thread. */
    void (*returned)(nb_sending *sending);
    uint32_t worker_count, buffer_bytes;
    uint16_t algorithm; /* for ranges that name none */
    nb_sending *free;   /* unused structs, for the next sendings */
    unsigned free_count;
    _Atomic uint64_t active; /* sendings that have begun and not ended */
    /* of these, waiting for a worker, and in a worker's step */
    _Atomic uint64_t queued, running;
    _Atomic uint64_t read_ahead; /* bytes that workers have read for `auto` */
    /* times such bytes had left the page cache before they were sent */
    _Atomic uint64_t pages_lost;
    nb_sender_figures figures[NB_ALGORITHMS_MAX]; /* by number, from 1 */
} nb_senders;

struct nb_sending {
    nb_download download; /* first: what the algorithm sees */
    nb_senders *senders;
    const nb_algorithm *algorithm;
    nb_transport *transport; /* the owner's */
    void *owner;
    uint16_t number; /* of the algorithm */
    uint64_t rate;   /* bytes per second; 0: no limit */
    nb_send_queue send_queue;
    uint64_t left;    /* bytes of the queue, as far as the loop knows */
    bool with_worker; /* a worker alone uses send_queue and transport */
    nb_step step;     /* what the last step wants next */
    nb_status status; /* with NB_STEP_FAILED: NB_EOF (the file became shorter) or NB_SYSTEM */
    int error;        /* with NB_SYSTEM: errno */
    nb_sending *next; /* in the owner's list of those returned, or in nb_senders.free */
    nb_job job;
    uint64_t budget;        /* bytes of a worker's step */
    bool paced;             /* the loop allows each step, for a rate */
    uint64_t paid;          /* bytes counted against the rates, not known to be sent */
    uint64_t step_moved;    /* bytes sent by the current step */
    _Atomic uint64_t moved; /* bytes sent by workers that the loop has not counted */
    _Atomic bool cancelled;
    /* Since when a worker has been waiting for the client; 0: it has not had to wait. */
    _Atomic int64_t waits_since_ns;
    _Alignas(16) char state[NB_ALGORITHM_STATE_BYTES_MAX];
};

/*
 * algorithm: number of the default one. workers: threads; 0: the loop sends everything.
 * buffer_bytes: of an equal part. queue_max: sendings that may wait for a worker. Statuses as
 * nb_workers_create.
 */
nb_status nb_senders_init(nb_senders *senders, uint16_t algorithm, uint32_t workers, uint32_t buffer_bytes,
                          uint32_t queue_max, nb_pool *pool, void (*returned)(nb_sending *sending));
/* Ends the workers. Every sending with a worker is returned before this function is. */
void nb_senders_stop(nb_senders *senders);
/* After nb_senders_stop, when every sending has ended. */
void nb_senders_deinit(nb_senders *senders);

/*
 * Takes the front of the queue, which has a file range (nb_send_queue_split). The caller ends the
 * sending. NULL: out of memory, or the algorithm's `init` failed; the queue is unchanged.
 */
nb_sending *nb_sending_begin(nb_senders *senders, nb_send_queue *queue, nb_transport *transport, void *owner);
/* Drops what is left and frees the sending, which is not with a worker. */
void nb_sending_end(nb_sending *sending);

/*
 * The next step, where it is due: at most `most` bytes, and at most one part of the algorithm.
 * NB_STEP_WORKER: the sending is with a worker now, and will be returned. Else the step has run on
 * the loop, and the answer is what it wants next. *sent: bytes sent by the loop.
 */
nb_step nb_sending_step(nb_sending *sending, uint64_t most, uint64_t *sent);
/*
 * The sending was returned: it is the loop's again. The answer is what its last step wants next.
 * NB_STEP_WORKER, NB_STEP_OTHERS: call nb_sending_step.
 */
nb_step nb_sending_take_back(nb_sending *sending);
/* Bytes that workers have sent since the last call. Also while it is with a worker. */
uint64_t nb_sending_progress(nb_sending *sending);
/* While it is with a worker: its connection is to end; reset: with an RST. */
void nb_sending_cancel(nb_sending *sending, bool reset);
/* A worker has been waiting for the client since before `since_ns` (monotonic). */
bool nb_sending_waits_since(const nb_sending *sending, int64_t since_ns);

/* For algorithms of the core. */
static inline nb_sending *nb_sending_of(nb_download *download) { return (nb_sending *)(void *)download; }

#endif
