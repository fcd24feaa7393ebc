/*
 * admin_events.c - /events: an event stream (HTML Living Standard, section 9.2) of what the live
 * page shows. Each second it has three: `latency`, how long requests have taken since the one
 * before; `status`, whose data is /status.json; `fibers`, whose data is /fibers.json of the oldest
 * fibers. The first second has no `latency`.
 *
 * The events are written once for all streams. A client that has not taken the last ones is left
 * out: it owes the events of one second at most.
 */
#include "admin/admin.h"
#include "connection/responding.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "loop/loop_state.h"
#include "os/clock.h"
#include "responses/compose.h"

#define INTERVAL_NS NB_NS_PER_S

static const char full[] = "so many event streams are open; close one of the pages that show this server";

/* Left out of the first events: nothing is known of the time before. */
static void write_latency(nb_loop *loop, nb_text *text) {
    nb_event_streams *streams = &loop->event_streams;
    bool first = streams->earlier == NULL;
    if (first) streams->earlier = nb_alloc_zero(NB_STAGES, sizeof(*streams->earlier));
    text->failed |= streams->earlier == NULL;
    if (text->failed) return;
    size_t before = text->size;
    nb_text_add(text, "event: latency\ndata: ");
    nb_admin_write_latency(loop, streams->earlier, text);
    nb_text_add(text, "\n");
    if (first) text->size = before;
}

static void write_events(nb_loop *loop, nb_text *text) {
    write_latency(loop, text);
    nb_text_add(text, "event: status\ndata: ");
    nb_admin_write_status(loop, text);
    nb_text_add(text, "\nevent: fibers\ndata: ");
    nb_admin_write_oldest_fibers(loop, text);
    nb_text_add(text, "\n");
}

static bool has_taken_the_last(const nb_exchange *exchange) {
    return !nb_connection_owes(exchange->connection) && exchange->send_queue.bytes == 0;
}

static void send_events(nb_loop *loop, nb_exchange *exchange, nb_slice events) {
    nb_message part = {.type = NB_MESSAGE_BODY,
                       .bytes = (uint32_t)(sizeof(part) + events.size),
                       .exchange = nb_exchange_id_of(exchange)};
    nb_respond_part(&loop->connections, exchange, &part, events.data);
}

/* The exchange of a stream, while its client is there; else NULL. */
static nb_exchange *exchange_of(nb_loop *loop, nb_exchange_id id) {
    nb_exchange *exchange = nb_exchange_find(&loop->connections.exchanges, id);
    return exchange && exchange->connection ? exchange : NULL;
}

static void forget_ended(nb_loop *loop) {
    nb_event_streams *streams = &loop->event_streams;
    uint16_t kept = 0;
    for (uint16_t i = 0; i < streams->count; i++) {
        if (exchange_of(loop, streams->exchanges[i])) streams->exchanges[kept++] = streams->exchanges[i];
    }
    streams->count = kept;
}

void nb_admin_tell(nb_loop *loop) {
    nb_event_streams *streams = &loop->event_streams;
    uint16_t kept = 0;
    nb_text text;
    nb_text_init(&text, NB_ADMIN_BODY_BYTES_MAX);
    for (uint16_t i = 0; i < streams->count; i++) {
        nb_exchange_id id = streams->exchanges[i];
        nb_exchange *exchange = exchange_of(loop, id);
        if (!exchange) continue;
        streams->exchanges[kept++] = id;
        if (!has_taken_the_last(exchange)) continue;
        if (text.size == 0) write_events(loop, &text);
        if (!nb_text_failed(&text)) send_events(loop, exchange, nb_text_slice(&text));
    }
    nb_text_deinit(&text);
    streams->count = kept;
    streams->next_ns = kept ? loop->time.now_ns + INTERVAL_NS : 0;
    if (kept) return;
    nb_free(streams->earlier);
    streams->earlier = NULL;
}

nb_status nb_admin_follow(nb_loop *loop, nb_exchange *exchange) {
    static const char fields[] = "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
                                 "X-Accel-Buffering: no\r\n";
    nb_event_streams *streams = &loop->event_streams;
    if (exchange->response.head_request) return nb_compose_open(&loop->responses, exchange, 200, NB_SLICE(fields));
    if (streams->count == NB_ADMIN_STREAMS_MAX) forget_ended(loop);
    if (streams->count == NB_ADMIN_STREAMS_MAX)
        return nb_compose_own(&loop->responses, exchange, 503, full, "Retry-After: 5\r\n");
    nb_status status = nb_compose_open(&loop->responses, exchange, 200, NB_SLICE(fields));
    if (status != NB_OK) return status;
    streams->exchanges[streams->count++] = nb_exchange_id_of(exchange);
    /* the first events at once: in the next turn, when the head has left */
    streams->next_ns = loop->time.now_ns;
    return NB_OK;
}
