/*
 * dispatch_spares.c - dispatch.h's executors that help out. Whether Ruby's lock is free cannot be seen from here on every Ruby; that a thread which wants it gets
 * it can. So a spare is woken without work, and says what it has found (binding/executor/spare.c): after two such answers the executors before it
 * count as blocked until they switch fibers. One that computes, or holds the lock in a call, keeps the spare waiting; it is given nothing then, as two
 * threads that both want the lock answer more slowly than one. A spare that is kept itself cannot be asked: the next behind it answers for both.
 */
#include "dispatch/dispatch.h"

#include "os/clock.h"

/* Between an answer and the next question: an executor that has only read a file goes on meanwhile. */
#define ASK_AGAIN_NS (1 * NB_NS_PER_MS)

static int64_t get(const _Atomic int64_t *number) { return atomic_load_explicit(number, memory_order_relaxed); }

bool nb_dispatch_is_blocked(const nb_dispatch_channel *channel) {
    const nb_pulse *pulse = &channel->channel->board->pulse;
    int64_t switched_ns = get(&pulse->switched_ns);
    return switched_ns && get(&pulse->blocked_ns) == switched_ns;
}

/* The first of the row and its spares run what they may, with what they were given. What a blocked one has not begun with is going to another. */
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

/* The first of the row, if all before the channel are blocked; else NULL. */
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

/* Has a place from its first call on. NULL: there is none, or no place. */
static nb_dispatch_channel *ready_spare(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    if (!channel->uncalled_spare) return nb_dispatch_spare_of(dispatch, channel);
    if (channel->retire_due || channel->stop_due || nb_dispatch_channel_add(dispatch, channel->uncalled_spare) != NB_OK)
        return NULL;
    nb_dispatch_channel *spare = nb_dispatch_find(dispatch, channel->uncalled_spare);
    spare->helped = (uint16_t)(channel - dispatch->channels);
    spare->number = channel->number;
    spare->pid = channel->pid;
    channel->spare_place = (uint16_t)(spare - dispatch->channels);
    channel->uncalled_spare = NULL;
    return spare;
}

/* Also what those it helps were given and have not begun with. */
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

/* It has run one fiber for so long that its spare is worth calling. */
static bool is_kept(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    return channel->busy && dispatch->now_ns - channel->busy_switched_ns >= dispatch->spare_after_ns;
}

/* The first behind the channel that can answer. NULL: there is none. */
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
