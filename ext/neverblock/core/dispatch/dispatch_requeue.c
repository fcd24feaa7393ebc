/*
 * dispatch_requeue.c - late binding (dispatch.h): which handed requests an executor has not begun
 * with, how a stuck executor is recognised, and how requests return from it.
 *
 * A listed record stays in the ring as the loop wrote it until the executor releases its room:
 * only then does the loop, its only writer, write there again. Until the release its claim can be
 * read and its bytes can be copied. After the release the executor has begun with it.
 */
#include "dispatch/dispatch.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/clock.h"

/* A fiber that runs this long, or a request left alone this long, shows that an executor is stuck.
   In less time an executor begins with what it has in hand sooner than another could be woken. */
#define STUCK_NS (1 * NB_NS_PER_MS)

/* An executor whose requests take less time than this ends what it was handed, some tens of
   requests, within little more than STUCK_NS. */
#define QUICK_NS (NB_NS_PER_MS / 20)

void nb_dispatch_list_handed(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange, void *record,
                             size_t bytes) {
    exchange->record = record;
    exchange->record_end = nb_ring_end(&channel->requests);
    exchange->record_bytes = (uint32_t)bytes;
    exchange->handed_ns = dispatch->now_ns;
    exchange->handed_previous = channel->handed_last;
    exchange->handed_next = NULL;
    *(channel->handed_last ? &channel->handed_last->handed_next : &channel->handed_first) = exchange;
    channel->handed_last = exchange;
    channel->handed_count++;
}

static void unlist(nb_dispatch_channel *channel, nb_exchange *exchange) {
    nb_exchange *previous = exchange->handed_previous, *next = exchange->handed_next;
    *(previous ? &previous->handed_next : &channel->handed_first) = next;
    *(next ? &next->handed_previous : &channel->handed_last) = previous;
    exchange->handed_previous = exchange->handed_next = NULL;
    exchange->record = NULL;
    channel->handed_count--;
}

static void close_body(nb_exchange *exchange) {
    if (exchange->body_fd >= 0) close(exchange->body_fd);
    exchange->body_fd = -1;
}

/* The executor has begun with the request. In one process the file is now the executor's. A worker
   has a descriptor of its own, and ours is closed. */
static void begun(nb_dispatch_channel *channel, nb_exchange *exchange) {
    unlist(channel, exchange);
    if (nb_channel_is_shared(channel->channel)) close_body(exchange);
    exchange->body_fd = -1;
}

void nb_dispatch_begun(nb_dispatch *dispatch, nb_exchange *exchange) {
    if (exchange->record) begun(&dispatch->channels[exchange->channel], exchange);
}

static uint32_t claim_of(const nb_exchange *exchange) {
    return atomic_load_explicit(&exchange->record->claim, memory_order_acquire);
}

/* True: the executor has begun. Between processes TAKEN is not enough: a worker may be lost between
   taking a request and beginning with it. */
static bool is_begun(nb_dispatch_channel *channel, const nb_exchange *exchange) {
    if (nb_ring_given_back(&channel->requests, exchange->record_end)) return true;
    uint32_t claim = claim_of(exchange);
    return claim == NB_CLAIM_BEGUN || (claim == NB_CLAIM_TAKEN && !nb_channel_is_shared(channel->channel));
}

bool nb_dispatch_drop_begun(nb_dispatch_channel *channel) {
    bool some = false;
    while (channel->handed_first && is_begun(channel, channel->handed_first)) {
        begun(channel, channel->handed_first);
        some = true;
    }
    return some;
}

/* --- stuck executors --- */

static int64_t switched_ns(const nb_dispatch_channel *channel) {
    return atomic_load_explicit(&channel->channel->board->pulse.switched_ns, memory_order_relaxed);
}

static uint64_t turns(const nb_dispatch_channel *channel) {
    return atomic_load_explicit(&channel->channel->board->pulse.turns, memory_order_acquire);
}

static bool has_moved(const nb_dispatch_channel *channel) {
    return turns(channel) != channel->unresponsive_turns || switched_ns(channel) != channel->unresponsive_switched_ns;
}

/* From here on any activity counts as a move. */
static void note_moves(nb_dispatch_channel *channel) {
    channel->unresponsive_turns = turns(channel);
    channel->unresponsive_switched_ns = switched_ns(channel);
}

void nb_dispatch_mark_unresponsive(nb_dispatch_channel *channel) {
    note_moves(channel);
    channel->unresponsive = true;
}

bool nb_dispatch_is_stuck(const nb_dispatch_channel *channel) {
    if (channel->unresponsive && !has_moved(channel)) return true;
    bool sleeps = nb_doorbell_sleeping(&channel->channel->board->executor_bell);
    return channel->busy && !sleeps && switched_ns(channel) == channel->busy_switched_ns;
}

/* True: the oldest handed request has been left alone for too long. */
static bool leaves_alone(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    return channel->handed_first && dispatch->now_ns - channel->handed_first->handed_ns > STUCK_NS;
}

static void look_at(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    nb_board *board = channel->channel->board;
    int64_t switched = switched_ns(channel);
    bool sleeps = nb_doorbell_sleeping(&board->executor_bell);
    channel->backlog = nb_link_pending(channel->channel->link);
    channel->load = atomic_load_explicit(&board->figures.running, memory_order_relaxed) + (uint32_t)channel->backlog;
    channel->request_ns = atomic_load_explicit(&board->figures.request_ns, memory_order_relaxed);
    channel->busy = !sleeps && switched && dispatch->now_ns - switched > STUCK_NS;
    channel->busy_switched_ns = switched;
    if (channel->unresponsive && has_moved(channel)) channel->unresponsive = false;
    if (channel->unresponsive || !leaves_alone(dispatch, channel)) return;
    /* Moves are noted first. Else an executor that takes all requests during this look, and then
       sleeps, would never be seen to move. */
    note_moves(channel);
    nb_dispatch_drop_begun(channel);
    channel->unresponsive = leaves_alone(dispatch, channel);
}

/* --- back from one --- */

/* The request is the loop's again, in no list, and copied to `waiting`. False: the executor has
   damaged the record, which then counts as begun. */
static bool take_away(nb_dispatch_channel *channel, nb_exchange *exchange, nb_waiting *waiting) {
    if (!nb_request_message_copy(waiting->message, exchange->record, exchange->record_bytes)) {
        channel->damaged = true;
        begun(channel, exchange);
        return false;
    }
    unlist(channel, exchange);
    nb_link_count_requeued(channel->channel->link);
    channel->handed_at_requeue = atomic_load_explicit(&channel->channel->link->handed, memory_order_relaxed);
    exchange->channel = NB_CHANNEL_NONE;
    exchange->left_due = exchange->left;
    exchange->cancel_due = exchange->cancelled;
    return true;
}

/* The same from an executor that still runs. False: it has taken the record first, or damaged
   it. */
static bool claim_back(nb_dispatch_channel *channel, nb_exchange *exchange, nb_waiting *waiting) {
    return !nb_ring_given_back(&channel->requests, exchange->record_end) &&
           nb_request_claim(exchange->record, NB_CLAIM_REQUEUED) && take_away(channel, exchange, waiting);
}

/* True: its client has gone meanwhile, and the exchange is destroyed. */
static bool forgotten(nb_dispatch *dispatch, nb_exchange *exchange) {
    if (exchange->connection) return false;
    close_body(exchange);
    nb_exchange_destroy(dispatch->exchanges, exchange);
    return true;
}

static void queue_again(nb_dispatch *dispatch, nb_exchange *exchange, nb_waiting *waiting) {
    nb_dispatch_queue_first(dispatch, exchange, waiting, exchange->body_fd);
    exchange->body_fd = -1;
}

static nb_exchange *oldest_untaken(nb_dispatch_channel *channel) {
    nb_dispatch_drop_begun(channel);
    nb_exchange *exchange = channel->handed_first;
    while (exchange && claim_of(exchange) != NB_CLAIM_NONE) {
        exchange = exchange->handed_next;
    }
    return exchange;
}

/* True: a free executor has fewer requests in hand, or this one is blocked, or a busy one has none
   while this one has several. Comparing the numbers keeps requests from going to and fro between
   two executors. */
static bool another_can_have(nb_dispatch *dispatch, const nb_dispatch_channel *channel, size_t bytes) {
    nb_dispatch_channel *free = nb_dispatch_choose(dispatch, bytes, 0);
    if (free) nb_dispatch_drop_begun(free);
    if (free) return free->handed_count < channel->handed_count || nb_dispatch_is_blocked(channel);
    return channel->handed_count > 1 && nb_dispatch_choose_busy(dispatch, bytes, 0);
}

/* Requeues the oldest request that was not taken, if another executor can have it or it has
   expired. False: nothing was moved. */
static bool move_oldest(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    nb_exchange *exchange = oldest_untaken(channel);
    if (!exchange) return false;
    bool expired = exchange->record->deadline_ns && exchange->record->deadline_ns <= dispatch->now_ns;
    if (exchange->in_notices || (!expired && !another_can_have(dispatch, channel, exchange->record_bytes)))
        return false;
    nb_waiting *waiting = nb_waiting_create_room(exchange->record_bytes);
    if (!waiting) return false;
    bool requeued = claim_back(channel, exchange, waiting);
    if (requeued && !forgotten(dispatch, exchange)) {
        queue_again(dispatch, exchange, waiting);
    } else {
        nb_waiting_destroy(waiting);
    }
    return requeued;
}

static bool is_quick(const nb_dispatch_channel *channel) {
    return !channel->busy && !channel->unresponsive && channel->request_ns && channel->request_ns < QUICK_NS;
}

static void look(nb_dispatch *dispatch, int64_t now_ns) {
    dispatch->now_ns = now_ns;
    if (!dispatch->has_choice) return;
    dispatch->all_quick = true;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (!dispatch->channels[i].channel) continue;
        look_at(dispatch, &dispatch->channels[i]);
        if (!is_quick(&dispatch->channels[i])) dispatch->all_quick = false;
    }
    dispatch->calls_spare = false;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->busy) nb_dispatch_call_spare(dispatch, channel);
        while (channel->unresponsive && move_oldest(dispatch, channel)) {
            nb_dispatch_pump_waiting(dispatch);
        }
    }
}

void nb_dispatch_look(nb_dispatch *dispatch, int64_t now_ns) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        look(dispatch, now_ns);
    }
}

/* --- back from one that is no more --- */

static void drop_notices(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    while (channel->notices) {
        nb_exchange *exchange = channel->notices;
        channel->notices = exchange->notice_next;
        exchange->in_notices = exchange->drained_due = exchange->gone_due = false;
        if (nb_exchange_is_left_alone(exchange) && !exchange->connection)
            nb_exchange_destroy(dispatch->exchanges, exchange);
    }
}

uint32_t nb_dispatch_requeue_all(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    uint32_t count = 0;
    drop_notices(dispatch, channel);
    while (channel->handed_last) {
        nb_exchange *exchange = channel->handed_last;
        bool back = !is_begun(channel, exchange);
        nb_waiting *waiting = back ? nb_waiting_create_room(exchange->record_bytes) : NULL;
        if (!waiting) {
            begun(channel, exchange); /* for want of memory it is answered like a begun one */
        } else if (take_away(channel, exchange, waiting) && !forgotten(dispatch, exchange)) {
            queue_again(dispatch, exchange, waiting);
            count++;
        } else {
            nb_waiting_destroy(waiting);
        }
    }
    return count;
}

void nb_dispatch_drop_handed(nb_dispatch_channel *channel) {
    while (channel->handed_first) {
        nb_exchange *exchange = channel->handed_first;
        if (is_begun(channel, exchange)) {
            begun(channel, exchange);
        } else {
            unlist(channel, exchange);
            close_body(exchange);
        }
    }
}
