/*
 * dispatch.c - see dispatch.h.
 */
#include "dispatch/dispatch.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

/* What it takes until a thread that sleeps runs, with what it costs both sides. */
#define WAKE_NS 150000u

/* Of those that are held, so many are passed in search of one that is not. */
#define PASSED_MAX 1024u

void nb_dispatch_init(nb_dispatch *dispatch, nb_exchanges *exchanges, uint32_t waiting_max) {
    memset(dispatch, 0, sizeof(*dispatch));
    dispatch->exchanges = exchanges;
    dispatch->waiting_max = waiting_max;
    nb_waiting_init(&dispatch->waiting);
}

void nb_dispatch_join(nb_dispatch *dispatch, nb_queues *queues, uint16_t number) {
    dispatch->queues = queues;
    dispatch->number = number;
}

/* One more waits, or one less, or another is the first. */
static void note_queue(nb_dispatch *dispatch, int change) {
    if (!dispatch->queues) return;
    if (change) atomic_fetch_add_explicit(&dispatch->queues->waiting, (uint32_t)change, memory_order_relaxed);
    const nb_waiting *first = nb_waiting_first(&dispatch->waiting);
    nb_queues_tell(dispatch->queues, dispatch->number, first ? first->message->arrived_ns : 0);
    dispatch->first_changed = true;
}

uint32_t nb_dispatch_waiting(const nb_dispatch *dispatch) {
    return dispatch->queues ? atomic_load_explicit(&dispatch->queues->waiting, memory_order_relaxed)
                            : dispatch->waiting.count;
}

static bool gives_way(const nb_dispatch *dispatch, int64_t arrived_ns) {
    return dispatch->queues && nb_queues_give_way(dispatch->queues, dispatch->number, arrived_ns);
}

static void unqueue(nb_dispatch *dispatch, nb_waiting *waiting) {
    nb_waiting_remove(&dispatch->waiting, waiting);
    note_queue(dispatch, -1);
}

/* Files sent and never taken. (What lies in the request ring is the executor's: it alone knows how far it has read.
   What travels beside a shared ring ends with it.) */
static void close_files(nb_dispatch_channel *channel) {
    if (nb_channel_is_shared(channel->channel)) return;
    const nb_message *part;
    size_t bytes;
    while ((part = nb_ring_peek(&channel->responses, &bytes))) {
        if (part->type == NB_MESSAGE_NAMED) nb_named_message_drop((const nb_named_message *)(const void *)part);
        nb_ring_advance(&channel->responses);
    }
}

static void deinit_one(nb_dispatch *dispatch) {
    nb_waiting_clear(&dispatch->waiting);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (dispatch->channels[i].channel) nb_dispatch_remove(dispatch, &dispatch->channels[i]);
    }
    dispatch->count = 0;
}

nb_status nb_dispatch_channel_add(nb_dispatch *dispatch, nb_channel *channel) {
    uint16_t place = 0;
    while (place < dispatch->count && dispatch->channels[place].channel) {
        place++;
    }
    if (place == NB_CHANNELS_MAX) return NB_FULL;
    if (place == dispatch->count) dispatch->count++;
    nb_dispatch_channel *added = &dispatch->channels[place];
    memset(added, 0, sizeof(*added));
    added->channel = channel;
    added->spare = nb_channel_spare(channel);
    added->before = added->after = NB_CHANNEL_NONE;
    added->number = place;
    added->stop_due = dispatch->stops;
    nb_ring_producer_attach(&added->requests, nb_channel_requests(channel));
    nb_ring_consumer_attach(&added->responses, nb_channel_responses(channel));
    atomic_store_explicit(&channel->memory->response_window_bytes, dispatch->response_window_bytes,
                          memory_order_relaxed);
    dispatch->chooses = dispatch->chooses || dispatch->count > 1 || added->spare || nb_channel_is_shared(channel);
    return NB_OK;
}

void nb_dispatch_remove(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    close_files(channel);
    nb_dispatch_drop_given(channel);
    if (channel->before != NB_CHANNEL_NONE) dispatch->channels[channel->before].after = NB_CHANNEL_NONE;
    nb_channel_destroy_all(channel->spare);
    nb_channel_destroy(channel->channel);
    memset(channel, 0, sizeof(*channel));
    while (dispatch->count && !dispatch->channels[dispatch->count - 1].channel) {
        dispatch->count--;
    }
}

nb_dispatch_channel *nb_dispatch_find(nb_dispatch *dispatch, const nb_channel *channel) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (dispatch->channels[i].channel == channel) return &dispatch->channels[i];
    }
    return NULL;
}

void nb_dispatch_retire(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    while (channel) {
        channel->retire_due = true;
        channel = nb_dispatch_after(dispatch, channel);
    }
}

static bool takes(const nb_dispatch_channel *channel) {
    return !channel->stop_due && !channel->retire_due && !channel->lost && !channel->responses.broken &&
           !atomic_load_explicit(&channel->channel->board->executor_gone, memory_order_relaxed);
}

bool nb_dispatch_serves(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->channel && takes(channel)) return true;
    }
    return false;
}

static uint64_t credit_left(const nb_dispatch_channel *channel) {
    return takes(channel) ? nb_link_credit(channel->channel->link) : 0;
}

/* How much an executor has to do: of several loops none knows what the others gave it. */
static uint32_t load_of(const nb_dispatch_channel *channel) {
    const nb_link *link = channel->channel->link;
    if (link->count == 1) return channel->load;
    return atomic_load_explicit(&link->board->figures.running, memory_order_relaxed) + (uint32_t)nb_link_pending(link);
}

/* Leaves out what it has not come to. */
static uint64_t running_of(const nb_dispatch_channel *channel) {
    return channel->load > channel->backlog ? channel->load - channel->backlog : 0;
}

static bool sleeps_idle(const nb_dispatch_channel *channel) {
    const nb_link *link = channel->channel->link;
    return nb_doorbell_sleeping(&link->board->executor_bell) && !channel->dirty &&
           (link->count == 1 || nb_link_pending(link) == 0);
}

/* It will have come to what it has in hand sooner than another could be woken. */
static bool is_at_it(const nb_dispatch_channel *channel) {
    return channel->request_ns && channel->backlog * channel->request_ns < WAKE_NS;
}

/* The first is a better choice than the second. One with more requests under way than another is not given still more. */
static bool better(const nb_dispatch_channel *first, bool first_sleeps, const nb_dispatch_channel *second,
                   bool second_sleeps) {
    if (!first_sleeps && second_sleeps) return is_at_it(first) && running_of(first) <= running_of(second) + 1;
    if (first_sleeps && !second_sleeps) return !better(second, false, first, true);
    return load_of(first) < load_of(second);
}

/* Of several loops each keeps to the order of all, and holds nothing. */
static bool is_crowded(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count && !dispatch->queues; i++) {
        const nb_channel *channel = dispatch->channels[i].channel;
        if (channel && nb_crowds_any(&channel->board->crowds)) return true;
    }
    return false;
}

static bool holds(const nb_dispatch_channel *channel, uint64_t like) {
    return nb_crowds_hold(&channel->channel->board->crowds, like);
}

/* Some executor lets no more of its like in. */
static bool is_held(const nb_dispatch *dispatch, uint64_t like) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (dispatch->channels[i].channel && holds(&dispatch->channels[i], like)) return true;
    }
    return false;
}

static bool asks(const nb_dispatch *dispatch, const nb_dispatch_channel *channel, uint64_t like) {
    return channel->channel && !holds(channel, like) && !channel->pipe_full && credit_left(channel) > 0 &&
           !nb_dispatch_rests(dispatch, channel);
}

nb_dispatch_channel *nb_dispatch_choose(nb_dispatch *dispatch, size_t bytes, uint64_t like) {
    nb_dispatch_channel *best = NULL;
    bool best_sleeps = false;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->busy || channel->late || !asks(dispatch, channel, like)) continue;
        bool sleeps = sleeps_idle(channel);
        if (best && !better(channel, sleeps, best, best_sleeps)) continue;
        if (!nb_ring_reserve(&channel->requests, bytes)) continue;
        best = channel;
        best_sleeps = sleeps;
    }
    return best;
}

static void tell_or_list(nb_dispatch *dispatch, nb_exchange *exchange);

static void *reserve(nb_dispatch *dispatch, size_t bytes, nb_dispatch_channel **chosen) {
    nb_dispatch_channel *channel;
    do {
        channel = nb_dispatch_choose(dispatch, bytes, 0);
        if (!channel) return NULL;
    } while (!nb_link_take_credit(channel->channel->link));
    *chosen = channel;
    return nb_ring_reserve(&channel->requests, bytes);
}

static void commit(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange, void *place,
                   size_t bytes) {
    nb_ring_commit(&channel->requests, bytes);
    channel->load++;
    channel->backlog++;
    channel->dirty = true;
    exchange->channel = (uint16_t)(channel - dispatch->channels);
    if (dispatch->chooses) nb_dispatch_list_given(dispatch, channel, exchange, place);
    if (exchange->left_due) tell_or_list(dispatch, exchange);
}

static bool give_descriptor(nb_dispatch_channel *channel, int fd) {
    if (nb_channel_give(channel->channel, fd) == NB_OK) return true;
    channel->pipe_full = true;
    return false;
}

bool nb_dispatch_give(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange,
                      const nb_request_message *message, int body_fd) {
    size_t bytes = message->message.bytes;
    nb_request_message *place = nb_ring_reserve(&channel->requests, bytes);
    NB_ASSERT(place);
    if (!nb_link_take_credit(channel->channel->link)) return false;
    if (body_fd >= 0 && !give_descriptor(channel, body_fd)) {
        nb_link_return_credit(channel->channel->link);
        return false;
    }
    memcpy(place, message, bytes);
    atomic_store_explicit(&place->claim, NB_CLAIM_NONE, memory_order_relaxed);
    place->body_fd = body_fd;
    if (dispatch->chooses) exchange->body_fd = body_fd;
    commit(dispatch, channel, exchange, place, bytes);
    return true;
}

/* A burst comes faster than fibers are started, and a collection may come between: that is no overload. */
static uint64_t free_fibers(const nb_dispatch *dispatch) {
    uint64_t count = 0;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel || !takes(channel) || channel->before != NB_CHANNEL_NONE) continue;
        const nb_link *link = channel->channel->link;
        uint64_t able = atomic_load_explicit(&link->board->able, memory_order_relaxed);
        uint64_t given = atomic_load_explicit(&link->given, memory_order_relaxed);
        if (able > given) count += able - given;
    }
    return count;
}

/* It asks for no other yet, as it has not seen that what it was given last has gone to somebody else. */
static bool will_ask(const nb_dispatch_channel *channel) {
    return takes(channel) && channel->recalled_given &&
           atomic_load_explicit(&channel->channel->link->given, memory_order_relaxed) == channel->recalled_given;
}

bool nb_dispatch_has_room(const nb_dispatch *dispatch) {
    uint64_t room = 0;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel) continue;
        uint64_t credit = credit_left(channel);
        room += credit ? credit : will_ask(channel);
    }
    return room > nb_dispatch_waiting(dispatch);
}

static bool full(const nb_dispatch *dispatch) {
    uint32_t waiting = nb_dispatch_waiting(dispatch);
    if (waiting < dispatch->waiting_max) return false;
    return dispatch->lane > 0 || waiting - dispatch->waiting_max >= free_fibers(dispatch);
}

static bool refuses(const nb_dispatch *dispatch) {
    return full(dispatch) || (dispatch->unavailable_s && !nb_dispatch_serves(dispatch));
}

static nb_status queue(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message) {
    if (refuses(dispatch)) return NB_FULL;
    nb_waiting *waiting = nb_waiting_create(message);
    if (!waiting) return NB_NO_MEMORY;
    nb_waiting_append(&dispatch->waiting, waiting, exchange);
    note_queue(dispatch, 1);
    return NB_OK;
}

void nb_dispatch_queue_first(nb_dispatch *dispatch, nb_exchange *exchange, nb_waiting *waiting, int body_fd) {
    waiting->message->body_fd = body_fd;
    waiting->message->message.exchange = nb_exchange_id_of(exchange);
    nb_waiting_prepend(&dispatch->waiting, waiting, exchange);
    note_queue(dispatch, 1);
}

nb_status nb_dispatch_head(nb_dispatch *dispatch, nb_exchange *exchange, const nb_request_facts *facts) {
    size_t bytes = nb_request_message_bytes(facts);
    nb_dispatch_channel *channel = NULL;
    bool waits = dispatch->waiting.count || gives_way(dispatch, facts->arrived_ns) || is_crowded(dispatch);
    void *place = waits ? NULL : reserve(dispatch, bytes, &channel);
    if (place) {
        nb_request_message_write(place, facts);
        commit(dispatch, channel, exchange, place, bytes);
        return NB_OK;
    }
    if (refuses(dispatch)) return NB_FULL;
    nb_request_message *message = nb_alloc(bytes);
    if (!message) return NB_NO_MEMORY;
    nb_request_message_write(message, facts);
    nb_status status = queue(dispatch, exchange, message);
    if (status != NB_OK) nb_free(message);
    return status;
}

/* True when it went into a ring; the message is then freed. */
static bool send_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message, uint64_t like) {
    nb_dispatch_channel *channel;
    while ((channel = nb_dispatch_choose(dispatch, message->message.bytes, like))) {
        if (!nb_dispatch_give(dispatch, channel, exchange, message, (int)message->body_fd)) continue;
        nb_free(message);
        return true;
    }
    return false;
}

nb_status nb_dispatch_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message) {
    message->message.exchange = nb_exchange_id_of(exchange);
    bool waits = dispatch->waiting.count || gives_way(dispatch, message->arrived_ns) || is_crowded(dispatch);
    if (!waits && send_message(dispatch, exchange, message, 0)) return NB_OK;
    return queue(dispatch, exchange, message);
}

#define INPUT_MESSAGE_BYTES (sizeof(nb_message) + NB_INPUT_PART_BYTES)

char *nb_dispatch_input_reserve(nb_dispatch *dispatch, const nb_exchange *exchange) {
    if (exchange->channel == NB_CHANNEL_NONE) return NULL;
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    if (exchange->record) nb_dispatch_drop_begun(channel);
    if (exchange->record) { /* it may yet be recalled */
        channel->claim_wanted = true;
        return NULL;
    }
    nb_message *place = nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES);
    if (!place) channel->room_wanted = true;
    return place ? (char *)(place + 1) : NULL;
}

static void input_retry(nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].room_wanted = dispatch->channels[i].claim_wanted = false;
    }
}

void nb_dispatch_input_send(nb_dispatch *dispatch, const nb_exchange *exchange, size_t bytes, bool last) {
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    nb_message *message = nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES);
    NB_ASSERT(message && bytes <= NB_INPUT_PART_BYTES);
    *message = (nb_message){.type = NB_MESSAGE_INPUT,
                            .flags = last ? NB_INPUT_LAST : 0,
                            .bytes = (uint32_t)(sizeof(*message) + bytes),
                            .exchange = nb_exchange_id_of(exchange)};
    nb_ring_commit(&channel->requests, message->bytes);
    channel->dirty = true;
}

/* All deadlines are equally far from the arrival, and the queue is in the order of arrival. */
static int64_t deadline_ns(const nb_dispatch *dispatch) {
    const nb_waiting *first = nb_waiting_first(&dispatch->waiting);
    int64_t deadline_ns = first ? first->message->deadline_ns : 0;
    return deadline_ns ? deadline_ns : INT64_MAX;
}

static nb_exchange *take_first(nb_dispatch *dispatch, nb_request_message **message) {
    nb_waiting *first = nb_waiting_first(&dispatch->waiting);
    if (!first) return NULL;
    nb_exchange *exchange = first->exchange;
    *message = first->message;
    unqueue(dispatch, first);
    return exchange;
}

void nb_dispatch_forget(nb_dispatch *dispatch, nb_exchange *exchange) {
    if (!exchange->waiting) return;
    nb_request_message_free(exchange->waiting->message);
    unqueue(dispatch, exchange->waiting);
}

static bool tell(nb_dispatch_channel *channel, nb_message_type type, uint16_t flags, nb_exchange_id exchange) {
    nb_message *message = nb_ring_reserve(&channel->requests, sizeof(*message));
    if (!message) return false;
    *message = (nb_message){.type = (uint16_t)type, .flags = flags, .bytes = sizeof(*message), .exchange = exchange};
    nb_ring_commit(&channel->requests, sizeof(*message));
    channel->dirty = true;
    return true;
}

/* False: it is still the exchange's. */
static bool tell_handover(nb_dispatch_channel *channel, nb_exchange *exchange) {
    const nb_handover *handover = exchange->handover;
    size_t bytes = sizeof(nb_hijacked_message) + handover->size;
    nb_hijacked_message *message = nb_ring_reserve(&channel->requests, bytes);
    if (!message || !give_descriptor(channel, handover->fd)) return false;
    *message = (nb_hijacked_message){
        .message = {.type = NB_MESSAGE_HIJACKED, .bytes = (uint32_t)bytes, .exchange = nb_exchange_id_of(exchange)},
        .fd = handover->fd,
        .size = handover->size};
    memcpy(message + 1, handover->bytes, handover->size);
    nb_ring_commit(&channel->requests, bytes);
    channel->dirty = true;
    if (nb_channel_is_shared(channel->channel)) close(handover->fd);
    nb_free(exchange->handover);
    exchange->handover = NULL;
    return true;
}

/* Tells what is due; false when the ring is full. */
static bool tell_news(nb_dispatch_channel *channel, nb_exchange *exchange) {
    if (exchange->drained_due && !tell(channel, NB_MESSAGE_DRAINED, 0, nb_exchange_id_of(exchange))) return false;
    exchange->drained_due = false;
    if (exchange->left_due && !tell(channel, NB_MESSAGE_LEFT, 0, nb_exchange_id_of(exchange))) return false;
    exchange->left_due = false;
    if (exchange->handover && !tell_handover(channel, exchange)) return false;
    if (exchange->gone_due && !tell(channel, NB_MESSAGE_GONE, exchange->gone_reason, nb_exchange_id_of(exchange)))
        return false;
    exchange->gone_due = false;
    return true;
}

static void tell_or_list(nb_dispatch *dispatch, nb_exchange *exchange) {
    if (exchange->channel == NB_CHANNEL_NONE || exchange->in_news) return;
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    if (channel->lost) return;
    if (!channel->news && tell_news(channel, exchange)) return;
    exchange->in_news = true;
    exchange->news_next = channel->news;
    channel->news = exchange;
}

static void allow_one(nb_dispatch *dispatch, uint32_t bytes) {
    if (bytes == dispatch->response_window_bytes) return;
    dispatch->response_window_bytes = bytes;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_channel *channel = dispatch->channels[i].channel;
        if (channel) atomic_store_explicit(&channel->memory->response_window_bytes, bytes, memory_order_relaxed);
    }
}

void nb_dispatch_tell_drained(nb_dispatch *dispatch, nb_exchange *exchange) {
    exchange->drained_due = true;
    tell_or_list(dispatch, exchange);
}

void nb_dispatch_tell_left(nb_dispatch *dispatch, nb_exchange *exchange) {
    exchange->left_due = exchange->left = true;
    tell_or_list(dispatch, exchange);
}

void nb_dispatch_hand_over(nb_dispatch *dispatch, nb_exchange *exchange) { tell_or_list(dispatch, exchange); }

void nb_dispatch_tell_gone(nb_dispatch *dispatch, nb_exchange *exchange) {
    exchange->gone_due = true;
    tell_or_list(dispatch, exchange);
}

static void stop_one(nb_dispatch *dispatch) {
    dispatch->stops = true;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].stop_due = true;
    }
}

/* An exchange that ended while it was listed is freed only here: the list holds it. */
static void pump_news(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    while (channel->news) {
        nb_exchange *exchange = channel->news;
        if (!exchange->ended && !tell_news(channel, exchange)) return;
        channel->news = exchange->news_next;
        exchange->in_news = false;
        bool over = exchange->ended || exchange->channel == NB_CHANNEL_NONE; /* its response waits for a file */
        if (over && !exchange->connection) nb_exchange_destroy(dispatch->exchanges, exchange);
    }
    if (channel->retire_due && !channel->retired) channel->retired = tell(channel, NB_MESSAGE_RETIRE, 0, 0);
    if (channel->stop_due && !channel->stopped && dispatch->waiting.count == 0) {
        channel->stopped = tell(channel, NB_MESSAGE_STOP, 0, 0);
    }
}

nb_dispatch_channel *nb_dispatch_choose_busy(nb_dispatch *dispatch, size_t bytes, uint64_t like) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->busy || !asks(dispatch, channel, like) || nb_dispatch_is_blocked(channel)) continue;
        nb_dispatch_drop_begun(channel);
        if (!channel->given_first && nb_ring_reserve(&channel->requests, bytes)) return channel;
    }
    return NULL;
}

/* With nobody free, a busy executor has its next request in hand, and goes on without waiting for the loop; whoever is free first has it. */
static bool send_ahead(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message, uint64_t like) {
    nb_dispatch_channel *channel = nb_dispatch_choose_busy(dispatch, message->message.bytes, like);
    if (!channel || !nb_dispatch_give(dispatch, channel, exchange, message, (int)message->body_fd)) return false;
    nb_dispatch_mark_late(channel);
    nb_free(message);
    return true;
}

static nb_slice slice_of(const nb_request_message *message, nb_span span) {
    return (nb_slice){(const char *)message + span.offset, span.size};
}

static uint64_t like_of(const nb_request_message *message) {
    return nb_like_of(slice_of(message, message->method_text), slice_of(message, message->path));
}

/* Every executor holds it. A spare is looked at while it is called. */
static bool is_held_by_all(const nb_dispatch *dispatch, uint64_t like) {
    bool held = false;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel || !takes(channel) || channel->before != NB_CHANNEL_NONE) continue;
        if (!holds(channel, like)) return false;
        held = true;
    }
    return held && !dispatch->calls;
}

/* Some who were set aside may go. */
static bool is_let_in(const nb_dispatch *dispatch) {
    if (!nb_waiting_any_aside(&dispatch->waiting)) return false;
    for (uint16_t place = 0; place < NB_CROWDS_MAX; place++) {
        uint64_t like = dispatch->waiting.likes_aside[place];
        if (like && !is_held_by_all(dispatch, like)) return true;
    }
    return false;
}

/* Likes of which one was passed over in this turn, by their place among the crowds. Executors shut and open likes meanwhile: none of such a like goes before that one. */
typedef uint64_t passed_likes[NB_CROWDS_MAX];

static bool is_behind(const nb_dispatch *dispatch, const passed_likes passed, uint64_t like) {
    return nb_waiting_is_behind(&dispatch->waiting, like) || (like && passed[nb_crowds_place(like)] == like);
}

/* It is held, and others may pass. True: it is looked at in the next turn again. */
static bool pass_over(nb_dispatch *dispatch, passed_likes passed, nb_waiting *waiting) {
    nb_waiting_queue *queue = &dispatch->waiting;
    if (nb_waiting_is_behind(queue, waiting->like) || is_held_by_all(dispatch, waiting->like)) {
        if (nb_waiting_set_aside(queue, waiting)) return false;
    }
    passed[nb_crowds_place(waiting->like)] = waiting->like;
    return true;
}

static void pump_due(nb_dispatch *dispatch, bool crowded) {
    passed_likes passed = {0};
    uint32_t held = 0;
    nb_waiting_queue *queue = &dispatch->waiting;
    for (nb_waiting *waiting = nb_waiting_first_due(queue), *next; waiting && held < PASSED_MAX; waiting = next) {
        next = nb_waiting_next_due(queue, waiting);
        if (crowded && waiting->like == 0) waiting->like = like_of(waiting->message);
        if (gives_way(dispatch, waiting->message->arrived_ns)) return;
        bool behind = is_behind(dispatch, passed, waiting->like);
        if (!behind && (send_message(dispatch, waiting->exchange, waiting->message, waiting->like) ||
                        send_ahead(dispatch, waiting->exchange, waiting->message, waiting->like))) {
            unqueue(dispatch, waiting);
        } else if (!behind && !is_held(dispatch, waiting->like)) {
            return;
        } else if (pass_over(dispatch, passed, waiting)) {
            held++;
        }
    }
}

void nb_dispatch_pump_waiting(nb_dispatch *dispatch) {
    if (is_let_in(dispatch)) nb_waiting_bring_back(&dispatch->waiting);
    if (!nb_list_empty(&dispatch->waiting.due)) pump_due(dispatch, is_crowded(dispatch));
}

/* Loops that gave way to what waited here need no ring where there is no credit: an executor that has some rings all. */
static void pass_on(nb_dispatch *dispatch) {
    dispatch->first_changed = false;
    nb_doorbell_fence(&dispatch->queues->places[dispatch->number].bell);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (!dispatch->channels[i].channel || credit_left(&dispatch->channels[i]) == 0) continue;
        nb_queues_pass_on(dispatch->queues, dispatch->number);
        return;
    }
}

static void publish_one(nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].pipe_full = false;
    }
    nb_dispatch_pump_waiting(dispatch);
    if (dispatch->first_changed) pass_on(dispatch); /* of several loops */
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel) continue;
        if (channel->news || channel->stop_due || channel->retire_due) pump_news(dispatch, channel);
        if (!channel->dirty) continue;
        channel->dirty = false;
        if (nb_ring_publish(&channel->requests)) channel->ring_due = true;
    }
}

static void pump_one(nb_dispatch *dispatch) {
    publish_one(dispatch);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->ring_due) continue;
        channel->ring_due = false;
        nb_channel_ring_executor(channel->channel);
    }
}

/* Room that the first of the news needs. */
static size_t news_bytes(const nb_dispatch_channel *channel) {
    const nb_handover *handover = channel->news ? channel->news->handover : NULL;
    return handover ? sizeof(nb_hijacked_message) + handover->size : sizeof(nb_message);
}

/* The first of the queue that the executor does not hold. */
static const nb_waiting *first_for(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    const nb_waiting *waiting = nb_waiting_first_due(&dispatch->waiting);
    for (uint32_t held = 0; waiting && holds(channel, waiting->like); held++) {
        if (held == PASSED_MAX) return NULL;
        waiting = nb_waiting_next_due(&dispatch->waiting, waiting);
    }
    return waiting;
}

/* There is something to do with the channel that was not seen when it was last tried. */
static bool has_something(const nb_dispatch *dispatch, nb_dispatch_channel *channel, bool starved, bool news) {
    if (nb_ring_readable(&channel->responses)) return true;
    if (channel->claim_wanted && nb_dispatch_drop_begun(channel)) return true;
    if (channel->room_wanted && nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES)) return true;
    if (channel->pipe_full) return false;
    if (news && nb_ring_reserve(&channel->requests, news_bytes(channel))) return true;
    if (!starved || gives_way(dispatch, nb_waiting_first(&dispatch->waiting)->message->arrived_ns) ||
        nb_dispatch_is_stuck(channel) || credit_left(channel) == 0 || nb_dispatch_rests(dispatch, channel))
        return false;
    const nb_waiting *first = first_for(dispatch, channel);
    return first && nb_ring_reserve(&channel->requests, first->message->message.bytes);
}

static bool announce_one(nb_dispatch *dispatch) {
    bool starved = !nb_list_empty(&dispatch->waiting.due), keeps = dispatch->waiting.count && !starved;
    bool something = false, late = false;
    if (starved && dispatch->queues) nb_doorbell_announce(&dispatch->queues->places[dispatch->number].bell);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        late = late || (dispatch->channels[i].late && dispatch->channels[i].given_first);
    }
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel) continue;
        nb_channel_memory *memory = channel->channel->memory;
        bool news = channel->news || (channel->retire_due && !channel->retired) ||
                    (channel->stop_due && !channel->stopped && !starved && !keeps);
        bool waits = starved || late || news || channel->room_wanted || channel->claim_wanted;
        uint32_t starves = waits ? NB_LOOP_STARVED : keeps ? NB_LOOP_HOLDS : 0;
        atomic_store_explicit(&memory->loop_starved, starves, memory_order_relaxed);
        nb_doorbell_announce(&memory->loop_bell);
        if (starves == NB_LOOP_STARVED) nb_channel_ring_busy_executor(channel->channel);
        if (has_something(dispatch, channel, starved, news)) something = true;
    }
    return something || is_let_in(dispatch);
}

static void awake_one(nb_dispatch *dispatch) {
    if (dispatch->queues) nb_doorbell_cancel(&dispatch->queues->places[dispatch->number].bell);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_channel *channel = dispatch->channels[i].channel;
        if (channel) nb_doorbell_cancel(&channel->memory->loop_bell);
    }
}

static bool executor_running(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (!dispatch->channels[i].channel) continue;
        nb_board *board = dispatch->channels[i].channel->board;
        if (dispatch->channels[i].pipe_full) return true; /* nobody may ring for it */
        if (!nb_doorbell_sleeping(&board->executor_bell) &&
            !atomic_load_explicit(&board->executor_gone, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static bool executors_gone(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_channel *channel = dispatch->channels[i].channel;
        if (channel && !atomic_load_explicit(&channel->board->executor_gone, memory_order_acquire)) return false;
    }
    return true;
}

static bool executors_idle(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (!dispatch->channels[i].channel) continue;
        nb_board *board = dispatch->channels[i].channel->board;
        bool gone = atomic_load_explicit(&board->executor_gone, memory_order_acquire);
        if (!gone && atomic_load_explicit(&board->wanted, memory_order_acquire) > 0) return false;
    }
    return true;
}

/* --- all lanes --- */

void nb_dispatch_add_lane(nb_dispatch *dispatch, nb_dispatch *lane) {
    while (dispatch->next_lane) {
        dispatch = dispatch->next_lane;
    }
    dispatch->next_lane = lane;
    lane->lane = (uint16_t)(dispatch->lane + 1);
}

void nb_dispatch_deinit(nb_dispatch *dispatch) {
    nb_dispatch *lane = dispatch->next_lane;
    deinit_one(dispatch);
    dispatch->next_lane = NULL;
    while (lane) {
        nb_dispatch *next = lane->next_lane;
        deinit_one(lane);
        nb_free(lane);
        lane = next;
    }
}

uint32_t nb_dispatch_waiting_here(const nb_dispatch *dispatch) {
    uint32_t count = 0;
    for (; dispatch; dispatch = dispatch->next_lane) {
        count += dispatch->waiting.count;
    }
    return count;
}

uint32_t nb_dispatch_waiting_in_all(const nb_dispatch *dispatch) {
    uint32_t count = 0;
    for (; dispatch; dispatch = dispatch->next_lane) {
        count += nb_dispatch_waiting(dispatch);
    }
    return count;
}

void nb_dispatch_set_unavailable(nb_dispatch *dispatch, uint32_t seconds) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        dispatch->unavailable_s = seconds;
    }
}

void nb_dispatch_stop(nb_dispatch *dispatch) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        stop_one(dispatch);
    }
}

void nb_dispatch_publish(nb_dispatch *dispatch) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        publish_one(dispatch);
    }
}

void nb_dispatch_pump(nb_dispatch *dispatch) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        pump_one(dispatch);
    }
}

bool nb_dispatch_announce_sleep(nb_dispatch *dispatch) {
    bool something = false;
    for (; dispatch; dispatch = dispatch->next_lane) {
        if (announce_one(dispatch)) something = true;
    }
    return something;
}

void nb_dispatch_awake(nb_dispatch *dispatch) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        awake_one(dispatch);
    }
}

bool nb_dispatch_executor_running(const nb_dispatch *dispatch) {
    while (dispatch && !executor_running(dispatch)) {
        dispatch = dispatch->next_lane;
    }
    return dispatch != NULL;
}

bool nb_dispatch_executors_gone(const nb_dispatch *dispatch) {
    while (dispatch && executors_gone(dispatch)) {
        dispatch = dispatch->next_lane;
    }
    return dispatch == NULL;
}

bool nb_dispatch_executors_idle(const nb_dispatch *dispatch) {
    while (dispatch && executors_idle(dispatch)) {
        dispatch = dispatch->next_lane;
    }
    return dispatch == NULL;
}

void nb_dispatch_allow(nb_dispatch *dispatch, uint32_t bytes) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        allow_one(dispatch, bytes);
    }
}

int64_t nb_dispatch_deadline_ns(const nb_dispatch *dispatch) {
    int64_t least_ns = INT64_MAX;
    for (; dispatch; dispatch = dispatch->next_lane) {
        if (deadline_ns(dispatch) < least_ns) least_ns = deadline_ns(dispatch);
    }
    return least_ns;
}

nb_exchange *nb_dispatch_take_first(nb_dispatch *dispatch, nb_request_message **message) {
    while (dispatch && dispatch->waiting.count == 0) {
        dispatch = dispatch->next_lane;
    }
    return dispatch ? take_first(dispatch, message) : NULL;
}

nb_exchange *nb_dispatch_take_overdue(nb_dispatch *dispatch, int64_t now_ns, nb_request_message **message) {
    while (dispatch && deadline_ns(dispatch) > now_ns) {
        dispatch = dispatch->next_lane;
    }
    return dispatch ? take_first(dispatch, message) : NULL;
}

void nb_dispatch_input_retry(nb_dispatch *dispatch) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        input_retry(dispatch);
    }
}
