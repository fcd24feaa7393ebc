/*
 * dispatch.h - from complete requests to executors: the bounded intake queue and the channels that pull from it.
 *
 * A request goes straight into a channel's ring while nothing waits before it and an executor has asked for more; else
 * it waits in the queue, and past the queue's bound it is refused (the caller answers 503). The bound is for those that
 * have no fiber to run in: beyond it there may wait as many as the executors have free ones. Sleeping executors are
 * served first, then the one that has the most credit left: so a request never queues behind a busy executor while
 * another is free. Owned by the loop's thread.
 */
#ifndef NB_SERVER_DISPATCH_H
#define NB_SERVER_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "intake/channel.h"
#include "intake/request.h"
#include "server/exchange.h"

#define NB_CHANNELS_MAX 64u

typedef struct nb_dispatch_channel {
    nb_channel *channel;
    nb_ring_producer requests;
    nb_ring_consumer responses;
    uint64_t sent;     /* requests given to it */
    nb_exchange *news; /* exchanges with DRAINED, LEFT or GONE to tell, when the ring was full */
    bool room_wanted;  /* there was none for a part of a request's body */
    bool dirty;        /* something is committed and not published */
    bool stop_due, stopped;
} nb_dispatch_channel;

typedef struct nb_waiting nb_waiting;

typedef struct nb_dispatch {
    nb_dispatch_channel channels[NB_CHANNELS_MAX];
    uint16_t count;
    nb_waiting *first, *last;
    uint32_t waiting, waiting_max;
    uint32_t allowance; /* as the channels' */
    nb_exchanges *exchanges;
} nb_dispatch;

void nb_dispatch_init(nb_dispatch *dispatch, nb_exchanges *exchanges, uint32_t waiting_max);
void nb_dispatch_deinit(nb_dispatch *dispatch);
nb_status nb_dispatch_channel_add(nb_dispatch *dispatch, const nb_wake *loop_wake, nb_channel **channel);

/* Gives a request without a body to an executor or queues it. NB_FULL: the queue is full; NB_NO_MEMORY. */
nb_status nb_dispatch_head(nb_dispatch *dispatch, nb_exchange *exchange, const nb_request_facts *facts);
/* The same for a finished message, which is taken on success (nb_alloc'ed). */
nb_status nb_dispatch_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message);

/* Bytes each response may hold from now on; known to the executors at their next part. */
void nb_dispatch_allow(nb_dispatch *dispatch, uint32_t bytes);
/* Where NB_INPUT_PART_BYTES bytes of the exchange's body may be put for its executor. NULL: no executor has the request
 * yet, or its ring has no room; when there is, the loop does not sleep. */
char *nb_dispatch_input_reserve(nb_dispatch *dispatch, const nb_exchange *exchange);
/* All that found no room try again now, once a turn. */
void nb_dispatch_input_retry(nb_dispatch *dispatch);
/* Sends that many of them. */
void nb_dispatch_input_send(nb_dispatch *dispatch, const nb_exchange *exchange, size_t bytes, bool last);
/* Takes out of the queue, and returns, an exchange whose deadline has passed there: it is to be answered in place of an
   executor. Its message is the caller's to free. NULL: there is none. */
nb_exchange *nb_dispatch_take_overdue(nb_dispatch *dispatch, int64_t now_ns, nb_request_message **message);
/* Takes it out of the queue, if it is there, with the file of its body. */
void nb_dispatch_forget(nb_dispatch *dispatch, nb_exchange *exchange);
/* The next such deadline; INT64_MAX: none. */
int64_t nb_dispatch_deadline_ns(const nb_dispatch *dispatch);

/* Tells the exchange's executor DRAINED, LEFT or GONE, now or when its ring has room; LEFT also when it has got the request. */
void nb_dispatch_tell_drained(nb_dispatch *dispatch, nb_exchange *exchange);
void nb_dispatch_tell_left(nb_dispatch *dispatch, nb_exchange *exchange);
/* Gives the executor the exchange's handover. */
void nb_dispatch_hand_over(nb_dispatch *dispatch, nb_exchange *exchange);
void nb_dispatch_tell_gone(nb_dispatch *dispatch, nb_exchange *exchange);
/* No request will come any more. */
void nb_dispatch_stop(nb_dispatch *dispatch);

/* Moves what waits as far as credit and room allow, publishes, rings. Once a turn. */
void nb_dispatch_pump(nb_dispatch *dispatch);

/* The sleep protocol of the loop's side (doorbell.h). announce: true when there is something to do at once. */
bool nb_dispatch_announce_sleep(nb_dispatch *dispatch);
void nb_dispatch_awake(nb_dispatch *dispatch);
/* Some executor that holds requests of ours is running now (and may publish without ringing for a short while). */
bool nb_dispatch_executor_running(const nb_dispatch *dispatch);
bool nb_dispatch_executors_gone(const nb_dispatch *dispatch);
/* Each is gone or never asked for anything. */
bool nb_dispatch_executors_idle(const nb_dispatch *dispatch);

#endif
