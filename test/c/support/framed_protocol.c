/*
 * framed_protocol.c - see framed_protocol.h.
 */
#include "support/framed_protocol.h"

#include <string.h>

#include "base/alloc.h"
#include "connection/responding.h"
#include "connection/connection.h"
#include "connection/delivery.h"
#include "connection/upload.h"
#include "intake/body.h"

/* Bytes that wait in the connection's send queue at most, so that a stream that begins has its
   turn. */
#define AHEAD_BYTES 65536u

typedef struct stream {
    uint16_t number;
    bool body_complete;
    uint32_t window; /* of the answer */
    uint64_t taken;  /* of the body, as the client knows */
} stream;

/* What is left of the frame that is being read; kind 0: none is. */
typedef struct session {
    nb_test_frame frame;
    bool storing; /* a worker writes a part of a body */
    bool stalled; /* the rest of the frame finds no room */
} session;

static session *session_of(const nb_connection *connection) { return (session *)(uintptr_t)connection->session; }
static stream *stream_of(const nb_exchange *exchange) { return (stream *)(uintptr_t)exchange->protocol_state; }

_Static_assert(sizeof(session) <= sizeof(((nb_connection *)0)->session), "the session fits");
_Static_assert(sizeof(stream) <= sizeof(((nb_exchange *)0)->protocol_state), "the stream fits");

static nb_exchange *find(const nb_connection *connection, uint16_t number) {
    nb_exchange *exchange = connection->first;
    while (exchange && stream_of(exchange)->number != number)
        exchange = exchange->next;
    return exchange;
}

static nb_status add_frame(nb_exchange *exchange, nb_pool *pool, uint8_t kind, uint8_t flags, uint32_t bytes) {
    nb_test_frame frame = {bytes, stream_of(exchange)->number, kind, flags};
    return nb_send_queue_add(&exchange->connection->send_queue, pool, (nb_slice){(const char *)&frame, sizeof frame});
}

/* --- responses --- */

static nb_status add_lines(nb_responses *responses, nb_exchange *exchange, uint8_t kind, uint16_t status, nb_slice date,
                           nb_slice lines) {
    nb_send_queue *queue = &exchange->connection->send_queue;
    uint32_t bytes = (uint32_t)(sizeof status + date.size + lines.size);
    nb_status added = add_frame(exchange, responses->pool, kind, 0, bytes);
    if (added == NB_OK)
        added = nb_send_queue_add(queue, responses->pool, (nb_slice){(const char *)&status, sizeof status});
    if (added == NB_OK) added = nb_send_queue_add(queue, responses->pool, date);
    return added == NB_OK ? nb_send_queue_add(queue, responses->pool, lines) : added;
}

static nb_status head(nb_responses *responses, nb_exchange *exchange, nb_slice date_line, nb_slice field_lines) {
    return add_lines(responses, exchange, NB_TEST_FRAME_HEAD, exchange->response.status, date_line, field_lines);
}

static nb_status interim(nb_responses *responses, nb_exchange *exchange, uint16_t status, nb_slice field_lines) {
    return add_lines(responses, exchange, NB_TEST_FRAME_INTERIM, status, (nb_slice){NULL, 0}, field_lines);
}

static nb_status content(nb_responses *responses, nb_exchange *exchange, nb_slice bytes) {
    return nb_send_queue_add(exchange->out, responses->pool, bytes);
}

static nb_status end(nb_responses *responses, nb_exchange *exchange) {
    (void)responses, (void)exchange;
    return NB_OK;
}

static const nb_response_writer writer = {.head = head, .content = content, .end = end, .interim = interim};

static void answered(nb_connections *connections, nb_exchange *exchange) {
    nb_connection_mark_dirty(connections, exchange->connection);
}

/* One frame of the stream. False: it can send nothing now. */
static bool fill_one(nb_connections *connections, nb_exchange *exchange, nb_status *status) {
    nb_connection *connection = exchange->connection;
    stream *own = stream_of(exchange);
    uint64_t bytes = exchange->send_queue.bytes;
    if (bytes > own->window) bytes = own->window;
    if (bytes > NB_TEST_FRAME_BYTES_MAX) bytes = NB_TEST_FRAME_BYTES_MAX;
    bool last = exchange->ended && bytes == exchange->send_queue.bytes;
    if (bytes == 0 && !last) return false;
    bool truncated = last && exchange->truncated;
    *status = add_frame(exchange, connections->pool, NB_TEST_FRAME_DATA, last && !truncated ? NB_TEST_FRAME_END : 0,
                        (uint32_t)bytes);
    if (*status == NB_OK)
        *status = nb_send_queue_move(&connection->send_queue, &exchange->send_queue, connections->pool, bytes);
    own->window -= (uint32_t)bytes;
    if (*status == NB_OK && truncated) *status = add_frame(exchange, connections->pool, NB_TEST_FRAME_RESET, 0, 0);
    if (*status != NB_OK) return false;
    nb_connection_tell_drained(connections, exchange, exchange->send_queue.bytes);
    if (last) nb_connection_drop_exchange(connections, exchange);
    return true;
}

/* A frame of each stream in turn. */
static void fill(nb_connections *connections, nb_connection *connection) {
    nb_status status = NB_OK;
    bool more = true;
    while (more && status == NB_OK && nb_connection_owed(connection) < AHEAD_BYTES) {
        more = false;
        for (nb_exchange *exchange = connection->first, *next; exchange && status == NB_OK; exchange = next) {
            next = exchange->next;
            if (fill_one(connections, exchange, &status)) more = true;
        }
    }
    if (status != NB_OK) nb_connection_end(connections, connection, true);
}

static void sent(nb_connections *connections, nb_connection *connection) {
    for (nb_exchange *exchange = connection->first; exchange && connection->waits == NB_WAITS_NOT;
         exchange = exchange->next) {
        if (exchange->send_queue.bytes > 0 && stream_of(exchange)->window > 0)
            nb_connection_mark_dirty(connections, connection);
    }
}

/* --- requests --- */

static void stop_stream(nb_connections *connections, nb_exchange *exchange) {
    (void)connections;
    stream_of(exchange)->body_complete = true;
}

/* "METHOD /path", the frame's payload. */
static void begin(nb_connections *connections, nb_connection *connection, const char *bytes,
                  const nb_test_frame *frame) {
    nb_exchange *exchange = nb_connection_add_exchange(connections, connection);
    const char *path = memchr(bytes, ' ', frame->bytes);
    if (!exchange || !path) {
        nb_connection_end(connections, connection, true);
        return;
    }
    size_t method_bytes = (size_t)(path - bytes);
    nb_head *request = &connections->head;
    *request = (nb_head){.method_text = {bytes, method_bytes}, .path = {path + 1, frame->bytes - method_bytes - 1}};
    request->method = memcmp(bytes, "POST", method_bytes) == 0 ? NB_METHOD_POST : NB_METHOD_GET;
    request->target = request->path;
    *stream_of(exchange) = (stream){.number = frame->stream, .window = NB_TEST_FRAMED_WINDOW};
    nb_request_facts facts = {.head = request,
                              .raw = {bytes, frame->bytes},
                              .body_bytes = NB_CONTENT_LENGTH_UNKNOWN,
                              .has_body = !(frame->flags & NB_TEST_FRAME_END)};
    nb_request_kind kind = nb_delivery_begin(connections, exchange, &facts);
    if (kind == NB_REQUEST_WHOLE)
        nb_delivery_finish(connections, exchange, nb_delivery_head(connections, exchange, &facts));
}

static void body_complete(nb_connections *connections, nb_exchange *exchange) {
    stream_of(exchange)->body_complete = true;
    if (exchange->upload) nb_connection_end_body(connections, exchange);
    if (exchange->body) nb_delivery_finish(connections, exchange, nb_delivery_body(connections, exchange));
}

/* Bytes of DATA that were used; fewer than there are: the rest waits. */
static size_t pass_on(nb_connections *connections, nb_exchange *exchange, const char *bytes, size_t size, bool last) {
    size_t used = 0, room = 0;
    nb_dispatch *dispatch = nb_dispatch_of(connections->dispatch, exchange);
    char *place;
    do {
        if (!(place = nb_upload_place(&connections->uploads, exchange->upload, dispatch, &room))) return used;
        if (room > size - used) room = size - used;
        memcpy(place, bytes + used, room);
        used += room;
        nb_upload_send(exchange->upload, dispatch, room, last && used == size);
    } while (used < size);
    return used;
}

static size_t collect(nb_connections *connections, nb_exchange *exchange, const char *bytes, size_t size, bool last) {
    nb_body *body = exchange->body;
    size_t step = size < nb_body_room(body) ? size : nb_body_room(body);
    nb_status status = nb_body_add(body, bytes, step);
    if (status == NB_OK && step < size) status = nb_body_write(body);
    if (status == NB_OK && last && step == size) status = nb_body_end(body);
    session_of(exchange->connection)->storing = status == NB_AGAIN;
    if (status != NB_OK && status != NB_AGAIN) nb_delivery_body_failed(connections, exchange, status);
    return step;
}

/* True: the frame is done with, as far as its bytes are there. */
static bool take_data(nb_connections *connections, nb_connection *connection, nb_test_frame *frame, const char *bytes,
                      size_t size) {
    nb_exchange *exchange = find(connection, frame->stream);
    bool last = (frame->flags & NB_TEST_FRAME_END) && size == frame->bytes, all = true;
    size_t used = size;
    if (exchange && !stream_of(exchange)->body_complete) {
        if (exchange->upload) used = pass_on(connections, exchange, bytes, size, last);
        if (exchange->body) used = collect(connections, exchange, bytes, size, last);
        all = used == size && !session_of(connection)->storing;
        if (all && last && find(connection, frame->stream) == exchange) body_complete(connections, exchange);
    }
    frame->bytes -= (uint32_t)used;
    if (connection->state == NB_CONNECTION_OPEN && used > 0)
        nb_buffer_consume(&connection->input, connections->pool, used);
    return all;
}

static void reset_stream(nb_connections *connections, nb_exchange *exchange) {
    if (exchange) nb_connection_abort_exchange(connections, exchange);
}

/* A whole frame is there, but for DATA, of which some is. */
static bool take(nb_connections *connections, nb_connection *connection, nb_test_frame *frame, const char *bytes,
                 size_t size) {
    nb_exchange *exchange = find(connection, frame->stream);
    uint32_t more = 0;
    if (frame->kind == NB_TEST_FRAME_DATA) return take_data(connections, connection, frame, bytes, size);
    if (frame->kind == NB_TEST_FRAME_REQUEST) begin(connections, connection, bytes, frame);
    if (frame->kind == NB_TEST_FRAME_RESET) reset_stream(connections, exchange);
    if (frame->kind == NB_TEST_FRAME_WINDOW && exchange && size == sizeof more) {
        memcpy(&more, bytes, sizeof more);
        stream_of(exchange)->window += more;
        nb_connection_mark_dirty(connections, connection);
    }
    if (connection->state == NB_CONNECTION_OPEN && size > 0)
        nb_buffer_consume(&connection->input, connections->pool, size);
    frame->bytes = 0;
    return true;
}

static void received(nb_connections *connections, nb_connection *connection) {
    session *own = session_of(connection);
    nb_test_frame *frame = &own->frame;
    own->stalled = false;
    while (connection->state == NB_CONNECTION_OPEN && !own->storing) {
        size_t size = connection->input.data ? nb_buffer_size(&connection->input) : 0;
        if (frame->kind == 0) {
            if (size < sizeof *frame) return;
            memcpy(frame, nb_buffer_bytes(&connection->input), sizeof *frame);
            nb_buffer_consume(&connection->input, connections->pool, sizeof *frame);
            size = connection->input.data ? nb_buffer_size(&connection->input) : 0;
        }
        if (size > frame->bytes) size = frame->bytes;
        if (size < frame->bytes && (frame->kind != NB_TEST_FRAME_DATA || size == 0)) return;
        own->stalled = !take(connections, connection, frame, size ? nb_buffer_bytes(&connection->input) : "", size);
        if (own->stalled) return;
        if (frame->bytes == 0) frame->kind = 0;
    }
}

/* A body's last frame, or the rest of one, goes on. */
static void go_on(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    nb_connection_receive(connections, connection);
    nb_connection_follow(connections, connection);
}

static void body_written(nb_connections *connections, nb_exchange *exchange, nb_status status) {
    session *own = session_of(exchange->connection);
    own->storing = false;
    if (status != NB_OK) {
        nb_delivery_body_failed(connections, exchange, status);
    } else if (own->frame.bytes == 0 && own->frame.kind) { /* that was the last part */
        own->frame.kind = 0;
        body_complete(connections, exchange);
    }
    go_on(connections, exchange);
}

static void body_taken(nb_connections *connections, nb_exchange *exchange) {
    stream *own = stream_of(exchange);
    uint32_t more = (uint32_t)(exchange->upload->taken - own->taken);
    own->taken = exchange->upload->taken;
    if (more > 0) {
        nb_status status = add_frame(exchange, connections->pool, NB_TEST_FRAME_WINDOW, 0, sizeof more);
        if (status == NB_OK)
            (void)nb_send_queue_add(&exchange->connection->send_queue, connections->pool,
                                    (nb_slice){(const char *)&more, sizeof more});
        nb_connection_mark_dirty(connections, exchange->connection);
    }
    go_on(connections, exchange);
}

/* --- the rest --- */

static void nothing(nb_connection *connection) { (void)connection; }

static bool wants_input(const nb_connection *connection) {
    return !session_of(connection)->stalled && !nb_connection_answers_pile_up(connection) &&
           connection->in_flight < NB_PIPELINE_MAX * 4;
}

static void input_ended(nb_connections *connections, nb_connection *connection) {
    if (connection->first || nb_connection_owes(connection)) {
        connection->state = NB_CONNECTION_LAST;
    } else {
        nb_connection_end(connections, connection, false);
    }
}

static nb_phase phase(const nb_connection *connection) {
    if (connection->first || nb_connection_owes(connection)) return NB_PHASE_ANSWERING;
    return connection->input.data ? NB_PHASE_READING : NB_PHASE_IDLE;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    return connection->first ? NB_TIMEOUT_NONE : NB_TIMEOUT_IDLE;
}

static void timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind) {
    (void)kind;
    nb_connection_end(connections, connection, true);
}

const nb_protocol nb_test_framed = {
    .name = "framed",
    .writer = &writer,
    .open = nothing,
    .close = nothing,
    .wants_input = wants_input,
    .received = received,
    .input_ended = input_ended,
    .body_written = body_written,
    .body_room = go_on,
    .body_taken = body_taken,
    .body_stopped = stop_stream,
    .answered = answered,
    .fill = fill,
    .sent = sent,
    .phase = phase,
    .timeout_class = timeout_class,
    .timed_out = timed_out,
};
