/*
 * http2_streams.c - what becomes of streams (RFC 9113 section 5.1): what nghttp2 tells of them, and
 * what follows for their exchanges.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "base/alloc.h"
#include "os/clock.h"

/* SETTINGS_MAX_FRAME_SIZE, which the server leaves as it is (RFC 9113 section 6.5.2). */
#define RECEIVED_FRAME_BYTES_MAX 16384u

/* --- streams --- */

void nb_http2_unsettled(nb_http2_stream *stream) {
    if (stream->settling) return;
    stream->settling = true;
    stream->settle_next = stream->session->settling;
    stream->session->settling = stream;
}

void nb_http2_stream_closed(nb_http2_stream *stream) {
    if (!stream->open) return;
    stream->open = false;
    nb_http2_end_priority(stream);
    NB_HTTP2_COUNT(stream->session, http2_streams, -1);
}

void nb_http2_free_stream(nb_http2_session *session, nb_http2_stream *stream) {
    nb_http2_stream_closed(stream);
    nb_timeouts_set(&session->connections->timeouts, &stream->timeout.timeout, NB_TIMEOUT_NONE, 0);
    if (session->heading == stream) session->heading = NULL;
    *(stream->previous ? &stream->previous->next : &session->streams) = stream->next;
    if (stream->next) stream->next->previous = stream->previous;
    nb_buffer_release(&stream->waiting, session->connections->pool);
    nb_free(stream);
}

/* Resets cost the client little, and the server the work that it has begun (CVE-2023-44487). Those
 * that the client provokes count as well (CVE-2025-8671). */
static void count_reset(nb_http2_session *session) {
    int64_t now_ns = session->connections->time->now_ns;
    if (now_ns - session->resets_since_ns > NB_HTTP2_RESETS_WINDOW_S * NB_NS_PER_S) {
        session->resets_since_ns = now_ns;
        session->resets = 0;
    }
    if (++session->resets > session->connections->settings.http2_resets_max) session->flooded = true;
}

static void settle_one(nb_http2_session *session, nb_http2_stream *stream) {
    nb_exchange *exchange = stream->exchange;
    bool was_reset = !stream->open && !stream->end_sent;
    if (was_reset) count_reset(session);
    if (exchange && was_reset) {
        stream->exchange = NULL;
        nb_connection_abort_exchange(session->connections, exchange);
    } else if (exchange && stream->end_sent && exchange->ended) {
        stream->exchange = NULL;
        nb_connection_drop_exchange(session->connections, exchange);
    }
    if (!stream->open) nb_http2_drop_body(stream);
    if (stream->open || stream->exchange) {
        nb_http2_retime(stream);
    } else {
        nb_http2_free_stream(session, stream);
    }
}

void nb_http2_refuse_streams(nb_http2_session *session) {
    int32_t last = nghttp2_session_get_last_proc_stream_id(session->h2);
    session->drain = NB_HTTP2_DRAINING;
    if (nghttp2_submit_goaway(session->h2, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0) != 0)
        session->failed = true;
}

void nb_http2_settle_streams(nb_http2_session *session) {
    while (session->settling) {
        nb_http2_stream *stream = session->settling;
        session->settling = stream->settle_next;
        stream->settling = false;
        settle_one(session, stream);
    }
}

void nb_http2_settle(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    nb_http2_settle_streams(session);
    if (session->drain == NB_HTTP2_ANNOUNCED && !connection->first && !session->heading)
        nb_http2_refuse_streams(session);
    if (session->violation && connection->state == NB_CONNECTION_OPEN)
        nb_http2_terminate(session->connections, connection, session->violation);
    if (!session->flooded || connection->state != NB_CONNECTION_OPEN) return;
    nb_http2_count_bound(session, NB_HTTP2_BOUND_resets);
    nb_http2_terminate(session->connections, connection, NGHTTP2_ENHANCE_YOUR_CALM);
}

int nb_http2_violated(nb_http2_session *session, uint32_t error_code) {
    session->violation = error_code;
    return NGHTTP2_ERR_CANCEL; /* the frame is ignored */
}

void nb_http2_reset(nb_http2_stream *stream, uint32_t error_code) {
    nb_http2_session *session = stream->session;
    if (!stream->open) return;
    if (nghttp2_submit_rst_stream(session->h2, NGHTTP2_FLAG_NONE, stream->id, error_code) != 0) session->failed = true;
}

void nb_http2_malformed(nb_http2_stream *stream) {
    nb_http2_session *session = stream->session;
    if (session->heading == stream) session->heading = NULL;
    nb_http2_drop_body(stream);
    nb_http2_reset(stream, NGHTTP2_PROTOCOL_ERROR);
    nb_http2_unsettled(stream);
}

/* --- what nghttp2 tells --- */

/* What nghttp2 does not check: the size of CONTINUATION (RFC 9113 section 4.2), in older versions
 * their number, in newer ones the stream of PRIORITY (section 6.3). */
int nb_http2_on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *head, void *argument) {
    nb_http2_session *session = argument;
    bool continues = head->type == NGHTTP2_CONTINUATION;
    session->continuations = continues ? session->continuations + 1 : 0;
    uint32_t error = 0;
    if (session->continuations > NB_HTTP2_CONTINUATIONS_MAX) error = NGHTTP2_ENHANCE_YOUR_CALM;
    if (continues && head->length > RECEIVED_FRAME_BYTES_MAX) error = NGHTTP2_FRAME_SIZE_ERROR;
    if (head->type == NGHTTP2_PRIORITY && head->stream_id == 0) error = NGHTTP2_PROTOCOL_ERROR;
    if (error == 0) return 0;
    if (continues) nb_http2_count_bound(session, NB_HTTP2_BOUND_continuations);
    return nghttp2_session_terminate_session(h2, error) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

int nb_http2_on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *argument) {
    nb_http2_session *session = argument;
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM) NB_HTTP2_COUNT(session, http2_resets_received, 1);
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        if (session->drain == NB_HTTP2_ANNOUNCED) nb_http2_refuse_streams(session);
        return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!stream) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !nb_http2_message_end(&session->message, last)) {
        nb_http2_malformed(stream);
    } else if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        nb_http2_begin_request(session, stream, !last);
    } else if (last) {
        nb_http2_input_ended(session, stream);
    }
    return session->closed || session->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int nb_http2_on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error_code, void *session) {
    (void)error_code, (void)session;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, id);
    if (!stream) return 0;
    nb_http2_stream_closed(stream);
    nb_http2_unsettled(stream);
    return 0;
}

static void count_sent(const nb_http2_session *session, const nghttp2_frame *frame) {
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        NB_HTTP2_COUNT(session, http2_resets_sent, 1);
        if (frame->rst_stream.error_code == NGHTTP2_REFUSED_STREAM)
            nb_http2_count_bound(session, NB_HTTP2_BOUND_streams);
    } else if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code < NB_HTTP2_CODES) {
        NB_HTTP2_COUNT(session, http2_goaways[frame->goaway.error_code], 1);
    }
}

/* The response is sent. A client that still sends its request need not go on (RFC 9113 section
 * 8.1). */
int nb_http2_on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *session) {
    count_sent(session, frame);
    bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!may_end || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!stream) return 0;
    stream->end_sent = true;
    if (!stream->input_ended) nb_http2_reset(stream, NGHTTP2_NO_ERROR);
    nb_http2_unsettled(stream);
    return ((nb_http2_session *)session)->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* A client that has acknowledged the limit of streams, and passes it, loses its connection. */
int nb_http2_on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *argument) {
    (void)h2;
    const nb_http2_session *session = argument;
    bool opens = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    uint32_t open = 0;
    for (const nb_http2_stream *stream = session->streams; opens && stream; stream = stream->next)
        open += stream->open;
    if (error == NGHTTP2_ERR_PROTO && open >= session->connections->settings.http2_streams_max)
        nb_http2_count_bound(session, NB_HTTP2_BOUND_streams);
    return 0;
}

int nb_http2_on_frame_not_send(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *session) {
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS || error == NGHTTP2_ERR_STREAM_CLOSED || error == NGHTTP2_ERR_STREAM_CLOSING)
        return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (stream) nb_http2_reset(stream, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

#endif
