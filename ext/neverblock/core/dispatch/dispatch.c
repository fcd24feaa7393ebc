/*
 * dispatch.c - see dispatch.h.
 */
#include "dispatch/dispatch.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/limits.h"

/* Time until a sleeping thread runs, with what the wake-up costs both sides. */
#define WAKE_NS 150000u

/* Requests that are passed over in search of one whose class is not held. */
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

/* Notes that the queue has grown or shrunk by `change`, or that its first has changed. */
static void note_queue(nb_dispatch *dispatch, int change) {
    if (!dispatch->queues) return;
    if (change) atomic_fetch_add_explicit(&dispatch->queues->waiting, (uint32_t)change, memory_order_relaxed);
    const nb_waiting *first = nb_waiting_first(&dispatch->waiting);
    nb_queues_publish(dispatch->queues, dispatch->number, first ? first->message->arrived_ns : 0);
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

/* Closes files that were sent and never taken. Records in the request ring are left to the
   executor, which alone knows how far it has read. Descriptors beside a shared ring end with it. */
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

/* Channels that are called spares, or those that are none. */
static uint16_t count_channels(const nb_dispatch *dispatch, bool spares) {
    uint16_t count = 0;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->channel && (channel->helped != NB_CHANNEL_NONE) == spares) count++;
    }
    return count;
}

uint16_t nb_dispatch_free_places(const nb_dispatch *dispatch) {
    uint16_t places = dispatch->lane ? NB_CHANNELS_MAX : NB_PLACES_MAX;
    return (uint16_t)(places - count_channels(dispatch, false));
}

static nb_dispatch_channel *add(nb_dispatch *dispatch, nb_channel *channel) {
    uint16_t place = 0;
    while (place < dispatch->count && dispatch->channels[place].channel) {
        place++;
    }
    NB_ASSERT(place < NB_CHANNELS_MAX);
    if (place == dispatch->count) dispatch->count++;
    nb_dispatch_channel *added = &dispatch->channels[place];
    memset(added, 0, sizeof(*added));
    added->channel = channel;
    added->uncalled_spare = nb_channel_spare(channel);
    added->helped = added->spare_place = NB_CHANNEL_NONE;
    added->number = place;
    added->stop_due = dispatch->stop;
    added->joined = ++dispatch->joins;
    nb_ring_producer_attach(&added->requests, nb_channel_requests(channel));
    nb_ring_consumer_attach(&added->responses, nb_channel_responses(channel));
    atomic_store_explicit(&channel->memory->response_window_bytes, dispatch->response_window_bytes,
                          memory_order_relaxed);
    dispatch->has_choice = dispatch->has_choice || dispatch->count > 1 || added->uncalled_spare ||
                           nb_channel_is_shared(channel);
    return added;
}

nb_status nb_dispatch_channel_add(nb_dispatch *dispatch, nb_channel *channel) {
    if (nb_dispatch_free_places(dispatch) == 0) return NB_FULL;
    add(dispatch, channel);
    return NB_OK;
}

nb_status nb_dispatch_spare_add(nb_dispatch *dispatch, nb_dispatch_channel *helped) {
    if (count_channels(dispatch, true) == NB_SPARES_MAX) return NB_FULL;
    nb_dispatch_channel *spare = add(dispatch, helped->uncalled_spare);
    spare->helped = (uint16_t)(helped - dispatch->channels);
    spare->number = helped->number;
    spare->pid = helped->pid;
    helped->spare_place = (uint16_t)(spare - dispatch->channels);
    helped->uncalled_spare = NULL;
    return NB_OK;
}

void nb_dispatch_remove(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    close_files(channel);
    nb_dispatch_drop_handed(channel);
    if (channel->helped != NB_CHANNEL_NONE) dispatch->channels[channel->helped].spare_place = NB_CHANNEL_NONE;
    nb_channel_destroy_all(channel->uncalled_spare);
    nb_channel_destroy(channel->channel);
    memset(channel, 0, sizeof(*channel));
    while (dispatch->count && !dispatch->channels[dispatch->count - 1].channel) {
        dispatch->count--;
    }
}

bool nb_dispatch_has_number(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *other = &dispatch->channels[i];
        if (!other->channel || other->helped != NB_CHANNEL_NONE || other->number != channel->number) continue;
        if (other->joined > channel->joined) return false;
    }
    return true;
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
        channel = nb_dispatch_spare_of(dispatch, channel);
    }
}

void nb_dispatch_interrupt(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    while (channel) {
        channel->stop_due = NB_STOP_NOW;
        channel = nb_dispatch_spare_of(dispatch, channel);
    }
}

static bool accepts(const nb_dispatch_channel *channel) {
    return !channel->stop_due && !channel->retire_due && !channel->lost && !channel->responses.broken &&
           !atomic_load_explicit(&channel->channel->board->executor_gone, memory_order_relaxed);
}

bool nb_dispatch_serves(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->channel && accepts(channel)) return true;
    }
    return false;
}

static uint64_t credit_left(const nb_dispatch_channel *channel) {
    return accepts(channel) ? nb_link_credit(channel->channel->link) : 0;
}

/* How much the executor has to do. With several loops none of them knows what the others have
   handed, so that the board is read. */
static uint32_t load_of(const nb_dispatch_channel *channel) {
    const nb_link *link = channel->channel->link;
    if (link->count == 1) return channel->load;
    return atomic_load_explicit(&link->board->figures.running, memory_order_relaxed) + (uint32_t)nb_link_pending(link);
}

/* Requests that it runs, without those it has not taken yet. */
static uint64_t running_of(const nb_dispatch_channel *channel) {
    return channel->load > channel->backlog ? channel->load - channel->backlog : 0;
}

static bool sleeps_idle(const nb_dispatch_channel *channel) {
    const nb_link *link = channel->channel->link;
    return nb_doorbell_sleeping(&link->board->executor_bell) && !channel->dirty &&
           (link->count == 1 || nb_link_pending(link) == 0);
}

/* True: it will begin with what it has in hand before another executor could be woken. */
static bool starts_soon(const nb_dispatch_channel *channel) {
    return channel->request_ns && channel->backlog * channel->request_ns < WAKE_NS;
}

/* True: the first is the better choice. An awake one is preferred only while it runs at most one
   request more than the sleeping one. */
static bool better(const nb_dispatch_channel *first, bool first_sleeps, const nb_dispatch_channel *second,
                   bool second_sleeps) {
    if (!first_sleeps && second_sleeps) return starts_soon(first) && running_of(first) <= running_of(second) + 1;
    if (first_sleeps && !second_sleeps) return !better(second, false, first, true);
    return load_of(first) < load_of(second);
}

/* True: some class may be held. Several loops keep one common order and hold nothing back. */
static bool is_throttling(const nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count && !dispatch->queues; i++) {
        const nb_channel *channel = dispatch->channels[i].channel;
        if (channel && nb_throttle_active(&channel->board->throttle)) return true;
    }
    return false;
}

static bool holds(const nb_dispatch_channel *channel, uint64_t request_class) {
    return nb_throttle_holds(&channel->channel->board->throttle, request_class);
}

/* True: some executor holds the class. */
static bool is_held(const nb_dispatch *dispatch, uint64_t request_class) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (dispatch->channels[i].channel && holds(&dispatch->channels[i], request_class)) return true;
    }
    return false;
}

static bool asks(const nb_dispatch *dispatch, const nb_dispatch_channel *channel, uint64_t request_class) {
    return channel->channel && !holds(channel, request_class) && !channel->pipe_full && credit_left(channel) > 0 &&
           !nb_dispatch_is_paused(dispatch, channel);
}

nb_dispatch_channel *nb_dispatch_choose(nb_dispatch *dispatch, size_t bytes, uint64_t request_class) {
    nb_dispatch_channel *best = NULL;
    bool best_sleeps = false;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (channel->busy || channel->unresponsive || !asks(dispatch, channel, request_class)) continue;
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
    if (dispatch->has_choice) nb_dispatch_list_handed(dispatch, channel, exchange, place, bytes);
    if (exchange->left_due || exchange->cancel_due) tell_or_list(dispatch, exchange);
}

static bool send_descriptor(nb_dispatch_channel *channel, int fd) {
    if (nb_channel_send_fd(channel->channel, fd) == NB_OK) return true;
    channel->pipe_full = true;
    return false;
}

bool nb_dispatch_hand(nb_dispatch *dispatch, nb_dispatch_channel *channel, nb_exchange *exchange,
                      const nb_request_message *message, int body_fd) {
    size_t bytes = message->message.bytes;
    nb_request_message *place = nb_ring_reserve(&channel->requests, bytes);
    NB_ASSERT(place);
    if (!nb_link_take_credit(channel->channel->link)) return false;
    if (body_fd >= 0 && !send_descriptor(channel, body_fd)) {
        nb_link_return_credit(channel->channel->link);
        return false;
    }
    memcpy(place, message, bytes);
    atomic_store_explicit(&place->claim, NB_CLAIM_NONE, memory_order_relaxed);
    place->body_fd = body_fd;
    if (dispatch->has_choice) exchange->body_fd = body_fd;
    commit(dispatch, channel, exchange, place, bytes);
    return true;
}

/* Fibers that are free for requests. A burst arrives faster than fibers start, or during a garbage
   collection, and is no overload. */
static uint64_t free_fibers(const nb_dispatch *dispatch) {
    uint64_t count = 0;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel || !accepts(channel) || channel->helped != NB_CHANNEL_NONE) continue;
        const nb_link *link = channel->channel->link;
        uint64_t asked_max = atomic_load_explicit(&link->board->asked_max, memory_order_relaxed);
        uint64_t handed = atomic_load_explicit(&link->handed, memory_order_relaxed);
        if (asked_max > handed) count += asked_max - handed;
    }
    return count;
}

/* True: it will ask for one more, as it has not seen yet that the last one was requeued. */
static bool will_ask(const nb_dispatch_channel *channel) {
    return accepts(channel) && channel->handed_at_requeue &&
           atomic_load_explicit(&channel->channel->link->handed, memory_order_relaxed) == channel->handed_at_requeue;
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

/* Threads of a lane that ask for a request, or will as soon as they are done with the last: a
   client that has its answer may be quicker than the thread that gave it. */
static uint64_t free_threads(const nb_dispatch *lane) {
    uint64_t count = 0;
    for (uint16_t i = 0; i < lane->count; i++) {
        const nb_dispatch_channel *channel = &lane->channels[i];
        if (!channel->channel || !accepts(channel)) continue;
        if (credit_left(channel) || nb_link_has_answered(channel->channel->link)) count++;
    }
    return count;
}

static bool full(const nb_dispatch *dispatch) {
    uint32_t waiting = nb_dispatch_waiting(dispatch);
    if (waiting < dispatch->waiting_max) return false;
    return waiting - dispatch->waiting_max >= (dispatch->lane ? free_threads(dispatch) : free_fibers(dispatch));
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
    bool waits = dispatch->waiting.count || gives_way(dispatch, facts->arrived_ns) || is_throttling(dispatch);
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

/* True: the request went into a ring, and the message is freed. */
static bool send_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message,
                         uint64_t request_class) {
    nb_dispatch_channel *channel;
    while ((channel = nb_dispatch_choose(dispatch, message->message.bytes, request_class))) {
        if (!nb_dispatch_hand(dispatch, channel, exchange, message, (int)message->body_fd)) continue;
        nb_free(message);
        return true;
    }
    return false;
}

nb_status nb_dispatch_message(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message) {
    message->message.exchange = nb_exchange_id_of(exchange);
    bool waits = dispatch->waiting.count || gives_way(dispatch, message->arrived_ns) || is_throttling(dispatch);
    if (!waits && send_message(dispatch, exchange, message, 0)) return NB_OK;
    return queue(dispatch, exchange, message);
}

#define INPUT_MESSAGE_BYTES (sizeof(nb_message) + NB_INPUT_PART_BYTES)

char *nb_dispatch_input_reserve(nb_dispatch *dispatch, const nb_exchange *exchange) {
    if (exchange->channel == NB_CHANNEL_NONE) return NULL;
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    if (exchange->record) nb_dispatch_drop_begun(channel);
    if (exchange->record) { /* it may still be requeued */
        channel->input_needs_claim = true;
        return NULL;
    }
    nb_message *place = nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES);
    if (!place) channel->input_needs_room = true;
    return place ? (char *)(place + 1) : NULL;
}

static void input_retry(nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].input_needs_room = dispatch->channels[i].input_needs_claim = false;
    }
}

void nb_dispatch_input_send(nb_dispatch *dispatch, const nb_exchange *exchange, size_t bytes, bool last) {
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    nb_message *message = nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES);
    size_t message_bytes = sizeof(*message) + bytes;
    NB_ASSERT(message && bytes <= NB_INPUT_PART_BYTES);
    *message = (nb_message){.type = NB_MESSAGE_INPUT,
                            .flags = last ? NB_INPUT_LAST : 0,
                            .bytes = (uint32_t)message_bytes,
                            .exchange = nb_exchange_id_of(exchange)};
    nb_ring_commit(&channel->requests, message_bytes);
    channel->dirty = true;
}

/* The first expires first: all deadlines are equally far from the arrival, and the queue is in the
   order of arrival. */
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

/* False: the ring or the pipe is full, and the handover still belongs to the exchange. */
static bool tell_handover(nb_dispatch_channel *channel, nb_exchange *exchange) {
    const nb_handover *handover = exchange->handover;
    size_t bytes = sizeof(nb_hijacked_message) + handover->size;
    nb_hijacked_message *message = nb_ring_reserve(&channel->requests, bytes);
    if (!message || !send_descriptor(channel, handover->fd)) return false;
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

/* Tells the executor what is due for the exchange. False: the ring is full. */
static bool tell_due(nb_dispatch_channel *channel, nb_exchange *exchange) {
    if (exchange->drained_due && !tell(channel, NB_MESSAGE_DRAINED, 0, nb_exchange_id_of(exchange))) return false;
    exchange->drained_due = false;
    if (exchange->left_due && !tell(channel, NB_MESSAGE_LEFT, 0, nb_exchange_id_of(exchange))) return false;
    exchange->left_due = false;
    if (exchange->cancel_due && !tell(channel, NB_MESSAGE_CANCEL, 0, nb_exchange_id_of(exchange))) return false;
    exchange->cancel_due = false;
    if (exchange->handover && !tell_handover(channel, exchange)) return false;
    if (exchange->gone_due && !tell(channel, NB_MESSAGE_GONE, exchange->gone_reason, nb_exchange_id_of(exchange)))
        return false;
    exchange->gone_due = false;
    return true;
}

static void tell_or_list(nb_dispatch *dispatch, nb_exchange *exchange) {
    if (exchange->channel == NB_CHANNEL_NONE || exchange->in_notices) return;
    nb_dispatch_channel *channel = &dispatch->channels[exchange->channel];
    if (channel->lost) return;
    if (!channel->notices && tell_due(channel, exchange)) return;
    exchange->in_notices = true;
    exchange->notice_next = channel->notices;
    channel->notices = exchange;
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

void nb_dispatch_tell_cancel(nb_dispatch *dispatch, nb_exchange *exchange) {
    exchange->cancel_due = exchange->cancelled = true;
    tell_or_list(dispatch, exchange);
}

void nb_dispatch_hand_over(nb_dispatch *dispatch, nb_exchange *exchange) { tell_or_list(dispatch, exchange); }

void nb_dispatch_tell_gone(nb_dispatch *dispatch, nb_exchange *exchange) {
    exchange->gone_due = true;
    tell_or_list(dispatch, exchange);
}

static void stop_one(nb_dispatch *dispatch, nb_stop how) {
    if (how <= dispatch->stop) return;
    dispatch->stop = how;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].stop_due = how;
    }
}

/* Tells what found the ring full. An exchange that ended while it was listed is freed only here, as
   the list holds it. */
static void pump_notices(nb_dispatch *dispatch, nb_dispatch_channel *channel) {
    while (channel->notices) {
        nb_exchange *exchange = channel->notices;
        if (!exchange->ended && !tell_due(channel, exchange)) return;
        channel->notices = exchange->notice_next;
        exchange->in_notices = false;
        if (nb_exchange_is_left_alone(exchange) && !exchange->connection)
            nb_exchange_destroy(dispatch->exchanges, exchange);
    }
    if (channel->retire_due && !channel->retired) channel->retired = tell(channel, NB_MESSAGE_RETIRE, 0, 0);
    bool has_its_last = channel->retire_due || dispatch->waiting.count == 0;
    if (channel->stop_due > channel->stop_told && has_its_last &&
        tell(channel, NB_MESSAGE_STOP, (uint16_t)channel->stop_due, 0))
        channel->stop_told = channel->stop_due;
}

nb_dispatch_channel *nb_dispatch_choose_busy(nb_dispatch *dispatch, size_t bytes, uint64_t request_class) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->busy || !asks(dispatch, channel, request_class) || nb_dispatch_is_blocked(channel)) continue;
        nb_dispatch_drop_begun(channel);
        if (!channel->handed_first && nb_ring_reserve(&channel->requests, bytes)) return channel;
    }
    return NULL;
}

/* While no executor is free, hands the request to a busy one that has none in hand, so that it goes
   on without waiting for the loop. The first executor that is free gets it. */
static bool send_ahead(nb_dispatch *dispatch, nb_exchange *exchange, nb_request_message *message,
                       uint64_t request_class) {
    nb_dispatch_channel *channel = nb_dispatch_choose_busy(dispatch, message->message.bytes, request_class);
    if (!channel || !nb_dispatch_hand(dispatch, channel, exchange, message, (int)message->body_fd)) return false;
    nb_dispatch_mark_unresponsive(channel);
    nb_free(message);
    return true;
}

static nb_slice slice_of(const nb_request_message *message, nb_span span) {
    return (nb_slice){(const char *)message + span.offset, span.size};
}

static uint64_t class_of(const nb_request_message *message) {
    return nb_request_class_of(slice_of(message, message->method_text), slice_of(message, message->path));
}

/* True: every executor holds the class, but spares that are handed nothing for now. False while a
   spare is being called, as that may take it. */
static bool is_held_by_all(const nb_dispatch *dispatch, uint64_t request_class) {
    bool held = false;
    for (uint16_t i = 0; i < dispatch->count; i++) {
        const nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel || !accepts(channel)) continue;
        if (channel->helped != NB_CHANNEL_NONE && nb_dispatch_is_paused(dispatch, channel)) continue;
        if (!holds(channel, request_class)) return false;
        held = true;
    }
    return held && !dispatch->calls_spare;
}

/* True: some request that was set aside may be handed now. */
static bool may_bring_back(const nb_dispatch *dispatch) {
    if (!nb_waiting_any_aside(&dispatch->waiting)) return false;
    for (uint16_t place = 0; place < NB_THROTTLE_SLOTS; place++) {
        uint64_t request_class = dispatch->waiting.classes_aside[place];
        if (request_class && !is_held_by_all(dispatch, request_class)) return true;
    }
    return false;
}

/* Classes of which a request was passed over in this turn, by slot. Executors hold and release
   classes meanwhile: no later request of such a class may go before the one passed over. */
typedef uint64_t passed_classes[NB_THROTTLE_SLOTS];

static bool is_behind(const nb_dispatch *dispatch, const passed_classes passed, uint64_t request_class) {
    return nb_waiting_is_behind(&dispatch->waiting, request_class) ||
           (request_class && passed[nb_throttle_slot(request_class)] == request_class);
}

/* The request is held, and others may pass it. True: the next turn looks at it again. */
static bool pass_over(nb_dispatch *dispatch, passed_classes passed, nb_waiting *waiting) {
    nb_waiting_queue *queue = &dispatch->waiting;
    if (nb_waiting_is_behind(queue, waiting->request_class) || is_held_by_all(dispatch, waiting->request_class)) {
        if (nb_waiting_set_aside(queue, waiting)) return false;
    }
    passed[nb_throttle_slot(waiting->request_class)] = waiting->request_class;
    return true;
}

static void pump_due(nb_dispatch *dispatch, bool throttling) {
    passed_classes passed = {0};
    uint32_t held = 0;
    nb_waiting_queue *queue = &dispatch->waiting;
    for (nb_waiting *waiting = nb_waiting_first_due(queue), *next; waiting && held < PASSED_MAX; waiting = next) {
        next = nb_waiting_next_due(queue, waiting);
        if (throttling && waiting->request_class == 0) waiting->request_class = class_of(waiting->message);
        if (gives_way(dispatch, waiting->message->arrived_ns)) return;
        bool behind = is_behind(dispatch, passed, waiting->request_class);
        if (!behind && (send_message(dispatch, waiting->exchange, waiting->message, waiting->request_class) ||
                        send_ahead(dispatch, waiting->exchange, waiting->message, waiting->request_class))) {
            unqueue(dispatch, waiting);
        } else if (!behind && !is_held(dispatch, waiting->request_class)) {
            return;
        } else if (pass_over(dispatch, passed, waiting)) {
            held++;
        }
    }
}

void nb_dispatch_pump_waiting(nb_dispatch *dispatch) {
    if (may_bring_back(dispatch)) nb_waiting_bring_back(&dispatch->waiting);
    if (!nb_list_empty(&dispatch->waiting.due)) pump_due(dispatch, is_throttling(dispatch));
}

/* Wakes loops that gave way to what waited here. Without credit there is no need: an executor that
   gives some rings all loops. */
static void wake_other_loops(nb_dispatch *dispatch) {
    dispatch->first_changed = false;
    nb_doorbell_fence(&dispatch->queues->places[dispatch->number].bell);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        if (!dispatch->channels[i].channel || credit_left(&dispatch->channels[i]) == 0) continue;
        nb_queues_wake_others(dispatch->queues, dispatch->number);
        return;
    }
}

static void publish_one(nb_dispatch *dispatch) {
    for (uint16_t i = 0; i < dispatch->count; i++) {
        dispatch->channels[i].pipe_full = false;
    }
    nb_dispatch_pump_waiting(dispatch);
    if (dispatch->first_changed) wake_other_loops(dispatch); /* there are several loops */
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel) continue;
        if (channel->notices || channel->stop_due || channel->retire_due) pump_notices(dispatch, channel);
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

/* Bytes of room that the first notice needs. */
static size_t notice_bytes(const nb_dispatch_channel *channel) {
    const nb_handover *handover = channel->notices ? channel->notices->handover : NULL;
    return handover ? sizeof(nb_hijacked_message) + handover->size : sizeof(nb_message);
}

/* The first request of the queue whose class the executor does not hold. */
static const nb_waiting *first_for(const nb_dispatch *dispatch, const nb_dispatch_channel *channel) {
    const nb_waiting *waiting = nb_waiting_first_due(&dispatch->waiting);
    for (uint32_t held = 0; waiting && holds(channel, waiting->request_class); held++) {
        if (held == PASSED_MAX) return NULL;
        waiting = nb_waiting_next_due(&dispatch->waiting, waiting);
    }
    return waiting;
}

/* True: there is work with the channel that was not there at the last try. */
static bool has_something(const nb_dispatch *dispatch, nb_dispatch_channel *channel, bool starved, bool notices) {
    if (nb_ring_readable(&channel->responses)) return true;
    if (channel->input_needs_claim && nb_dispatch_drop_begun(channel)) return true;
    if (channel->input_needs_room && nb_ring_reserve(&channel->requests, INPUT_MESSAGE_BYTES)) return true;
    if (channel->pipe_full) return false;
    if (notices && nb_ring_reserve(&channel->requests, notice_bytes(channel))) return true;
    if (!starved || gives_way(dispatch, nb_waiting_first(&dispatch->waiting)->message->arrived_ns) ||
        nb_dispatch_is_stuck(channel) || credit_left(channel) == 0 || nb_dispatch_is_paused(dispatch, channel))
        return false;
    const nb_waiting *first = first_for(dispatch, channel);
    return first && nb_ring_reserve(&channel->requests, first->message->message.bytes);
}

static bool announce_one(nb_dispatch *dispatch) {
    bool starved = !nb_list_empty(&dispatch->waiting.due), keeps = dispatch->waiting.count && !starved;
    bool something = false, unresponsive = false;
    if (starved && dispatch->queues) nb_doorbell_announce(&dispatch->queues->places[dispatch->number].bell);
    for (uint16_t i = 0; i < dispatch->count; i++) {
        unresponsive = unresponsive || (dispatch->channels[i].unresponsive && dispatch->channels[i].handed_first);
    }
    for (uint16_t i = 0; i < dispatch->count; i++) {
        nb_dispatch_channel *channel = &dispatch->channels[i];
        if (!channel->channel) continue;
        nb_channel_memory *memory = channel->channel->memory;
        bool notices = channel->notices || (channel->retire_due && !channel->retired) ||
                       (channel->stop_due > channel->stop_told && !starved && !keeps);
        bool waits = starved || unresponsive || notices || channel->input_needs_room || channel->input_needs_claim;
        uint32_t starves = waits ? NB_LOOP_STARVED : keeps ? NB_LOOP_THROTTLED : 0;
        atomic_store_explicit(&memory->loop_starved, starves, memory_order_relaxed);
        nb_doorbell_announce(&memory->loop_bell);
        if (starves == NB_LOOP_STARVED) nb_channel_ring_busy_executor(channel->channel);
        if (has_something(dispatch, channel, starved, notices)) something = true;
    }
    return something || may_bring_back(dispatch);
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
        if (dispatch->channels[i].pipe_full) return true; /* nobody rings when the pipe has room */
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
        if (!gone && atomic_load_explicit(&board->asked, memory_order_acquire) > 0) return false;
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

void nb_dispatch_stop(nb_dispatch *dispatch, nb_stop how) {
    for (; dispatch; dispatch = dispatch->next_lane) {
        stop_one(dispatch, how);
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

nb_exchange *nb_dispatch_take_expired(nb_dispatch *dispatch, int64_t now_ns, nb_request_message **message) {
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
