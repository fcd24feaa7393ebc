/*
 * http2_session.c - see http2_session.h: the table of the protocol; bytes of the client, frames for
 * it, drain.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "connection/responding.h"

static void open_session(nb_connection *connection) { (void)connection; }

/* --- the end --- */

static void abort_streams(nb_http2_session *session) {
    for (nb_http2_stream *stream = session->streams; stream; stream = stream->next) {
        nb_exchange *exchange = stream->exchange;
        if (!exchange || !stream->open) continue;
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(session->connections, exchange);
    }
}

void nb_http2_terminate(nb_connections *connections, nb_connection *connection, uint32_t error_code) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (nghttp2_session_terminate_session(session->h2, error_code) != 0) session->failed = true;
    abort_streams(session);
    connection->body_unread = true;
    connection->state = NB_CONNECTION_LAST;
    nb_connection_mark_dirty(connections, connection);
}

/* One of both sides has said that it ends the connection, and nothing is under way. A client that
 * has said so is told the last stream as well (RFC 9113 section 6.8). After an error of the
 * connection nghttp2 sends no more of the streams that run, also when the client has finished. */
static void end_if_over(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    bool open = connection->state == NB_CONNECTION_OPEN;
    if (!open && (connection->state != NB_CONNECTION_LAST || !connection->first)) return;
    if (nghttp2_session_want_read(session->h2) || nghttp2_session_want_write(session->h2)) return;
    if (open && session->drain != NB_HTTP2_DRAINING) {
        nb_http2_refuse_streams(session);
        nb_connection_mark_dirty(session->connections, connection);
        return;
    }
    abort_streams(session);
    connection->body_unread = true;
    connection->state = NB_CONNECTION_LAST;
}

static void drain(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) {
        nb_connection_end(connections, connection, false);
        return;
    }
    if (session->drain == NB_HTTP2_DRAINING && !connection->first && !nb_connection_owes(connection)) {
        nb_connection_end(connections, connection, false); /* it was told, and stays all the same */
        return;
    }
    if (session->drain != NB_HTTP2_SERVES) return;
    if (!connection->first && !session->heading) {
        nb_http2_refuse_streams(session);
    } else {
        session->drain = NB_HTTP2_ANNOUNCED;
        if (nghttp2_submit_shutdown_notice(session->h2) != 0 ||
            nghttp2_submit_ping(session->h2, NGHTTP2_FLAG_NONE, NULL) != 0)
            session->failed = true;
    }
    nb_connection_mark_dirty(connections, connection);
}

/* --- bytes of the client --- */

/* NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, which older versions do not name. */
#define TOO_MANY_CONTINUATIONS (-905)

static uint32_t code_of(const nb_http2_session *session, int error) {
    if (error != NGHTTP2_ERR_FLOODED && error != TOO_MANY_CONTINUATIONS) return NGHTTP2_PROTOCOL_ERROR;
    bool control = error == NGHTTP2_ERR_FLOODED;
    nb_http2_count_bound(session, control ? NB_HTTP2_BOUND_control_frames : NB_HTTP2_BOUND_continuations);
    return NGHTTP2_ENHANCE_YOUR_CALM;
}

/* nghttp2 does not go on. */
static void give_up(nb_http2_session *session, int error) {
    nb_connections *connections = session->connections;
    bool ours = error == NGHTTP2_ERR_CALLBACK_FAILURE || error == NGHTTP2_ERR_NOMEM;
    if (ours || session->failed) {
        nb_connection_end(connections, session->connection, true);
    } else if (session->connection->state == NB_CONNECTION_OPEN) {
        nb_http2_terminate(connections, session->connection, code_of(session, error));
    }
}

static bool wants_input(const nb_connection *connection) {
    const nb_http2_session *session = nb_http2_session_of(connection);
    return !session || (!session->failed && !session->held_back);
}

static void look_at_frames(nb_http2_session *session) {
    bool many = nghttp2_session_get_outbound_queue_size(session->h2) >= session->connections->settings.http2_frames_max;
    if (many && !session->held_back) nb_http2_count_bound(session, NB_HTTP2_BOUND_unread_frames);
    session->held_back = many;
}

static void received(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) session = nb_http2_begin_session(connections, connection);
    if (!session) {
        nb_connection_end(connections, connection, true);
        return;
    }
    if (!connection->input.data) return;
    /* Taken out of the connection, which may end while nghttp2 reads them. */
    nb_buffer input = connection->input;
    connection->input = (nb_buffer){NULL, 0, 0, 0};
    nb_http2_enter(session);
    ssize_t used = nghttp2_session_mem_recv(session->h2, (const uint8_t *)nb_buffer_bytes(&input),
                                            nb_buffer_size(&input));
    nb_buffer_release(&input, connections->pool);
    if (!nb_http2_leave(session)) return;
    if (used < 0 || session->failed) {
        give_up(session, used < 0 ? (int)used : NGHTTP2_ERR_NOMEM);
        return;
    }
    nb_http2_settle(session);
    look_at_frames(session);
    nb_connection_mark_dirty(connections, connection);
}

/* The client may still read, but opens no window any more. */
static void input_ended(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    for (nb_http2_stream *stream = session ? session->streams : NULL; stream; stream = stream->next) {
        nb_exchange *exchange = stream->exchange;
        if (!exchange || stream->input_ended) continue;
        exchange->gone_reason = NB_GONE_SHORT;
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(connections, exchange);
    }
    bool owes = nb_connection_owes(connection);
    if ((!connection->first || nb_connection_client_left(connection)) && !owes) {
        nb_connection_end(connections, connection, false);
    } else {
        connection->state = NB_CONNECTION_LAST;
        nb_connection_mark_dirty(connections, connection); /* `sent` looks whether it can go on */
    }
}

/* --- responses --- */

static void answered(nb_connections *connections, nb_exchange *exchange) {
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    if (!exchange->head_sent) { /* it was broken off before its head */
        nb_http2_reset(stream, NGHTTP2_INTERNAL_ERROR);
        stream->end_sent = true;
    } else if (nb_http2_resume(stream) != NB_OK) {
        stream->session->failed = true;
    }
    nb_http2_unsettled(stream);
    nb_connection_mark_dirty(connections, exchange->connection);
}

/* A connection of many requests cannot be given to one. The binding says so to the application;
 * this is for an executor that asks all the same. */
static void refuse_hijack(nb_http2_session *session, nb_exchange *exchange) {
    static const nb_refusal refusal = {500, "a connection of HTTP/2 cannot be hijacked"};
    nb_connections *connections = session->connections;
    nb_http2_stream *stream = nb_http2_stream_of(exchange);
    nb_log_line(connections->log, "an application wants to hijack a connection of HTTP/2, which is not possible");
    if (exchange->head_sent) {
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(connections, exchange);
        nb_http2_reset(stream, NGHTTP2_INTERNAL_ERROR);
        return;
    }
    stream->exchange = nb_connection_replace_exchange(connections, exchange, NB_GONE_CLIENT);
    if (stream->exchange) {
        nb_respond_own(connections, stream->exchange, refusal, "");
    } else {
        session->failed = true;
    }
}

static void look_at_exchanges(nb_http2_session *session) {
    for (nb_exchange *exchange = session->connection->first, *next; exchange && !session->closed; exchange = next) {
        next = exchange->next;
        if (exchange->tell_drained)
            nb_connection_tell_drained(session->connections, exchange, exchange->send_queue.bytes);
        if (exchange->hijack) refuse_hijack(session, exchange);
    }
}

static nb_status queue_frame(nb_http2_session *session, const uint8_t *bytes, size_t size) {
    char greeting[NB_HTTP2_GREETING_BYTES];
    nb_slice frame = nb_slice_of((const char *)bytes, size);
    if (size > 0 && !session->greeted && nb_http2_greeting(bytes, size, greeting)) frame.data = greeting;
    if (size > 0) session->greeted = true;
    return nb_send_queue_add(&session->connection->send_queue, session->connections->pool, frame);
}

/* Lets nghttp2 make frames. Those that were passed over go on when it has no more; another time
 * only if content has moved since. NB_NO_MEMORY. */
static nb_status make_frames(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    uint64_t moved = UINT64_MAX;
    session->more = false;
    while (nb_connection_owed(connection) < NB_HTTP2_AHEAD_BYTES) {
        const uint8_t *bytes = NULL;
        ssize_t size = nghttp2_session_mem_send(session->h2, &bytes);
        if (size < 0) return NB_NO_MEMORY;
        nb_status status = queue_frame(session, bytes, (size_t)size);
        if (status != NB_OK) return status;
        nb_http2_settle(session);
        if (size > 0) continue;
        if (moved == session->moved || !nb_http2_let_on(session)) return NB_OK;
        moved = session->moved;
    }
    session->more = session->passed_over > 0;
    return NB_OK;
}

static void fill(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session || connection->state == NB_CONNECTION_LINGER) return;
    nb_http2_enter(session);
    look_at_exchanges(session);
    if (!session->closed) nb_http2_settle(session);
    nb_status status = session->closed || session->failed ? NB_NO_MEMORY : make_frames(session);
    if (!nb_http2_leave(session)) return;
    if (status != NB_OK || session->failed) {
        nb_connection_end(connections, connection, true);
        return;
    }
    look_at_frames(session);
    end_if_over(session);
}

static void sent(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session || connection->waits != NB_WAITS_NOT || connection->state == NB_CONNECTION_LINGER) return;
    if (session->more || nghttp2_session_want_write(session->h2)) {
        nb_connection_mark_dirty(connections, connection);
        return;
    }
    bool held_back = false;
    for (nb_http2_stream *stream = session->streams; stream && connection->read_ended; stream = stream->next)
        held_back = held_back || nb_http2_is_held_back(stream);
    if (held_back) nb_connection_end(connections, connection, false);
}

/* The client opens no window any more. */
static void hung_up(nb_connections *connections, nb_connection *connection) {
    for (nb_exchange *exchange = connection->first, *next; exchange; exchange = next) {
        next = exchange->next;
        nb_http2_stream *stream = nb_http2_stream_of(exchange);
        if (!exchange->head_sent && !(exchange->cancellable && stream->input_ended)) continue;
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(connections, exchange);
        nb_http2_reset(stream, NGHTTP2_CANCEL);
        nb_http2_unsettled(stream);
    }
}

/* --- time and figures --- */

static nb_phase phase(const nb_connection *connection) {
    const nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) return connection->had_request ? NB_PHASE_IDLE : NB_PHASE_READING;
    uint32_t receiving = 0;
    for (const nb_http2_stream *stream = session->streams; stream; stream = stream->next)
        receiving += stream->exchange && !stream->input_complete && !stream->dropped;
    if (connection->first && receiving == connection->in_flight) return NB_PHASE_READING;
    if (connection->first || nb_connection_owes(connection)) return NB_PHASE_ANSWERING;
    if (session->heading) return NB_PHASE_READING;
    return session->drain == NB_HTTP2_SERVES ? NB_PHASE_IDLE : NB_PHASE_ANSWERING;
}

static nb_timeout_class timeout_class(const nb_connection *connection) {
    const nb_http2_session *session = nb_http2_session_of(connection);
    if (!session || session->heading) return NB_TIMEOUT_HEADER;
    if (connection->first) return NB_TIMEOUT_NONE;
    if (!connection->had_request) return NB_TIMEOUT_HEADER;
    if (nb_connection_owes(connection)) return NB_TIMEOUT_NONE; /* it is sent in this turn */
    return connection->admin ? NB_TIMEOUT_ADMIN : NB_TIMEOUT_IDLE;
}

/* No head has come. */
static void timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind) {
    (void)kind;
    if (nb_http2_session_of(connection)) {
        nb_http2_terminate(connections, connection, NGHTTP2_NO_ERROR);
    } else {
        nb_connection_end(connections, connection, false);
    }
}

const nb_protocol nb_http2 = {
    .name = "h2",
    .writer = &nb_http2_writer,
    .paces = true,
    .open = open_session,
    .close = nb_http2_close,
    .wants_input = wants_input,
    .received = received,
    .input_ended = input_ended,
    .hung_up = hung_up,
    .body_written = nb_http2_body_written,
    .body_room = nb_http2_body_room,
    .body_taken = nb_http2_body_taken,
    .body_stopped = nb_http2_body_stopped,
    .answered = answered,
    .fill = fill,
    .sent = sent,
    .drain = drain,
    .phase = phase,
    .timeout_class = timeout_class,
    .timed_out = timed_out,
    .stream_timed_out = nb_http2_stream_timed_out,
};

const nb_protocol *nb_http2_protocol(void) { return &nb_http2; }

#endif
