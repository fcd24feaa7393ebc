/*
 * http2_requests.c - requests of HTTP/2 (RFC 9113 sections 8.1 to 8.5). One that is malformed
 * resets its stream (http2/http2_message.h). A valid one becomes an exchange and is delivered.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "base/alloc.h"
#include "connection/delivery.h"
#include "connection/responding.h"

static bool is_request(const nghttp2_frame *frame) {
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

/* --- the head --- */

/* True: the client has too many requests under way, with those that it has reset and that go on
 * here. */
static bool has_too_many(const nb_http2_session *session) {
    return session->connection->in_flight >= session->connections->settings.http2_streams_max;
}

/* The order is ours (http2_order.c). Newer versions of nghttp2 have one of their own, in which
 * streams must take turns for it. */
#if NGHTTP2_VERSION_NUM >= 0x014100
static void take_turns(nghttp2_session *h2, int32_t id) {
    const nghttp2_extpri priority = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    (void)nghttp2_session_change_extpri_stream_priority(h2, id, &priority, 1);
}
#else
static void take_turns(nghttp2_session *h2, int32_t id) { (void)h2, (void)id; }
#endif

int nb_http2_on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *argument) {
    nb_http2_session *session = argument;
    session->list_bytes = 0;
    nb_http2_message_begin(&session->message, !is_request(frame));
    if (!is_request(frame)) return 0;
    int32_t id = frame->hd.stream_id;
    nb_http2_head_clear(&session->head, session->connections->pool);
    session->heading = NULL;
    if (has_too_many(session)) nb_http2_settle_streams(session); /* some were reset in this turn */
    /* The last GOAWAY may not have left: it tells the client that this stream was not looked at. */
    if (has_too_many(session) || session->flooded || session->drain == NB_HTTP2_DRAINING)
        return nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM) == 0
                   ? 0
                   : NGHTTP2_ERR_CALLBACK_FAILURE;
    nb_http2_stream *stream = nb_alloc_zero(1, sizeof(*stream));
    if (!stream) return NGHTTP2_ERR_CALLBACK_FAILURE;
    stream->session = session;
    stream->id = id;
    nb_timeout_init(&stream->timeout.timeout);
    stream->timeout.connection = session->connection;
    stream->open = true;
    stream->content_length = NB_CONTENT_LENGTH_UNKNOWN;
    NB_HTTP2_COUNT(session, http2_streams, 1);
    nb_http2_begin_priority(stream);
    stream->next = session->streams;
    if (stream->next) stream->next->previous = stream;
    session->streams = session->heading = stream;
    if (session->connection->had_request) /* each head but the first has time of its own */
        nb_connection_renew_timeout(session->connections, session->connection);
    take_turns(h2, id);
    return nghttp2_session_set_stream_user_data(h2, id, stream) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Nothing more of the head is called back. */
static int reset(nghttp2_session *h2, int32_t id, uint32_t error_code) {
    int result = nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id, error_code);
    return result == 0 ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* RFC 9113 section 6.5.2: 32 bytes for each field. */
static bool is_excessive(nb_http2_session *session, size_t name_bytes, size_t value_bytes) {
    session->list_bytes += name_bytes + value_bytes + 32;
    return session->list_bytes / NB_HTTP2_HEAD_EXCESS_MAX > session->connections->head_limits.head_bytes;
}

/* Trailers are checked and dropped, as those of HTTP/1.1 are. */
int nb_http2_on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes,
                       const uint8_t *value, size_t value_bytes, uint8_t flags, void *argument) {
    (void)flags;
    nb_http2_session *session = argument;
    nb_connections *connections = session->connections;
    if (is_excessive(session, name_bytes, value_bytes)) {
        nb_http2_count_bound(session, NB_HTTP2_BOUND_head);
        return reset(h2, frame->hd.stream_id, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    nb_slice field = nb_slice_of((const char *)name, name_bytes), said = nb_slice_of((const char *)value, value_bytes);
    if (!nb_http2_message_field(&session->message, field, said))
        return reset(h2, frame->hd.stream_id, NGHTTP2_PROTOCOL_ERROR);
    if (!is_request(frame) || !session->heading || session->heading->id != frame->hd.stream_id) return 0;
    if (nb_slice_equal(field, NB_SLICE("priority"))) nb_http2_priority_field(session->heading, said);
    nb_status status = nb_http2_head_add(&session->head, connections->pool, &connections->head_limits, field, said);
    return status == NB_OK ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* --- the request --- */

static nb_exchange *add_exchange(nb_http2_session *session, nb_http2_stream *stream) {
    nb_exchange *exchange = nb_connection_add_exchange(session->connections, session->connection);
    if (!exchange) {
        session->failed = true;
        return NULL;
    }
    nb_http2_exchange_of(exchange)->stream = stream;
    stream->exchange = exchange;
    return exchange;
}

static void refuse(nb_connections *connections, nb_exchange *exchange, const nb_http2_facts *facts,
                   nb_refusal refusal) {
    exchange->response.head_request = connections->head.method == NB_METHOD_HEAD;
    nb_request_log_note(&connections->request_log, facts->raw);
    nb_respond_refused(connections, exchange, refusal);
}

static void answer_admin(nb_connections *connections, nb_exchange *exchange, const nb_http2_facts *facts) {
    nb_http2_drop_body(nb_http2_stream_of(exchange));
    if (!nb_respond_admin(connections, exchange, facts->host)) return;
    if (exchange->ended) exchange->connection->protocol->answered(connections, exchange);
}

static void deliver(nb_http2_session *session, nb_http2_stream *stream, const nb_http2_facts *facts, bool has_body) {
    nb_connections *connections = session->connections;
    nb_exchange *exchange = stream->exchange;
    nb_request_facts request = {.head = &connections->head,
                                .raw = facts->raw,
                                .host = facts->host,
                                .body_bytes = stream->content_length,
                                .has_body = has_body};
    stream->expects = has_body && facts->expect_continue;
    NB_HTTP2_COUNT(session, http2_requests, 1);
    switch (nb_delivery_begin(connections, exchange, &request)) {
    case NB_REQUEST_COLLECTED:
        if (nb_http2_send_continue(stream) != NB_OK) session->failed = true;
        break;
    case NB_REQUEST_STREAMED:
    case NB_REQUEST_REFUSED:
        break;
    case NB_REQUEST_WHOLE:
        nb_delivery_finish(connections, exchange, nb_delivery_head(connections, exchange, &request));
        break;
    }
}

static void accept_request(nb_http2_session *session, nb_http2_stream *stream, const nb_http2_facts *facts,
                           bool has_body) {
    nb_connections *connections = session->connections;
    bool known = stream->content_length != NB_CONTENT_LENGTH_UNKNOWN;
    if (known && stream->content_length > connections->settings.body_bytes_max) {
        nb_http2_count_bound(session, NB_HTTP2_BOUND_body);
        refuse(connections, stream->exchange, facts, (nb_refusal){413, NB_BODY_TOO_LARGE});
    } else if (session->connection->admin) {
        answer_admin(connections, stream->exchange, facts);
    } else {
        deliver(session, stream, facts, has_body);
    }
}

void nb_http2_begin_request(nb_http2_session *session, nb_http2_stream *stream, bool has_body) {
    nb_connections *connections = session->connections;
    nb_http2_facts facts;
    nb_refusal refusal;
    session->heading = NULL;
    stream->content_length = session->message.content_length;
    stream->input_ended = stream->input_complete = !has_body;
    nb_status status = nb_http2_head_end(&session->head, connections->pool, &connections->head_limits,
                                         &connections->head, &facts, &refusal);
    if (status == NB_NO_MEMORY) session->failed = true;
    nb_exchange *exchange = status == NB_NO_MEMORY ? NULL : add_exchange(session, stream);
    if (exchange && status == NB_OK) accept_request(session, stream, &facts, has_body);
    if (exchange && status != NB_OK && refusal.http_status == 431) nb_http2_count_bound(session, NB_HTTP2_BOUND_head);
    if (exchange && status != NB_OK) refuse(connections, exchange, &facts, refusal);
    nb_http2_head_clear(&session->head, connections->pool);
    nb_http2_unsettled(stream);
}

#endif
