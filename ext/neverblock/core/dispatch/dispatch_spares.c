/*
 * dispatch_spares.c - when a spare executor is called, and when it may be handed requests
 * (dispatch.h).
 *
 * Whether Ruby's lock is free cannot be read from outside on every Ruby version. Whether a thread
 * that wants the lock gets it can be tried. So a spare is woken without work and says what it has
 * found (binding/executor/spare.c). After two answers the executors before it count as blocked
 * until they switch fibers. While an executor computes, or holds the lock in a call, its spare
 * waits for the lock and is handed nothing: two threads that both want the lock answer more slowly
 * than one. A spare that is itself kept by a fiber cannot be asked; the next one behind it answers
 * for both.
 */
#include "dispatch/dispatch.h"

#include "os/clock.h"

/* Time between an answer and the next question. An executor that has only read a file goes on
   meanwhile. */
#define ASK_AGAIN_NS (1 * NB_NS_PER_MS)

static int64_t get(const _Atomic int64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

bool nb_dispatch_is_blocked(const nb_dispatch_channel *channel) {
    const nb_pulse *pulse = &channel->channel->board->pulse;
    int64_t switched_ns = get(&pulse->switched_ns);
    return switched_ns && get(&pulse->blocked_ns) == switched_ns;
}

/* True: the first of the row and its spares run and hold as many requests as they may. What a
   blocked one has not begun with is not counted, as it is requeued. */
static bool is_full(const nb_dispatch *dispatch, const nb_dispatch_channel *first) {
    uint64_t load = 0;
    for (const nb_dispatch_channel *channel = first; channel;
         channel = channel->spare_place == NB_CHANNEL_NONE ? NULL : &dispatch->channels[channel->spare_place]) {
        const nb_link *link = channel->channel->link;
        load += atomic_load_explicit(&link->board->figures.running, memory_order_relaxed);
        if (!nb_dispatch_is_blocked(channel)) load += nb_link_pending(link);
    }
    return load >= atomic_load_explicit(&first->channel->board->figures.fibers_limit, memory_order_relaxed);
}

/* The first of the row, if all executors before the channel are blocked; else NULL. */
static const nb_dispatch_channel *first_blocked(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    while (channel->helped != NB_CHANNEL_NONE) {
        channel = &dispatch->channels[channel->helped];
        if (!nb_dispatch_is_blocked(channel)) return NULL;
    }
    return channel;
}

bool nb_dispatch_is_paused(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    if (channel->helped == NB_CHANNEL_NONE && channel->spare_place == NB_CHANNEL_NONE) return false;
    const nb_dispatch_channel *first = first_blocked(dispatch, channel);
    return !first || is_full(dispatch, first);
}

/* Its spare, which joins the dispatch at the first call. NULL: it has none, or there is no
   place. */
static nb_dispatch_channel *ready_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    if (channel->uncalled_spare) {
        if (channel->retire_due || channel->stop_due || nb_dispatch_spare_add(dispatch, channel) != NB_OK) return NULL;
    }
    return nb_dispatch_spare_of(dispatch, channel);
}

/* True: requests wait in the queue, or were handed to it or to those it helps and not begun
   with. */
static bool work_waits(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    if (dispatch->waiting.count) return true;
    nb_dispatch_drop_begun(channel);
    if (channel->handed_first) return true;
    return channel->helped != NB_CHANNEL_NONE && work_waits(dispatch, &dispatch->channels[channel->helped]);
}

static void ask(const nb_dispatch *dispatch, nb_dispatch_channel *spare) {
    nb_spare_call *call = &spare->channel->board->call;
    if (get(&call->asked_ns) != get(&call->answered_ns) || dispatch->now_ns - spare->asked_ns < ASK_AGAIN_NS) return;
    spare->asked_ns = dispatch->now_ns;
    atomic_store_explicit(&call->asked_ns, dispatch->now_ns, memory_order_release);
    nb_channel_ring_executor(spare->channel);
}

/* True: it has run one fiber so long that its spare is to be called. */
static bool is_kept(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    return channel->busy && dispatch->now_ns - channel->busy_switched_ns >= dispatch->spare_after_ns;
}

/* The first spare behind the channel that can answer. NULL: there is none. */
static nb_dispatch_channel *first_free(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    do {
        channel = ready_spare(dispatch, channel);
    } while (channel && is_kept(dispatch, channel));
    return channel;
}

void nb_dispatch_call_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    bool has_spare = channel->uncalled_spare || channel->spare_place != NB_CHANNEL_NONE;
    if (!has_spare || channel->lost || nb_dispatch_is_blocked(channel)) return;
    if (!first_blocked(dispatch, channel) || !work_waits(dispatch, channel)) return;
    dispatch->calls_spare = true;
    if (!is_kept(dispatch, channel)) return;
    nb_dispatch_channel *spare = first_free(dispatch, channel);
    if (spare) ask(dispatch, spare);
}
