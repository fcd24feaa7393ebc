/*
 * http1_session.c - see http1_session.h. Reading moves the state forward (received). Responses
 * leave in the order of their requests (drop_ended_exchanges).
 */
#include "protocols/http1_session.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "connection/responding.h"
#include "connection/delivery.h"
#include "http1/framing.h"
#include "intake/body.h"

/* --- the session --- */

static void open_session(nb_connection *connection) { nb_head_parser_init(&nb_http1_session_of(connection)->parser); }

static void end_input(nb_http1_session *session) {
    nb_free(session->input);
    session->input = NULL;
    session->receiving = NULL;
}

static void close_session(nb_connection *connection) { end_input(nb_http1_session_of(connection)); }

static nb_http1_state state_of(const nb_connection *connection) {
    return (nb_http1_state)nb_http1_session_of((nb_connection *)(uintptr_t)connection)->state;
}

static const nb_http1_session *session_of(const nb_connection *connection) {
    return nb_http1_session_of((nb_connection *)(uintptr_t)connection);
}

/* NULL: the body is dropped or collected. */
static const nb_upload *upload_of(const nb_http1_session *session) {
    return session->receiving ? session->receiving->upload : NULL;
}

/* --- what the state asks of the poller and the clock --- */

static bool stream_wants_input(const nb_http1_session *session) {
    const nb_upload *upload = upload_of(session);
    return !upload || nb_upload_wants_input(upload);
}

static bool wants_input(const nb_connection *connection) {
    switch (state_of(connection)) {
    case NB_HTTP1_HEAD:
        return !nb_connection_answers_pile_up(connection);
    case NB_HTTP1_BODY:
        return true;
    case NB_HTTP1_STREAM:
        return stream_wants_input(session_of(connection));
    case NB_HTTP1_WRITING:
    case NB_HTTP1_WAITING:
        break;
    }
    return false;
}

static nb_phase phase(const nb_connection *connection) {
    switch (state_of(connection)) {
    case NB_HTTP1_HEAD:
        if (connection->first || nb_connection_owes(connection)) return NB_PHASE_ANSWERING;
        return connection->input.data ? NB_PHASE_READING : NB_PHASE_IDLE;
    case NB_HTTP1_BODY:
    case NB_HTTP1_WRITING:
    case NB_HTTP1_STREAM:
        return NB_PHASE_READING;
    case NB_HTTP1_WAITING:
        break;
    }
    return NB_PHASE_ANSWERING;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    const nb_http1_session *session = session_of(connection);
    switch (state_of(connection)) {
    case NB_HTTP1_BODY:
        return NB_TIMEOUT_TRANSFER;
    case NB_HTTP1_STREAM: /* the application's time does not count against the client */
        return stream_wants_input(session) && !session->input->expected ? NB_TIMEOUT_TRANSFER : NB_TIMEOUT_NONE;
    case NB_HTTP1_HEAD:
        if (connection->first) return NB_TIMEOUT_NONE;
        if (!connection->had_request || connection->input.data) return NB_TIMEOUT_HEADER;
        if (nb_connection_owes(connection)) return NB_TIMEOUT_NONE; /* it is sent in this turn */
        return connection->admin ? NB_TIMEOUT_ADMIN : NB_TIMEOUT_IDLE;
    case NB_HTTP1_WRITING:
    case NB_HTTP1_WAITING:
        break;
    }
    return NB_TIMEOUT_NONE;
}

/* --- exchanges --- */

/* Counts the connection with its first exchange: it speaks HTTP/1.1 then. */
static void count_connection(nb_connections *connections, nb_connection *connection) {
    nb_http1_session *session = nb_http1_session_of(connection);
    if (!session->counted && !connection->admin) NB_COUNT(connections->counters, http1_opened, 1);
    session->counted = true;
}

static nb_exchange *add_exchange(nb_connections *connections, nb_connection *connection) {
    count_connection(connections, connection);
    nb_exchange *exchange = nb_connection_add_exchange(connections, connection);
    if (!exchange) return NULL;
    nb_http1_exchange_of(exchange)->minor_version = 1;
    if (connection->first == exchange) exchange->out = &connection->send_queue;
    return exchange;
}

/* A HEAD request with a refused head gets an answer without content (RFC 9110 section 9.3.2). */
static bool begins_with_head(const nb_connection *connection) {
    size_t size = connection->input.data ? nb_buffer_size(&connection->input) : 0;
    const char *bytes = size ? nb_buffer_bytes(&connection->input) : "";
    while (size > 0 && (*bytes == '\r' || *bytes == '\n')) {
        bytes++;
        size--;
    }
    return size >= 5 && memcmp(bytes, "HEAD ", 5) == 0;
}

/* Refuses a request whose head cannot be read, is too large, or announces a body that is. Nothing
 * more is read of the client. */
static void refuse_head(nb_connections *connections, nb_connection *connection, nb_refusal refusal) {
    nb_exchange *exchange = add_exchange(connections, connection);
    if (!exchange) {
        nb_connection_end(connections, connection, true);
        return;
    }
    exchange->response.head_request = begins_with_head(connection);
    nb_respond_refused(connections, exchange, refusal);
}

/* The request is answered, and the rest of its body is too much to read. The client may finish
 * reading the answer. */
static void give_up_rest(nb_connections *connections, nb_connection *connection) {
    end_input(nb_http1_session_of(connection));
    connection->body_unread = true;
    connection->state = NB_CONNECTION_LAST;
    nb_connection_mark_dirty(connections, connection);
}

/* The body of a running request cannot be received. Its application is told, and its client too
 * unless the answer has begun. */
static void upload_failed(nb_connections *connections, nb_connection *connection, nb_refusal refusal,
                          nb_gone_reason reason) {
    nb_http1_session *session = nb_http1_session_of(connection);
    nb_exchange *exchange = session->receiving;
    if (!exchange) {
        give_up_rest(connections, connection);
        return;
    }
    if (exchange->head_sent) {
        exchange->gone_reason = (uint16_t)reason;
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_request_log_take(&connections->request_log, exchange->upload->request_line);
    exchange = nb_connection_replace_exchange(connections, exchange, reason);
    if (!exchange) {
        nb_connection_end(connections, connection, true);
        return;
    }
    exchange->out = &connection->send_queue;
    nb_respond_refused(connections, exchange, refusal);
}

static void body_stopped(nb_connections *connections, nb_exchange *exchange) {
    (void)connections;
    nb_connection *connection = exchange->connection;
    nb_http1_exchange_of(exchange)->keep_alive = false;
    connection->body_unread = true;
    connection->state = NB_CONNECTION_LAST;
    end_input(nb_http1_session_of(connection));
}

/* --- heads --- */

static bool is_safe(nb_method method) {
    return method == NB_METHOD_GET || method == NB_METHOD_HEAD || method == NB_METHOD_OPTIONS ||
           method == NB_METHOD_TRACE;
}

/* False for a request with Upgrade: the bytes behind it may be of the other protocol, and are read
 * only when the answer is known. */
static bool may_overlap(const nb_head *head, const nb_framing *framing) {
    return is_safe(head->method) && framing->body == NB_BODY_NONE && !framing->upgrade;
}

/* The request is complete. Another may follow, unless this was the last. */
static void request_complete(nb_connections *connections, nb_connection *connection, bool keep_alive) {
    nb_http1_session *session = nb_http1_session_of(connection);
    end_input(session);
    session->state = NB_HTTP1_HEAD;
    if (!keep_alive) connection->state = NB_CONNECTION_LAST;
    connection->began_ns = connections->time->now_ns; /* for the bytes received behind it */
}

static void send_continue(nb_connections *connections, nb_connection *connection) {
    if (nb_send_queue_add(&connection->send_queue, connections->pool, NB_SLICE("HTTP/1.1 100 Continue\r\n\r\n")) ==
        NB_OK) {
        nb_connection_mark_dirty(connections, connection);
    } else {
        nb_connection_end(connections, connection, true);
    }
}

/* Answers a request to an admin listener. A body is not read: then the connection ends with the
 * answer. */
static void answer_admin(nb_connections *connections, nb_exchange *exchange, const nb_framing *framing,
                         size_t head_bytes) {
    nb_connection *connection = exchange->connection;
    nb_http1_exchange *own = nb_http1_exchange_of(exchange);
    if (framing->body != NB_BODY_NONE) connection->body_unread = true;
    own->keep_alive = framing->keep_alive && framing->body == NB_BODY_NONE;
    if (!nb_respond_admin(connections, exchange, framing->host)) return;
    request_complete(connections, connection, own->keep_alive);
    nb_buffer_consume(&connection->input, connections->pool, head_bytes);
    if (exchange->ended) connection->protocol->answered(connections, exchange);
}

static bool begin_input(nb_connections *connections, nb_exchange *exchange, const nb_framing *framing) {
    nb_http1_session *session = nb_http1_session_of(exchange->connection);
    session->input = nb_alloc_zero(1, sizeof(*session->input));
    if (!session->input) return false;
    nb_body_decoder_init(&session->input->decoder, framing, connections->settings.body_bytes_max);
    session->input->expected = framing->expect_continue;
    session->receiving = exchange;
    return true;
}

static nb_request_facts facts_of(const nb_connections *connections, const nb_connection *connection,
                                 const nb_framing *framing, size_t head_bytes) {
    return (nb_request_facts){
        .head = &connections->head,
        .raw = {nb_buffer_bytes(&connection->input), head_bytes},
        .host = framing->host,
        .body_bytes = framing->body == NB_BODY_CHUNKED ? NB_CONTENT_LENGTH_UNKNOWN : framing->content_length,
        .has_body = framing->body != NB_BODY_NONE,
        .upgrade = framing->upgrade,
    };
}

static void begin_body(nb_connections *connections, nb_connection *connection, nb_http1_state state,
                       size_t head_bytes) {
    nb_http1_session *session = nb_http1_session_of(connection);
    session->state = (uint8_t)state;
    nb_buffer_consume(&connection->input, connections->pool, head_bytes);
    if (state == NB_HTTP1_STREAM || !session->input->expected) return;
    session->input->expected = false;
    if (!connection->input.data) send_continue(connections, connection);
}

static void begin_request(nb_connections *connections, nb_exchange *exchange, const nb_framing *framing,
                          size_t head_bytes) {
    nb_connection *connection = exchange->connection;
    nb_request_facts facts = facts_of(connections, connection, framing, head_bytes);
    if (facts.has_body && !begin_input(connections, exchange, framing)) {
        nb_respond_busy(connections, exchange, "out of memory", true);
        return;
    }
    nb_delivery delivery = NB_DELIVERED;
    NB_COUNT(connections->counters, http1_requests, 1);
    switch (nb_delivery_begin(connections, exchange, &facts)) {
    case NB_REQUEST_COLLECTED:
        begin_body(connections, connection, NB_HTTP1_BODY, head_bytes);
        break;
    case NB_REQUEST_STREAMED:
        begin_body(connections, connection, NB_HTTP1_STREAM, head_bytes);
        break;
    case NB_REQUEST_REFUSED:
        break;
    case NB_REQUEST_WHOLE:
        delivery = nb_delivery_head(connections, exchange, &facts);
        request_complete(connections, connection, framing->keep_alive);
        nb_buffer_consume(&connection->input, connections->pool, head_bytes);
        nb_delivery_finish(connections, exchange, delivery);
        break;
    }
}

static void accept_head(nb_connections *connections, nb_connection *connection, const nb_framing *framing,
                        size_t head_bytes) {
    const nb_head *request = &connections->head;
    nb_exchange *exchange = add_exchange(connections, connection);
    if (!exchange) {
        nb_connection_end(connections, connection, true);
        return;
    }
    nb_connection_renew_timeout(connections, connection);
    *nb_http1_exchange_of(exchange) = (nb_http1_exchange){
        .minor_version = request->minor_version,
        .safe = may_overlap(request, framing),
        .keep_alive = framing->keep_alive,
    };
    if (connection->admin) {
        answer_admin(connections, exchange, framing, head_bytes);
    } else {
        begin_request(connections, exchange, framing, head_bytes);
    }
}

/* Pipelined requests must not fill the queue that other connections need for their first, nor use
 * up the memory. */
static bool must_wait(const nb_connections *connections, const nb_connection *connection) {
    const nb_dispatch *dispatch = connections->dispatch;
    bool scarce = nb_dispatch_waiting(dispatch) > dispatch->waiting_max / 2 ||
                  dispatch->response_window_bytes <= NB_RESPONSE_FLOOR_BYTES;
    if (connection->in_flight >= (scarce ? 1 : NB_PIPELINE_MAX)) return true;
    if (nb_connection_answers_pile_up(connection)) return true;
    if (connection->admin && !nb_send_queue_empty(&connection->send_queue))
        return true; /* one at a time, as pages are long */
    return connection->last && !nb_http1_exchange_of(connection->last)->safe;
}

static bool wait_for_earlier(nb_connection *connection) {
    nb_http1_session_of(connection)->state = NB_HTTP1_WAITING;
    return false;
}

/* The parser has refused the head for its version, which it does before its end. True: the input is
 * the client's preface of HTTP/2 (RFC 9113 section 3.4), or may become it. */
static bool begins_http2(nb_connections *connections, nb_connection *connection) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const size_t whole = sizeof(preface) - 1;
    if (!connections->http2 || connection->had_request || connection->first) return false;
    size_t size = nb_buffer_size(&connection->input);
    if (memcmp(nb_buffer_bytes(&connection->input), preface, size < whole ? size : whole) != 0) return false;
    if (size >= whole) nb_connection_change_protocol(connections, connection, connections->http2);
    return true;
}

/* Old clients send CRLF behind a body. It begins no request: the connection stays idle. */
static void skip_empty_lines(nb_connections *connections, nb_connection *connection) {
    nb_buffer *input = &connection->input;
    size_t size = nb_head_skip_empty_lines(&nb_http1_session_of(connection)->parser, nb_buffer_bytes(input),
                                           nb_buffer_size(input));
    if (size > 0) nb_buffer_consume(input, connections->pool, size);
}

/* True: more of what was read may be used. */
static bool step_head(nb_connections *connections, nb_connection *connection) {
    if (connection->input.data) skip_empty_lines(connections, connection);
    if (!connection->input.data) return false;
    if (must_wait(connections, connection)) return wait_for_earlier(connection);
    nb_http1_session *session = nb_http1_session_of(connection);
    size_t head_bytes = 0;
    nb_refusal refusal = {0, ""};
    nb_framing framing;
    bool skipped = nb_head_skipped_empty_lines(&session->parser);
    nb_status status = nb_head_parse(&session->parser, nb_buffer_bytes(&connection->input),
                                     nb_buffer_size(&connection->input), &connections->head_limits, &connections->head,
                                     &head_bytes, &refusal);
    if (status == NB_INCOMPLETE) return false;
    nb_head_parser_init(&session->parser);
    if (status == NB_OK)
        status = nb_framing_decide(&connections->head, connections->settings.body_bytes_max,
                                   connections->head_limits.compliance, &framing, &refusal);
    if (status != NB_OK && refusal.http_status == 505 && !skipped && begins_http2(connections, connection))
        return false;
    if (status != NB_OK) {
        refuse_head(connections, connection, refusal);
        return false;
    }
    if (connection->first && !may_overlap(&connections->head, &framing)) return wait_for_earlier(connection);
    accept_head(connections, connection, &framing, head_bytes);
    return true;
}

/* --- bodies that are collected --- */

/* NB_OK: complete. NB_INCOMPLETE: more input is needed. NB_AGAIN: a write to the file runs. Else as
 * nb_body_decode, nb_body_write. */
static nb_status collect(nb_http1_session *session, nb_connections *connections, nb_buffer *input,
                         nb_refusal *refusal) {
    nb_body_decoder *decoder = &session->input->decoder;
    nb_body *body = session->receiving->body;
    while (!decoder->complete && input->data && nb_buffer_size(input) > 0 && nb_body_room(body) > 0) {
        size_t size = nb_buffer_size(input), used = 0, decoded = 0;
        char *bytes = nb_buffer_bytes(input);
        if (size > nb_body_room(body)) size = nb_body_room(body);
        nb_status status = nb_body_decode(decoder, bytes, size, &used, &decoded, refusal);
        if (status != NB_OK && status != NB_INCOMPLETE) return status;
        status = nb_body_add(body, bytes, decoded);
        if (status != NB_OK) return status;
        nb_buffer_consume(input, connections->pool, used);
    }
    if (decoder->complete) return nb_body_end(body);
    return nb_body_room(body) > 0 ? NB_INCOMPLETE : nb_body_write(body);
}

static void body_complete(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = nb_http1_session_of(connection)->receiving;
    nb_delivery delivery = nb_delivery_body(connections, exchange);
    request_complete(connections, connection, nb_http1_exchange_of(exchange)->keep_alive);
    nb_delivery_finish(connections, exchange, delivery);
}

static bool step_body(nb_connections *connections, nb_connection *connection) {
    nb_http1_session *session = nb_http1_session_of(connection);
    nb_refusal refusal = {0, ""};
    nb_status status = collect(session, connections, &connection->input, &refusal);
    switch (status) {
    case NB_OK:
        body_complete(connections, connection);
        return true;
    case NB_INCOMPLETE:
        break;
    case NB_AGAIN:
        session->state = NB_HTTP1_WRITING;
        break;
    case NB_INVALID:
    case NB_OVER_LIMIT:
        nb_respond_refused(connections, session->receiving, refusal);
        break;
    default:
        nb_delivery_body_failed(connections, session->receiving, status);
    }
    return false;
}

static void body_written(nb_connections *connections, nb_exchange *exchange, nb_status status) {
    nb_connection *connection = exchange->connection;
    NB_ASSERT(state_of(connection) == NB_HTTP1_WRITING);
    if (status == NB_OK) {
        nb_http1_session_of(connection)->state = NB_HTTP1_BODY;
        nb_connection_receive(connections, connection);
    } else {
        nb_delivery_body_failed(connections, exchange, status);
    }
    nb_connection_follow(connections, connection);
}

/* --- bodies that are passed on --- */

bool nb_http1_can_drop(const nb_http1_input *input) {
    return !input->expected && nb_body_decoder_ends_within(&input->decoder, NB_INPUT_DROP_BYTES);
}

/* NB_OK: the body has ended. NB_FULL: the rest is too much to read. */
static nb_status drop_some(nb_connections *connections, nb_connection *connection, nb_refusal *refusal) {
    nb_http1_input *dropped = nb_http1_session_of(connection)->input;
    nb_buffer *input = &connection->input;
    size_t used = 0, decoded = 0;
    nb_status status = nb_body_decode(&dropped->decoder, nb_buffer_bytes(input), nb_buffer_size(input), &used, &decoded,
                                      refusal);
    if (status != NB_OK && status != NB_INCOMPLETE) return status;
    nb_buffer_consume(input, connections->pool, used);
    if (status == NB_OK) return NB_OK;
    if (used > dropped->drop_left) return NB_FULL;
    dropped->drop_left -= used;
    return NB_INCOMPLETE;
}

/* NB_OK: the body has ended. NB_AGAIN: the window is full, or the ring has no room. */
static nb_status pass_some(nb_connections *connections, nb_connection *connection, nb_refusal *refusal) {
    nb_http1_session *session = nb_http1_session_of(connection);
    nb_upload *upload = session->receiving->upload;
    nb_dispatch *dispatch = nb_dispatch_of(connections->dispatch, session->receiving);
    nb_buffer *input = &connection->input;
    size_t size = nb_buffer_size(input), room = 0, used = 0, decoded = 0;
    char *place = nb_upload_place(&connections->uploads, upload, dispatch, &room);
    /* The client did not wait for 100 (RFC 9110 section 10.1.1). */
    if (room > 0) session->input->expected = false;
    if (!place) return NB_AGAIN;
    char *bytes = nb_buffer_bytes(input);
    nb_status status = nb_body_decode(&session->input->decoder, bytes, size < room ? size : room, &used, &decoded,
                                      refusal);
    if (status != NB_OK && status != NB_INCOMPLETE) return status;
    memcpy(place, bytes, decoded);
    nb_upload_send(upload, dispatch, decoded, status == NB_OK);
    nb_buffer_consume(input, connections->pool, used);
    return status;
}

static nb_status pass_on(nb_connections *connections, nb_connection *connection, nb_refusal *refusal) {
    const nb_http1_input *input = nb_http1_session_of(connection)->input;
    nb_status status = NB_INCOMPLETE;
    while (status == NB_INCOMPLETE && connection->input.data && nb_buffer_size(&connection->input) > 0) {
        status = input->dropped ? drop_some(connections, connection, refusal)
                                : pass_some(connections, connection, refusal);
    }
    return status;
}

static void upload_complete(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = nb_http1_session_of(connection)->receiving;
    if (exchange) nb_connection_end_body(connections, exchange);
    request_complete(connections, connection, !exchange || nb_http1_exchange_of(exchange)->keep_alive);
    /* It is idle now, and ends if the server drains. */
    if (!exchange) nb_connection_mark_dirty(connections, connection);
}

static bool step_stream(nb_connections *connections, nb_connection *connection) {
    nb_refusal refusal = {0, ""};
    nb_status status = pass_on(connections, connection, &refusal);
    if (status == NB_OK) upload_complete(connections, connection);
    if (status == NB_FULL) give_up_rest(connections, connection);
    if (status == NB_INVALID) upload_failed(connections, connection, refusal, NB_GONE_INVALID);
    /* The body is too large (413), or its chunk extensions or trailers are (400). */
    if (status == NB_OVER_LIMIT)
        upload_failed(connections, connection, refusal,
                      refusal.http_status == 413 ? NB_GONE_TOO_LARGE : NB_GONE_INVALID);
    return status == NB_OK;
}

static void body_room(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    nb_connection_receive(connections, connection);
    nb_connection_follow(connections, connection);
}

/* 100 (Continue) is sent when the application reads, so that no client sends a body in vain (RFC
 * 9110 section 10.1.1). It is not sent after the head of the response. */
static void body_taken(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    nb_http1_input *input = nb_http1_session_of(connection)->input;
    bool expected = input->expected;
    input->expected = false;
    if (expected && !exchange->head_sent) send_continue(connections, connection);
    if (connection->state == NB_CONNECTION_OPEN) body_room(connections, exchange);
}

/* --- bytes of the client --- */

static void received(nb_connections *connections, nb_connection *connection) {
    bool more = true;
    while (more && connection->state == NB_CONNECTION_OPEN) {
        switch (state_of(connection)) {
        case NB_HTTP1_HEAD:
            more = step_head(connections, connection);
            break;
        case NB_HTTP1_BODY:
            more = step_body(connections, connection);
            break;
        case NB_HTTP1_STREAM:
            more = step_stream(connections, connection);
            break;
        case NB_HTTP1_WRITING:
        case NB_HTTP1_WAITING:
            more = false;
            break;
        }
    }
}

static void input_ended(nb_connections *connections, nb_connection *connection) {
    static const nb_refusal too_short = {400, "the body ended before its announced length"};
    bool owes = nb_connection_owes(connection);
    switch (state_of(connection)) {
    case NB_HTTP1_BODY:
        nb_respond_refused(connections, nb_http1_session_of(connection)->receiving, too_short);
        return;
    case NB_HTTP1_STREAM:
        upload_failed(connections, connection, too_short, NB_GONE_SHORT);
        return;
    case NB_HTTP1_HEAD:
    case NB_HTTP1_WRITING:
    case NB_HTTP1_WAITING:
        break;
    }
    bool awaits_head = state_of(connection) == NB_HTTP1_HEAD;
    if ((awaits_head && !connection->first && !owes) || (nb_connection_client_left(connection) && !owes)) {
        nb_connection_end(connections, connection, false);
    } else if (awaits_head) {
        connection->state = NB_CONNECTION_LAST;
    }
}

static void timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind) {
    static const nb_refusal too_slow = {408, "the body comes too slowly"};
    static const nb_refusal late = {408, "the request's head did not arrive in time"};
    if (kind == NB_TIMEOUT_HEADER) {
        if (connection->input.data) {
            refuse_head(connections, connection, late);
        } else {
            nb_connection_end(connections, connection, false);
        }
    } else if (state_of(connection) == NB_HTTP1_STREAM) {
        upload_failed(connections, connection, too_slow, NB_GONE_TOO_SLOW);
    } else {
        nb_respond_refused(connections, nb_http1_session_of(connection)->receiving, too_slow);
    }
}

/* --- responses --- */

/* Removes the first exchange, whose response has ended. False: no other request may be served. */
static bool drop_first(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = connection->first;
    nb_http1_session *session = nb_http1_session_of(connection);
    const nb_http1_exchange *own = nb_http1_exchange_of(exchange);
    bool goes_on = own->goes_on && !exchange->truncated;
    if (exchange->truncated && own->framing == NB_RESPONSE_BODY_CLOSE) connection->reset = true;
    if (session->receiving == exchange) session->receiving = NULL;
    nb_connection_drop_exchange(connections, exchange);
    exchange = connection->first;
    if (goes_on && exchange) {
        nb_send_queue_join(&connection->send_queue, &exchange->send_queue);
        exchange->out = &connection->send_queue;
    }
    return goes_on;
}

/* The request was answered before its body was complete. The rest is dropped, so that it is not
 * read as the next request. */
static void drop_rest_of_body(nb_connections *connections, nb_connection *connection) {
    nb_http1_input *input = nb_http1_session_of(connection)->input;
    if (connection->state == NB_CONNECTION_LAST || !nb_http1_can_drop(input)) {
        give_up_rest(connections, connection);
        return;
    }
    input->dropped = true;
    input->drop_left = NB_INPUT_DROP_BYTES;
    nb_connection_receive(connections, connection);
    nb_connection_follow(connections, connection);
}

/* Removes ended exchanges from the front, and goes on with a request that waited for them. */
static void drop_ended_exchanges(nb_connections *connections, nb_connection *connection) {
    nb_http1_session *session = nb_http1_session_of(connection);
    bool dropped = false;
    while (connection->first && connection->first->ended) {
        dropped = true;
        if (drop_first(connections, connection)) continue;
        connection->state = NB_CONNECTION_LAST;
        session->receiving = NULL;
        nb_connection_abort_exchanges(connections, connection);
    }
    if (!dropped) return;
    nb_connection_mark_dirty(connections, connection);
    if (session->input && !session->receiving) drop_rest_of_body(connections, connection);
    if (connection->state != NB_CONNECTION_OPEN || session->state != NB_HTTP1_WAITING) return;
    session->state = NB_HTTP1_HEAD;
    nb_connection_receive(connections, connection);
}

static void answered(nb_connections *connections, nb_exchange *exchange) {
    drop_ended_exchanges(connections, exchange->connection);
}

static void sent(nb_connections *connections, nb_connection *connection) {
    nb_exchange *exchange = connection->first;
    nb_http1_session *session = nb_http1_session_of(connection);
    if (exchange) nb_connection_tell_drained(connections, exchange, nb_connection_owed(connection));
    if (connection->waits != NB_WAITS_NOT) return;
    if (exchange && exchange->hijack) {
        nb_connection_hand_over(connections, exchange);
    } else if (!exchange && connection->state == NB_CONNECTION_OPEN && session->state == NB_HTTP1_WAITING) {
        session->state = NB_HTTP1_HEAD; /* it waited for bytes that are now sent */
        nb_connection_receive(connections, connection);
    }
}

/* The response has begun, or the request ends with its client. */
static bool is_over(const nb_exchange *exchange) {
    return !exchange->hijack && !exchange->ended && (exchange->head_sent || exchange->cancellable);
}

static void hung_up(nb_connections *connections, nb_connection *connection) {
    for (nb_exchange *exchange = connection->first, *next; exchange; exchange = next) {
        next = exchange->next;
        if (!is_over(exchange)) continue;
        if (exchange == nb_http1_session_of(connection)->receiving) {
            nb_connection_end(connections, connection, false); /* nothing is read behind its body */
            return;
        }
        nb_connection_abort_exchange(connections, exchange);
    }
    drop_ended_exchanges(connections, connection);
}

const nb_protocol nb_http1 = {
    .name = "http/1.1",
    .writer = &nb_http1_writer,
    .open = open_session,
    .close = close_session,
    .wants_input = wants_input,
    .received = received,
    .input_ended = input_ended,
    .body_written = body_written,
    .body_room = body_room,
    .body_taken = body_taken,
    .body_stopped = body_stopped,
    .answered = answered,
    .sent = sent,
    .hung_up = hung_up,
    .phase = phase,
    .timeout_class = timeout_class,
    .timed_out = timed_out,
};
