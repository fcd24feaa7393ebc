/*
 * sending.h - one client's file ranges on their way, and what stands before them, by one algorithm (include/neverblock.h): its
 * steps on the loop, and the lending to file workers.
 *
 *   begun -> (a step on the loop | lent -> returned)* -> end
 *
 * While it is lent a worker owns send queue and transport: the loop sends nothing to that client, and neither closes nor frees
 * anything of it. It may look at the progress, and cancel: whoever waits for the client in a worker is woken then, and the sending
 * comes back as any other. Steps that ask for a worker again are queued by the worker itself, behind those that wait, and the
 * loop hears of none but the last.
 *
 * All functions are for the loop's thread but for what is said.
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

/* What the algorithms of one loop have done. Any thread reads. */
typedef struct nb_sender_figures {
    _Atomic uint64_t bursts, bytes; /* steps that sent something */
} nb_sender_figures;

/* Of one loop. */
typedef struct nb_senders {
    nb_workers *workers; /* NULL: there are none */
    nb_pool *pool;
    void (*returned)(nb_sending *sending); /* on a worker: it is to be given back to the loop */
    uint32_t worker_count, buffer_bytes;
    uint16_t algorithm; /* for ranges that name none */
    nb_sending *free;   /* kept */
    unsigned free_count;
    _Atomic uint64_t active;                      /* sendings */
    _Atomic uint64_t queued, running;             /* those lent: waiting for a worker, with one */
    _Atomic uint64_t read_ahead;                  /* bytes that `auto` had read by workers */
    _Atomic uint64_t pages_lost;                  /* times they were gone again */
    nb_sender_figures figures[NB_ALGORITHMS_MAX]; /* by number, from 1 */
} nb_senders;

struct nb_sending {
    nb_download download; /* first: what the algorithm sees */
    nb_senders *senders;
    const nb_algorithm *algorithm;
    nb_transport *transport;
    void *owner;
    uint16_t number;          /* of the algorithm */
    uint64_t rate;            /* bytes a second; 0: no limit */
    nb_send_queue send_queue; /* a worker's while lent */
    uint64_t left;            /* bytes of it, as far as the loop knows */
    bool with_worker;
    nb_step step;     /* what the last one wants */
    nb_status status; /* with NB_STEP_FAILED: NB_EOF (a file shrank) or NB_SYSTEM */
    int error;        /* with NB_SYSTEM: errno */
    nb_sending *next; /* the owner's list of those returned; or kept */
    nb_job job;
    uint64_t budget;        /* of a step on a worker */
    bool paced;             /* each step is the loop's to allow */
    uint64_t paid;          /* what the loop has counted against its rates and not seen sent */
    uint64_t step_moved;    /* by the step that runs */
    _Atomic uint64_t moved; /* by workers, and not yet seen by the loop */
    _Atomic bool cancelled;
    _Atomic int64_t
        waits_since_ns; /* since when this stretch on a worker has had to wait for the client; 0: it has not */
    _Alignas(16) char state[NB_ALGORITHM_STATE_BYTES_MAX];
};

/* algorithm: the number of the default one. workers 0: all is sent from the loop. queue_max: sendings that may wait for a worker. */
nb_status nb_senders_init(nb_senders *senders, uint16_t algorithm, uint32_t workers, uint32_t buffer_bytes,
                          uint32_t queue_max, nb_pool *pool, void (*returned)(nb_sending *sending));
/* Ends the workers: what is lent comes back by `returned` before this is over. */
void nb_senders_stop(nb_senders *senders);
/* After stop, when every sending has ended. */
void nb_senders_deinit(nb_senders *senders);

/* Takes the front of the send queue, which has a file range: all that is sent as the first range says. NULL: no memory, or the
   algorithm would not. */
nb_sending *nb_sending_begin(nb_senders *senders, nb_send_queue *queue, nb_transport *transport, void *owner);
/* Clears what is left, and frees it. Not while it is lent. */
void nb_sending_end(nb_sending *sending);

/* The next step, where it is due: `most` bytes, fewer where the algorithm's parts are smaller. Run here, *sent bytes went and the
   answer is what the step wants. NB_STEP_WORKER: it is lent, and will be returned. */
nb_step nb_sending_step(nb_sending *sending, uint64_t most, uint64_t *sent);
/* It has been returned: it is the loop's again. The answer is what its last step wants; NB_STEP_WORKER and _OTHERS: step it again. */
nb_step nb_sending_take_back(nb_sending *sending);
/* Bytes that workers have sent since they were last asked for; lent or not. */
uint64_t nb_sending_progress(nb_sending *sending);
/* While it is lent: the connection is to end. */
void nb_sending_cancel(nb_sending *sending, bool reset);
/* A worker has been waiting for the client since before `since_ns`. */
bool nb_sending_waits_since(const nb_sending *sending, int64_t since_ns);

/* For algorithms of the core. */
static inline nb_sending *nb_sending_of(nb_download *download) { return (nb_sending *)(void *)download; }

#endif
