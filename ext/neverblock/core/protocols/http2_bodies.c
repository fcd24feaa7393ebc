/*
 * http2_bodies.c - request bodies of HTTP/2 (RFC 9113 sections 5.2, 6.1, 8.1). Bytes go to the
 * exchange's body or upload as far as there is room, and the rest waits in the stream. What was
 * taken opens the client's windows again.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "connection/delivery.h"
#include "connection/responding.h"
#include "intake/body.h"

/* --- windows --- */

static void note(nb_http2_session *session, int result) {
    if (nghttp2_is_fatal(result)) session->failed = true;
}

/* Taken: the client may send as many bytes more. */
static void consume(const nb_http2_stream *stream, size_t bytes) {
    nb_http2_session *session = stream->session;
    if (bytes == 0) return;
    if (stream->open && !stream->dropped) {
        note(session, nghttp2_session_consume(session->h2, stream->id, bytes));
    } else {
        note(session, nghttp2_session_consume_connection(session->h2, bytes));
    }
}

void nb_http2_drop_body(nb_http2_stream *stream) {
    stream->dropped = true;
    if (!stream->waiting.data) return;
    consume(stream, nb_buffer_size(&stream->waiting));
    nb_buffer_release(&stream->waiting, stream->session->connections->pool);
}

static nb_status keep(nb_http2_stream *stream, const uint8_t *bytes, size_t size) {
    nb_pool *pool = stream->session->connections->pool;
    while (size > 0) {
        size_t room = 0;
        /* The stream's window bounds it. */
        nb_status status = nb_buffer_room(&stream->waiting, pool, NB_HTTP2_STREAM_WINDOW_BYTES * 2, &room);
        if (status != NB_OK) return NB_NO_MEMORY;
        if (room > size) room = size;
        memcpy(stream->waiting.data + stream->waiting.end, bytes, room);
        stream->waiting.end += (uint32_t)room;
        bytes += room;
        size -= room;
    }
    return NB_OK;
}

/* --- bodies that are passed on --- */

static size_t pass_on(nb_connections *connections, nb_exchange *exchange, const char *bytes, size_t size) {
    nb_dispatch *dispatch = nb_dispatch_of(connections->dispatch, exchange);
    size_t used = 0;
    while (used < size) {
        size_t room = 0;
        char *place = nb_upload_place(&connections->uploads, exchange->upload, dispatch, &room);
        if (room > 0) nb_http2_stream_of(exchange)->expects = false; /* the client did not wait */
        if (!place) break;
        if (room > size - used) room = size - used;
        memcpy(place, bytes + used, room);
        nb_upload_send(exchange->upload, dispatch, room, false);
        used += room;
    }
    return used;
}

static void end_upload(nb_connections *connections, nb_http2_stream *stream) {
    nb_exchange *exchange = stream->exchange;
    nb_dispatch *dispatch = nb_dispatch_of(connections->dispatch, exchange);
    size_t room = 0;
    if (!nb_upload_place(&connections->uploads, exchange->upload, dispatch, &room)) return;
    nb_upload_send(exchange->upload, dispatch, 0, true);
    stream->input_complete = true;
    nb_connection_end_body(connections, exchange);
}

void nb_http2_upload_failed(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal,
                            nb_gone_reason reason) {
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    if (exchange->head_sent) {
        exchange->gone_reason = (uint16_t)reason;
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(connections, exchange);
        nb_http2_drop_body(stream);
        nb_http2_reset(stream, NGHTTP2_CANCEL);
        return;
    }
    nb_request_log_take(&connections->request_log, exchange->upload->request_line);
    stream->exchange = nb_connection_replace_exchange(connections, exchange, reason);
    if (stream->exchange) {
        nb_respond_refused(connections, stream->exchange, refusal);
    } else {
        stream->session->failed = true;
    }
}

/* --- bodies that are collected --- */

/* Follows up what a write of the body to its file says. */
static void stored(nb_connections *connections, nb_http2_stream *stream, nb_status status) {
    stream->storing = status == NB_AGAIN;
    if (status != NB_OK && status != NB_AGAIN) nb_delivery_body_failed(connections, stream->exchange, status);
}

static size_t collect(nb_connections *connections, nb_http2_stream *stream, const char *bytes, size_t size) {
    nb_body *body = stream->exchange->body;
    if (stream->storing) return 0;
    size_t step = size < nb_body_room(body) ? size : nb_body_room(body);
    nb_status status = nb_body_add(body, bytes, step);
    if (status == NB_OK && step < size) status = nb_body_write(body);
    stored(connections, stream, status);
    return step;
}

static void end_collected(nb_connections *connections, nb_http2_stream *stream) {
    if (stream->storing) return;
    nb_exchange *exchange = stream->exchange;
    nb_status status = nb_body_end(exchange->body);
    if (status != NB_OK) {
        stored(connections, stream, status);
        return;
    }
    stream->input_complete = true;
    nb_delivery_finish(connections, exchange, nb_delivery_body(connections, exchange));
}

/* --- both --- */

/* Bytes of the body that found room. */
static size_t take(nb_connections *connections, nb_http2_stream *stream, const char *bytes, size_t size) {
    nb_exchange *exchange = stream->exchange;
    if (stream->dropped || !exchange) return size;
    if (exchange->upload) return pass_on(connections, exchange, bytes, size);
    if (exchange->body) return collect(connections, stream, bytes, size);
    return size;
}

static void end_body(nb_connections *connections, nb_http2_stream *stream) {
    nb_exchange *exchange = stream->exchange;
    if (stream->waiting.data || !stream->input_ended || stream->input_complete || stream->dropped || !exchange) return;
    if (exchange->upload) {
        end_upload(connections, stream);
    } else if (exchange->body) {
        end_collected(connections, stream);
    } else {
        stream->input_complete = true;
    }
}

/* Passes on what waits, as far as there is room. */
static void pump(nb_http2_session *session, nb_http2_stream *stream) {
    nb_connections *connections = session->connections;
    while (!session->closed && stream->waiting.data) {
        size_t used = take(connections, stream, nb_buffer_bytes(&stream->waiting), nb_buffer_size(&stream->waiting));
        if (session->closed || used == 0) return;
        if (!stream->waiting.data) break; /* the request was refused, and the bytes were dropped */
        consume(stream, used);
        nb_buffer_consume(&stream->waiting, connections->pool, used);
    }
    if (!session->closed) end_body(connections, stream);
}

static bool is_too_large(const nb_connections *connections, const nb_http2_stream *stream) {
    return !stream->dropped && stream->exchange && stream->received > connections->settings.body_bytes_max;
}

static void refuse_too_large(nb_connections *connections, nb_http2_stream *stream) {
    static const nb_refusal refusal = {413, NB_BODY_TOO_LARGE};
    nb_http2_count_bound(stream->session, NB_HTTP2_BOUND_body);
    if (stream->exchange->upload) {
        nb_http2_upload_failed(connections, stream->exchange, refusal, NB_GONE_TOO_LARGE);
    } else {
        nb_respond_refused(connections, stream->exchange, refusal);
    }
}

/* RFC 9113 section 8.1.1. */
static bool is_longer_than_said(const nb_http2_stream *stream) {
    return stream->content_length != NB_CONTENT_LENGTH_UNKNOWN && stream->received > stream->content_length;
}

static bool is_shorter_than_said(const nb_http2_stream *stream) {
    return stream->content_length != NB_CONTENT_LENGTH_UNKNOWN && stream->received < stream->content_length;
}

int nb_http2_on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *bytes, size_t size,
                     void *argument) {
    (void)flags;
    nb_http2_session *session = argument;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, id);
    if (!stream) {
        note(session, nghttp2_session_consume_connection(h2, size));
        return session->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
    }
    stream->received += size;
    stream->moved += size;
    nb_http2_unsettled(stream);
    stream->expects = false;
    if (is_longer_than_said(stream)) nb_http2_malformed(stream);
    if (is_too_large(session->connections, stream)) refuse_too_large(session->connections, stream);
    if (session->closed) return NGHTTP2_ERR_CALLBACK_FAILURE;
    size_t used = 0;
    if (!stream->waiting.data) used = take(session->connections, stream, (const char *)bytes, size);
    if (session->closed) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (stream->dropped) used = size; /* by what `take` has found as well */
    consume(stream, used);
    if (keep(stream, bytes + used, size - used) != NB_OK) session->failed = true;
    return session->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

void nb_http2_input_ended(nb_http2_session *session, nb_http2_stream *stream) {
    stream->input_ended = true;
    if (is_shorter_than_said(stream)) nb_http2_malformed(stream);
    nb_http2_unsettled(stream);
    pump(session, stream);
}

bool nb_http2_awaits_body(const nb_http2_stream *stream) {
    const nb_exchange *exchange = stream->exchange;
    if (!exchange || stream->dropped || stream->input_ended || stream->waiting.data || stream->expects) return false;
    /* Bodies of other streams have used up the window: the client may not send. */
    if (nghttp2_session_get_local_window_size(stream->session->h2) <= 0) return false;
    return exchange->body ? !stream->storing : exchange->upload && nb_upload_wants_input(exchange->upload);
}

/* --- of the table --- */

static void go_on(nb_connections *connections, nb_exchange *exchange) {
    nb_connection *connection = exchange->connection;
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    nb_http2_session *session = stream->session;
    nb_http2_enter(session);
    pump(session, stream);
    nb_http2_unsettled(stream);
    if (!nb_http2_leave(session)) return;
    nb_connection_mark_dirty(connections, connection); /* it ends there if something failed */
    nb_connection_follow(connections, connection);
}

void nb_http2_body_written(nb_connections *connections, nb_exchange *exchange, nb_status status) {
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    stream->storing = false;
    if (status == NB_OK) {
        go_on(connections, exchange);
        return;
    }
    nb_connection *connection = exchange->connection;
    nb_delivery_body_failed(connections, exchange, status);
    nb_connection_follow(connections, connection);
}

void nb_http2_body_room(nb_connections *connections, nb_exchange *exchange) { go_on(connections, exchange); }

void nb_http2_body_taken(nb_connections *connections, nb_exchange *exchange) {
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    if (exchange->head_sent) stream->expects = false;
    if (nb_http2_send_continue(stream) != NB_OK) stream->session->failed = true;
    go_on(connections, exchange);
}

void nb_http2_body_stopped(nb_connections *connections, nb_exchange *exchange) {
    (void)connections;
    nb_http2_drop_body(nb_http2_stream_of(exchange));
}

#endif
