/*
 * http2_timeouts.c - how long a stream may wait for its client: for bytes of its request's body, or
 * for a window that lets its response go on. Each stream is judged alone, by the bytes that have
 * moved on it within timeouts { body }, as a connection of HTTP/1.1 is. One whose rate allows
 * nothing waits for the clock, and its client is not judged.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "connection/responding.h"
#include "os/clock.h"

bool nb_http2_is_held_back(const nb_http2_stream *stream) {
    return stream->exchange && stream->exchange->send_queue.bytes > 0 && !stream->paced;
}

void nb_http2_retime(nb_http2_stream *stream) {
    nb_http2_session *session = stream->session;
    nb_connections *connections = session->connections;
    bool waits = !session->closed && (nb_http2_awaits_body(stream) || nb_http2_is_held_back(stream));
    nb_timeout_class kind = waits ? NB_TIMEOUT_STREAM : NB_TIMEOUT_NONE;
    if (stream->paced && stream->exchange && !session->closed) kind = NB_TIMEOUT_STREAM_RATE;
    if (stream->timeout.timeout.kind == kind) return;
    stream->moved = 0;
    stream->moved_before = session->moved;
    nb_timeouts_set(&connections->timeouts, &stream->timeout.timeout, kind, connections->time->now_ns);
}

/* Bytes that must move within timeouts { body }. */
static uint64_t least_of(const nb_connections *connections) {
    uint64_t least = (uint64_t)connections->settings.rate_min * connections->settings.body_timeout_ms / 1000;
    return least ? least : 1;
}

/* A window of fewer bytes than must move is as good as shut. A window of the connection that others
 * use up is not the stream's fault, as long as enough moves on all of them. */
static bool response_is_slow(const nb_http2_stream *stream, uint64_t least) {
    nb_http2_session *session = stream->session;
    nb_connection *connection = session->connection;
    /* No frames are made: the connection has a timeout of its own for that. */
    if (nb_connection_owed(connection) >= NB_HTTP2_AHEAD_BYTES) return false;
    int32_t own = nghttp2_session_get_stream_remote_window_size(session->h2, stream->id);
    if (own < (int64_t)least && (uint64_t)(own > 0 ? own : 0) < stream->exchange->send_queue.bytes) return true;
    return nghttp2_session_get_remote_window_size(session->h2) < (int64_t)least &&
           session->moved - stream->moved_before < least;
}

/* The client sends too little of a body. */
static void end_body(nb_http2_stream *stream) {
    static const nb_refusal too_slow = {408, "the body comes too slowly"};
    nb_connections *connections = stream->session->connections;
    nb_http2_count_bound(stream->session, NB_HTTP2_BOUND_slow_body);
    if (stream->exchange->upload) {
        nb_http2_upload_failed(connections, stream->exchange, too_slow, NB_GONE_TOO_SLOW);
    } else {
        nb_respond_refused(connections, stream->exchange, too_slow);
    }
}

/* The client takes too little of a response. */
static void end_response(nb_http2_stream *stream) {
    nb_http2_count_bound(stream->session, NB_HTTP2_BOUND_slow_response);
    nb_http2_break_off(stream, NB_DOWNLOAD_timed_out);
    nb_http2_reset(stream, NGHTTP2_CANCEL);
}

/* Ends what moves too slowly. */
static void judge(nb_http2_stream *stream) {
    nb_http2_session *session = stream->session;
    uint64_t least = least_of(session->connections);
    bool little = stream->moved < least;
    bool body = little && nb_http2_awaits_body(stream);
    bool response = little && !body && nb_http2_is_held_back(stream) && response_is_slow(stream, least);
    if (!body && !response) return;
    NB_HTTP2_COUNT(session, timed_out, 1);
    (body ? end_body : end_response)(stream);
}

static void go_on(nb_http2_stream *stream) {
    stream->paced = false;
    if (nb_http2_resume(stream) != NB_OK) stream->session->failed = true;
}

void nb_http2_stream_timed_out(nb_connections *connections, nb_stream_timeout *timeout) {
    nb_http2_stream *stream = nb_http2_stream_of_timeout(timeout);
    nb_http2_session *session = stream->session;
    nb_connection *connection = session->connection;
    nb_http2_enter(session);
    (stream->paced ? go_on : judge)(stream);
    if (!session->closed) nb_http2_retime(stream);
    if (nb_http2_leave(session)) nb_connection_mark_dirty(connections, connection);
}

#endif
