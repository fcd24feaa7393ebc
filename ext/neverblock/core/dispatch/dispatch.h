/*
 * dispatch.h - takes complete requests to executors: a bounded queue, and the channels through
 * which executors pull from it.
 *
 * Way of a request. It goes straight into a channel's ring when no request waits before it and an
 * executor has asked for more. Else it waits in the queue. Past the queue's bound it is refused
 * and the caller answers 503. The bound counts requests without a fiber to run in: beyond it, as
 * many may wait as the executors have free fibers, or a lane has free threads.
 *
 * Choice of an executor. First one that is awake and will begin soon, judged by how long its
 * requests take: a wake-up costs more than a small request. Then a sleeping one. Then the one that
 * runs the fewest requests.
 *
 * Late binding. Where there is a choice, a request is bound as late as possible. An executor is
 * stuck when it has run one fiber for a millisecond ("busy"), or has not begun with what it was
 * handed a millisecond ago ("unresponsive"). It is handed nothing more until it moves. What it has
 * not begun with is requeued (nb_claim in message.h) as soon as another executor is free. While no
 * executor is free, a busy one is handed the first of the queue in the same way, so that it has a
 * next request at once. When an executor's process has ended, what it has not begun with is
 * requeued too.
 *
 * Throttled classes. Requests of a class of which an executor takes no more (intake/throttle.h)
 * wait in the queue, and requests of other classes pass them.
 *
 * Spare: a second executor of the same process, which helps out while the first is blocked in a
 * call that has released Ruby's lock. A spare may have a spare of its own. The two together run no
 * more requests than the first may. dispatch_spares.c decides when one is called.
 *
 * Lane: executors and a bounded queue of a route's own. Its executors are threads that run one
 * request at a time. Each lane is an nb_dispatch of its own, and all lanes hang on the first. A
 * function below that concerns the whole loop covers all lanes. A function that takes an exchange
 * must be called with that exchange's lane (nb_dispatch_of).
 *
 * Threads: all of it belongs to the loop's thread. Times are monotonic nanoseconds.
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

/* One executor, as this loop sees it. */
typedef struct nb_dispatch_channel {
    nb_channel *channel; /* owned; NULL: this slot is free */
    nb_ring_producer requests;
    nb_ring_consumer responses;
    /* Notices: exchanges with a DRAINED, LEFT, CANCEL or GONE that found the ring full. */
    nb_exchange *notices;
    bool input_needs_room;  /* the ring had no room for a part of a request's body */
    bool input_needs_claim; /* a body waits here until the executor has begun with its request */
    bool pipe_full;         /* the descriptor pipe was full: no more descriptors in this turn */
    bool dirty;             /* something is committed and not yet published */
    bool ring_due;          /* something was published to it while it slept: ring its bell */
    /* Retiring: the worker gets no further request and ends with its last one. Not "drain", which
       is the server's own shutdown. */
    bool retire_due, retired;
    bool lost;    /* its process has ended */
    bool damaged; /* it has written what it must not: its process must end */
    bool killed;  /* it was killed for that */
    nb_stop stop_due, stop_told;
    uint64_t joined; /* how many had come before it, and itself */
    /* Exchanges handed to it and not known to be begun with, oldest first. */
    nb_exchange *handed_first, *handed_last;
    uint32_t handed_count;
    /* As of the last look, plus what was handed since. With several loops none of them knows what
       the others have handed. */
    uint32_t load;    /* requests it runs or has in hand */
    uint64_t backlog; /* of these, requests it has not taken yet */
    uint32_t request_ns;
    bool busy; /* it has run one fiber for a millisecond, since: */
    int64_t busy_switched_ns;
    bool unresponsive; /* it left what it was handed for a millisecond, and has not moved since: */
    uint64_t unresponsive_turns;
    int64_t unresponsive_switched_ns;
    /* `handed` of the link when a request was last requeued from it; 0: none was. */
    uint64_t handed_at_requeue;
    /* Owned, with the spares behind it: its spare, until first called. */
    nb_channel *uncalled_spare;
    int64_t asked_ns; /* of a spare: when this loop last called it */
    /* Indexes of the executor it helps, and of its spare once that was called; NB_CHANNEL_NONE. */
    uint16_t helped, spare_place;
    uint16_t number; /* its label in metrics, also of its spares */
    int32_t pid;     /* of a worker; 0 */
} nb_dispatch_channel;

typedef struct nb_dispatch {
    struct nb_dispatch *next_lane; /* NULL: the last */
    uint16_t lane;                 /* its number, as exchanges have it; 0: the first, for fibers */
    nb_dispatch_channel channels[NB_CHANNELS_MAX];
    uint16_t count;
    nb_waiting_queue waiting;
    uint32_t waiting_max;
    uint32_t response_window_bytes; /* bytes each response may hold, as told to the channels */
    /* While no channel serves, requests are refused with this Retry-After in seconds; 0: they
       wait. */
    uint32_t unavailable_s;
    /* An executor's spare is called when it has run one fiber this long with work waiting. */
    int64_t spare_after_ns;
    bool calls_spare; /* as of the last look: a spare was called or is to be */
    /* As of the last look: all executors move, and their requests take little. */
    bool all_quick;
    bool has_choice;         /* there may be several executors */
    nb_stop stop;            /* but for NONE, no request will come any more */
    uint64_t joins;          /* channels that have come */
    int64_t now_ns;          /* when the executors were last looked at */
    nb_exchanges *exchanges; /* borrowed */
    nb_queues *queues;       /* borrowed: the queues of all loops; NULL: this loop is alone */
    uint16_t number;         /* of this loop among them */
    bool first_changed;      /* the queue's first has changed since other loops were told */
} nb_dispatch;

void nb_dispatch_init(nb_dispatch *dispatch, nb_exchanges *exchanges, uint32_t waiting_max);
/* This loop is one of several. To be called before anything waits. */
void nb_dispatch_join(nb_dispatch *dispatch, nb_queues *queues, uint16_t number);
/* Whether it is the newest with its number: a worker that retires, or whose process has ended, may
   share its number with the one in its place. A spare has its executor's. */
bool nb_dispatch_has_number(const nb_dispatch *dispatch, const nb_dispatch_channel *channel);
/* Appends a lane, which it then owns. To be called before anything waits. */
void nb_dispatch_add_lane(nb_dispatch *dispatch, nb_dispatch *lane);
/* Frees the lanes, destroys the channels and drops what waits. */
void nb_dispatch_deinit(nb_dispatch *dispatch);
/* The dispatch of a lane, which must exist. */
static inline nb_dispatch *nb_dispatch_lane(nb_dispatch *first, uint16_t lane) {
    while (first->lane != lane) {
        first = first->next_lane;
    }
    return first;
}
/* The dispatch of an exchange's lane. */
static inline nb_dispatch *nb_dispatch_of(nb_dispatch *first, const nb_exchange *exchange) {
    return nb_dispatch_lane(first, exchange->lane);
}
/* True: executors ask for more requests than wait. */
bool nb_dispatch_has_room(const nb_dispatch *dispatch);
/* Requests that wait in this lane, on all loops. */
uint32_t nb_dispatch_waiting(const nb_dispatch *dispatch);
/* Requests that wait in all lanes, on this loop. */
uint32_t nb_dispatch_waiting_here(const nb_dispatch *dispatch);
/* Requests that wait in all lanes, on all loops. */
uint32_t nb_dispatch_waiting_in_all(const nb_dispatch *dispatch);
/* While no channel serves, requests are refused with this Retry-After in seconds; 0: they wait. */
void nb_dispatch_set_unavailable(nb_dispatch *dispatch, uint32_t seconds);
/* How many more channels may be added, called spares aside. It is the same on all loops. */
uint16_t nb_dispatch_free_places(const nb_dispatch *dispatch);
/* Takes ownership of the channel and of those of its spares; it serves from here on. NB_FULL: there
   is no free place. */
nb_status nb_dispatch_channel_add(nb_dispatch *dispatch, nb_channel *channel);
/* The same for the uncalled spare of `helped`, which a dispatch calls itself. NB_FULL: there are
   NB_SPARES_MAX already. */
nb_status nb_dispatch_spare_add(nb_dispatch *dispatch, nb_dispatch_channel *helped);
/* NULL: the channel is not in this dispatch. */
nb_dispatch_channel *nb_dispatch_find(nb_dispatch *dispatch, const nb_channel *channel);
/* Its spare, when that was called once; NULL. */
static inline nb_dispatch_channel *nb_dispatch_spare_of(nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    return channel->spare_place == NB_CHANNEL_NONE ? NULL : &dispatch->channels[channel->spare_place];
}
/* Retires the worker: neither its executor nor its spares get a further request. The executor stops
   when it has none left. */
void nb_dispatch_retire(nb_dispatch *dispatch, nb_dispatch_channel *channel);
/* Interrupts what a retiring worker runs, where it waits, as NB_STOP_NOW does. What it still
   answers is sent. */
void nb_dispatch_interrupt(nb_dispatch *dispatch, nb_dispatch_channel *channel);
/* The executor's process has ended. Requests that it had not begun with return to the head of the
   queue; returns how many. Its notices are dropped. Before: the caller sets `lost`, so that nothing
   more is handed or told, and takes all its parts. After: the caller ends its other exchanges and
   calls nb_dispatch_remove, which destroys the channel. */
uint32_t nb_dispatch_requeue_all(nb_dispatch *dispatch, nb_dispatch_channel *channel);
void nb_dispatch_remove(nb_dispatch *dispatch, nb_dispatch_channel *channel);
/* A part of its response came, so the executor has begun with the request. */
void nb_dispatch_begun(nb_dispatch *dispatch, nb_exchange *exchange);
/* Looks at the state of all executors, and requeues what a stuck one has not begun with. Once a
   turn. */
void nb_dispatch_look(nb_dispatch *dispatch, int64_t now_ns);
/* True: some channel takes requests, now or later. */
bool nb_dispatch_serves(const nb_dispatch *dispatch);

/* Hands a request without a body to an executor, or queues it. NB_FULL: the queue is full, answer
   503. NB_NO_MEMORY. */
nb_status nb_dispatch_head(nb_dispatch *dispatch, nb_exchange *exchange, const nb_request_facts *facts);
/* The same for a complete message from nb_alloc, which it owns on success. */
nb_status nb_dispatch_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message);

/* Sets how many bytes each response may hold. Executors see it at their next part. */
void nb_dispatch_allow(nb_dispatch *dispatch, uint32_t bytes);
/* Room for NB_INPUT_PART_BYTES of the exchange's body in its executor's ring. NULL: no executor has
   begun with the request yet, or its ring is full. The loop then does not sleep past the moment
   when there is room. */
char *nb_dispatch_input_reserve(nb_dispatch *dispatch, const nb_exchange *exchange);
/* All bodies that found no room may try again. Once a turn. */
void nb_dispatch_input_retry(nb_dispatch *dispatch);
/* Sends `bytes` of the room reserved before. last: the body ends with them. */
void nb_dispatch_input_send(nb_dispatch *dispatch, const nb_exchange *exchange, size_t bytes, bool last);
/* Removes the first of the queue. The caller frees the message. NULL: the queue is empty. */
nb_exchange *nb_dispatch_take_first(nb_dispatch *dispatch, nb_request_message **message);
/* Removes an expired request from the queue: its deadline has passed, and the caller answers it.
   The caller frees the message. NULL: there is none. */
nb_exchange *nb_dispatch_take_expired(nb_dispatch *dispatch, int64_t now_ns, nb_request_message **message);
/* Removes the exchange from the queue if it waits there, and closes the file of its body. */
void nb_dispatch_forget(nb_dispatch *dispatch, nb_exchange *exchange);
/* When the next request in the queue expires; INT64_MAX: never. */
int64_t nb_dispatch_deadline_ns(const nb_dispatch *dispatch);

/* Tells the exchange's executor DRAINED, LEFT, CANCEL or GONE (message.h), now or when its ring has
   room.
   LEFT is also told to an executor that gets the request later. */
void nb_dispatch_tell_drained(nb_dispatch *dispatch, nb_exchange *exchange);
void nb_dispatch_tell_left(nb_dispatch *dispatch, nb_exchange *exchange);
void nb_dispatch_tell_cancel(nb_dispatch *dispatch, nb_exchange *exchange);
/* Hands the exchange's connection (its handover) to the executor. */
void nb_dispatch_hand_over(nb_dispatch *dispatch, nb_exchange *exchange);
void nb_dispatch_tell_gone(nb_dispatch *dispatch, nb_exchange *exchange);
/* No request will come any more: executors stop when they have none left. Called again, it may
   only be harder. */
void nb_dispatch_stop(nb_dispatch *dispatch, nb_stop how);

/* Moves what waits into rings, as far as credit and room allow, and publishes it. Executors that
   are awake see it. */
void nb_dispatch_publish(nb_dispatch *dispatch);
/* The same, and wakes executors that slept when something was published to them. Once a turn. */
void nb_dispatch_pump(nb_dispatch *dispatch);

/* --- between dispatch.c, dispatch_requeue.c and dispatch_spares.c --- */

/* True: it is handed nothing for now. Either it is a spare and an executor that it helps is not
   blocked, or it and its spares run as many requests as they may. */
bool nb_dispatch_is_paused(const nb_dispatch *dispatch, const nb_dispatch_channel *channel);
/* True: it sits in a call that has released Ruby's lock. */
bool nb_dispatch_is_blocked(const nb_dispatch_channel *channel);
/* Calls its spare when it is stuck with work waiting. To be called right after a look. */
void nb_dispatch_call_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel);

/* The channel that a request of `bytes` should go to. NULL: no executor both asks for a request of
   this class (0: of any) and has the room. Another loop may still take its credit first. */
nb_dispatch_channel *nb_dispatch_choose(nb_dispatch *dispatch, size_t bytes, uint64_t request_class);
/* A busy one that asks for a request and has none in hand, or NULL. */
nb_dispatch_channel *nb_dispatch_choose_busy(nb_dispatch *dispatch, size_t bytes, uint64_t request_class);
/* Copies the message into the channel's ring, which must have the room. body_fd: the body's file,
   or -1. True: the descriptor belongs to the receiver, or to the exchange where the channel is
   shared. False: the descriptor cannot be sent now, or another loop took the credit first. */
bool nb_dispatch_hand(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange,
                      const nb_request_message *message, int body_fd);
/* Puts the exchange at the head of the queue, whatever its bound. */
void nb_dispatch_queue_first(nb_dispatch *dispatch, nb_exchange *exchange, nb_waiting *waiting, int body_fd);
/* Moves what waits into rings, as far as credit and room allow. */
void nb_dispatch_pump_waiting(nb_dispatch *dispatch);
/* Lists the exchange as handed. `record`: its record of `bytes` in the channel's ring, committed
   last. */
void nb_dispatch_list_handed(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange, void *record,
                             size_t bytes);
/* Clears the list of handed exchanges of a lost executor, and closes the files of requests that it
   had not begun with. */
void nb_dispatch_drop_handed(nb_dispatch_channel *channel);
/* Marks it unresponsive: it is handed nothing more until it moves. */
void nb_dispatch_mark_unresponsive(nb_dispatch_channel *channel);
/* True: it is still as busy or unresponsive as at the last look. After the loop has announced its
   sleep, an executor that has moved is either seen here or rings. */
bool nb_dispatch_is_stuck(const nb_dispatch_channel *channel);
/* Unlists what the executor has begun with, up to the oldest that it has not. True: there was
   some. */
bool nb_dispatch_drop_begun(nb_dispatch_channel *channel);

/* The loop's side of the sleep protocol (doorbell.h). announce: true when there is work to do
   now. */
bool nb_dispatch_announce_sleep(nb_dispatch *dispatch);
void nb_dispatch_awake(nb_dispatch *dispatch);
/* True: some executor runs now. It may publish without ringing for a short while. */
bool nb_dispatch_executor_running(const nb_dispatch *dispatch);
/* All executors have ended. */
bool nb_dispatch_executors_gone(const nb_dispatch *dispatch);
/* Each executor has ended or never asked for anything. */
bool nb_dispatch_executors_idle(const nb_dispatch *dispatch);

#endif
