/*
 * dispatch.h - from complete requests to executors: the bounded intake queue and the channels that pull from it.
 *
 * A request goes straight into a channel's ring while nothing waits before it and an executor has asked for more; else
 * it waits in the queue, and past the queue's bound it is refused (the caller answers 503). The bound is for those that
 * have no fiber to run in: beyond it there may wait as many as the executors have free ones. An executor that is awake
 * and will come to it at once, as its requests go, is chosen before one that must be woken (a wake costs more than a
 * small request); then sleeping ones, then the one that runs the fewest.
 *
 * Where there is a choice of executors, a request is bound as late as can be: one that has run the same fiber for a
 * millisecond, or has not begun with what it was given a millisecond ago (it is stopped, it collects garbage), gets
 * nothing more until it moves, and what it has not begun with is recalled (nb_claim) as soon as another is free. While
 * nobody is free, a busy one has the queue's first in hand, in the same way: it goes on with that one at once. When
 * an executor's process has ended, what it had not begun with is given to others in the same way.
 *
 * Where several requests of one like compute so long that their slices end, or would only wait for a connection, more of that like wait here, and others
 * pass them (intake/crowds.h).
 *
 * An executor may have a spare, another thread of its process, and that a spare of its own (dispatch_spares.c). A spare is given requests only while the
 * executor it helps, which runs the same fiber for long with work waiting, is blocked in a call that has released Ruby's lock: who may run
 * is found out by the spare, which must get that lock at once, twice. Together they run no more requests than the first may. Until a spare is first called its channel is not among the dispatch's.
 *
 * A route may have a lane: executors of its own, threads that run one request at a time, and a queue with a bound of its own. A lane is a dispatch like
 * the first, which all others hang on: what is said below of the whole loop is done for all of them, what is said of an exchange is said to its own.
 *
 * Owned by the loop's thread.
 */
#ifndef NB_DISPATCH_DISPATCH_H
#define NB_DISPATCH_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "intake/channel.h"
#include "intake/request.h"
#include "dispatch/exchange.h"
#include "dispatch/queues.h"
#include "dispatch/waiting.h"

typedef struct nb_dispatch_channel {
    nb_channel *channel; /* NULL: this place is free */
    nb_ring_producer requests;
    nb_ring_consumer responses;
    nb_exchange *news; /* exchanges with DRAINED, LEFT or GONE to tell, when the ring was full */
    bool room_wanted;  /* there was none for a part of a request's body */
    bool claim_wanted; /* the executor has not begun with a request whose body waits here */
    bool pipe_full;    /* for a descriptor: it is given none in this turn */
    bool dirty;        /* something is committed and not published */
    bool ring_due;     /* it was published to, and sleeps */
    bool retire_due, retired;
    bool lost;     /* its executor is no more */
    bool damaged;  /* it has written what it must not: its process must end */
    bool given_up; /* it has been killed for that */
    bool stop_due, stopped;
    nb_exchange *given_first, *given_last; /* those not known to be begun with, oldest first */
    uint32_t given_count;
    uint32_t load;    /* requests it ran when last looked at, and those given since; of several loops none knows that */
    uint64_t backlog; /* likewise those it had not come to */
    uint32_t request_ns;
    bool busy; /* it has run one fiber for a millisecond: */
    int64_t busy_switched_ns;
    bool late; /* it has left what it was given alone for a millisecond, and not moved since: */
    uint64_t late_turns;
    int64_t late_switched_ns;
    uint64_t recalled_given; /* what it had been given in all when its last request was taken from it; 0: none was */
    nb_channel *spare;       /* owned, with those behind it: of its spare, while that was never called; NULL */
    int64_t asked_ns;        /* of a spare: when this loop last called it */
    uint16_t before, after;  /* places of whom it helps and of its spare, once that was called; NB_CHANNEL_NONE */
    uint16_t number;         /* what the figures call it, and its spares */
    int32_t pid;             /* of a worker; 0 */
} nb_dispatch_channel;

typedef struct nb_dispatch {
    struct nb_dispatch *next_lane; /* NULL: it is the last */
    uint16_t lane;                 /* its number, as exchanges have it; 0: the first, of all fibers */
    nb_dispatch_channel channels[NB_CHANNELS_MAX];
    uint16_t count;
    nb_waiting_queue waiting;
    uint32_t waiting_max;
    uint32_t response_window_bytes; /* as the channels' */
    uint32_t
        unavailable_s; /* while no channel serves: requests are refused, to be tried again so much later; 0: they wait */
    int64_t spare_after_ns; /* how long an executor runs one fiber, with work waiting, until its spare is called */
    bool calls;             /* one was called or is to be, as of the last look */
    bool quick;             /* of several, as of the last look: all move, and their requests take little */
    bool chooses;           /* there may be several executors */
    bool stops;             /* no request will come any more */
    int64_t now_ns;         /* when it was last looked */
    nb_exchanges *exchanges;
    nb_queues *queues;  /* of all loops; NULL: there is one */
    uint16_t number;    /* of this loop among them */
    bool first_changed; /* since others were last told */
} nb_dispatch;

void nb_dispatch_init(nb_dispatch *dispatch, nb_exchanges *exchanges, uint32_t waiting_max);
/* Before anything waits: it is one of several loops. */
void nb_dispatch_join(nb_dispatch *dispatch, nb_queues *queues, uint16_t number);
/* Before anything waits: it is the lane behind the last. */
void nb_dispatch_add_lane(nb_dispatch *dispatch, nb_dispatch *lane);
/* Frees the lanes. */
void nb_dispatch_deinit(nb_dispatch *dispatch);
/* A lane's dispatch, of those that hang on the first; it is there. */
static inline nb_dispatch *nb_dispatch_lane(nb_dispatch *first, uint16_t lane) {
    while (first->lane != lane) {
        first = first->next_lane;
    }
    return first;
}
/* The exchange's own. */
static inline nb_dispatch *nb_dispatch_of(nb_dispatch *first, const nb_exchange *exchange) {
    return nb_dispatch_lane(first, exchange->lane);
}
/* Executors ask for more requests than wait. */
bool nb_dispatch_has_room(const nb_dispatch *dispatch);
/* Requests that wait in this lane, of all loops; in all lanes, of this loop, of all loops. */
uint32_t nb_dispatch_waiting(const nb_dispatch *dispatch);
uint32_t nb_dispatch_waiting_here(const nb_dispatch *dispatch);
uint32_t nb_dispatch_waiting_in_all(const nb_dispatch *dispatch);
/* While no channel serves: requests are refused, to be tried again so much later; 0: they wait. */
void nb_dispatch_set_unavailable(nb_dispatch *dispatch, uint32_t seconds);
/* Takes the channel, which serves from here on, and those of its spares. NB_FULL: there is no place. */
nb_status nb_dispatch_channel_add(nb_dispatch *dispatch, nb_channel *channel);
/* NULL when it is none of these. */
nb_dispatch_channel *nb_dispatch_find(nb_dispatch *dispatch, const nb_channel *channel);
/* Has its spare behind it: one that was called; NULL. */
static inline nb_dispatch_channel *nb_dispatch_after(nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    return channel->after == NB_CHANNEL_NONE ? NULL : &dispatch->channels[channel->after];
}
/* Its executor gets no further request, nor do its spares, and is stopped when it has none left. */
void nb_dispatch_retire(nb_dispatch *dispatch, nb_dispatch_channel *channel);
/* The executor is no more (`lost` is set before its last parts are taken, so that it is given and told nothing more). Requests that it had not begun with go back to the head of the queue: their number. News for it are dropped.
   The caller has taken all its parts, sees to the other exchanges of it, and then calls remove, which destroys the channel. */
uint32_t nb_dispatch_take_back(nb_dispatch *dispatch, nb_dispatch_channel *channel);
void nb_dispatch_remove(nb_dispatch *dispatch, nb_dispatch_channel *channel);
/* A part of its response came: its executor has begun with it. */
void nb_dispatch_begun(nb_dispatch *dispatch, nb_exchange *exchange);
/* How the executors are, once a turn; what a stuck one has not begun with goes to others. */
void nb_dispatch_look(nb_dispatch *dispatch, int64_t now_ns);
/* Some channel may be given requests now or later. */
bool nb_dispatch_serves(const nb_dispatch *dispatch);

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
/* Takes the first out of the queue; NULL: it is empty. Its message is the caller's to free. */
nb_exchange *nb_dispatch_take_first(nb_dispatch *dispatch, nb_request_message **message);
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

/* Moves what waits as far as credit and room allow, and publishes it: executors that are awake see it. */
void nb_dispatch_publish(nb_dispatch *dispatch);
/* The same, and wakes those that slept when something was published to them. Once a turn. */
void nb_dispatch_pump(nb_dispatch *dispatch);

/* --- between dispatch.c, dispatch_recall.c and dispatch_spares.c --- */

/* It is given nothing: a spare, as one of those it helps is not blocked; or it and its spares run all the requests that it may. */
bool nb_dispatch_rests(const nb_dispatch *dispatch, const nb_dispatch_channel *channel);
/* It sits in a call that has released Ruby's lock. */
bool nb_dispatch_is_blocked(const nb_dispatch_channel *channel);
/* It has just been looked at: when it is stuck with work waiting, its spare is called. */
void nb_dispatch_call_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel);

/* The channel a request of `bytes` should go to, or NULL when no executor both asks for one of its like (crowds.h; 0: any) and has the room. Another loop may be quicker to give
   it one. */
nb_dispatch_channel *nb_dispatch_choose(nb_dispatch *dispatch, size_t bytes, uint64_t like);
/* A busy one that asked for one and has none in hand, or NULL. */
nb_dispatch_channel *nb_dispatch_choose_busy(nb_dispatch *dispatch, size_t bytes, uint64_t like);
/* Copies the message into the channel's ring, which has the room; body_fd: of its body, or -1. False: the descriptor cannot be passed
   now, or another loop was quicker. True: the descriptor is the receiver's, or, shared, the exchange's. */
bool nb_dispatch_give(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange,
                      const nb_request_message *message, int body_fd);
/* At the head of the queue, whatever its bound. */
void nb_dispatch_queue_first(nb_dispatch *dispatch, nb_exchange *exchange, nb_waiting *waiting, int body_fd);
/* The queue's first go to executors, as far as credit and room allow. */
void nb_dispatch_pump_waiting(nb_dispatch *dispatch);
/* The exchange has just been put into the channel's ring, as the last record committed. */
void nb_dispatch_list_given(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange, void *record);
/* All are taken off; the files of those not begun with are closed. The executor is no more. */
void nb_dispatch_drop_given(nb_dispatch_channel *channel);
/* It gets nothing more until it moves, and what it has not begun with may be recalled. */
void nb_dispatch_mark_late(nb_dispatch_channel *channel);
/* Busy or late as it was when last looked at. Once the loop has said that it sleeps, an executor that is not any more is seen here, or rings. */
bool nb_dispatch_is_stuck(const nb_dispatch_channel *channel);
/* Takes off what the executor has begun with, as far as the oldest that it has not; true when there was some. */
bool nb_dispatch_drop_begun(nb_dispatch_channel *channel);

/* The sleep protocol of the loop's side (doorbell.h). announce: true when there is something to do at once. */
bool nb_dispatch_announce_sleep(nb_dispatch *dispatch);
void nb_dispatch_awake(nb_dispatch *dispatch);
/* Some executor that holds requests of ours is running now (and may publish without ringing for a short while). */
bool nb_dispatch_executor_running(const nb_dispatch *dispatch);
bool nb_dispatch_executors_gone(const nb_dispatch *dispatch);
/* Each is gone or never asked for anything. */
bool nb_dispatch_executors_idle(const nb_dispatch *dispatch);

#endif
