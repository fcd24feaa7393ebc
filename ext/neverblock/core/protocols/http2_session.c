/*
 * http2_session.c - see http2_session.h: the life of a session, its frames, its end.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include "base/alloc.h"
#include "connection/responding.h"
#include "os/clock.h"

/* Acknowledgements of SETTINGS and PING that wait for a client that does not read (CVE-2019-9512,
 * CVE-2019-9515). */
#define ACKS_MAX 1000u

/* Bytes of a response's head, compressed: more than an executor can send. */
#define RESPONSE_HEAD_BYTES_MAX (1u << 20)

/* --- streams --- */

void nb_http2_unsettled(nb_http2_stream *stream) {
    if (stream->settling) return;
    stream->settling = true;
    stream->settle_next = stream->session->settling;
    stream->session->settling = stream;
}

static void free_stream(nb_http2_session *session, nb_http2_stream *stream) {
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
    if (++session->resets > NB_HTTP2_RESETS_MAX) session->flooded = true;
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
    if (stream->open) return;
    nb_http2_drop_body(stream);
    if (!stream->exchange) free_stream(session, stream);
}

/* GOAWAY with the last stream that is served (RFC 9113 section 6.8). */
static void refuse_streams(nb_http2_session *session) {
    int32_t last = nghttp2_session_get_last_proc_stream_id(session->h2);
    session->drain = NB_HTTP2_DRAINING;
    if (nghttp2_submit_goaway(session->h2, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0) != 0)
        session->failed = true;
}

/* Follows up what has become of streams while nghttp2 was at work. */
static void settle(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    while (session->settling) {
        nb_http2_stream *stream = session->settling;
        session->settling = stream->settle_next;
        stream->settling = false;
        settle_one(session, stream);
    }
    if (session->drain == NB_HTTP2_ANNOUNCED && !connection->first && !session->heading) refuse_streams(session);
    if (session->flooded && connection->state == NB_CONNECTION_OPEN)
        nb_http2_terminate(session->connections, connection, NGHTTP2_ENHANCE_YOUR_CALM);
}

void nb_http2_reset(nb_http2_stream *stream, uint32_t error_code) {
    nb_http2_session *session = stream->session;
    if (!stream->open) return;
    if (nghttp2_submit_rst_stream(session->h2, NGHTTP2_FLAG_NONE, stream->id, error_code) != 0) session->failed = true;
}

/* --- what nghttp2 tells --- */

static int on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *argument) {
    nb_http2_session *session = argument;
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        if (session->drain == NB_HTTP2_ANNOUNCED) refuse_streams(session);
        return 0;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!stream) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        nb_http2_begin_request(session, stream, !last);
    } else if (last) {
        nb_http2_input_ended(session, stream);
    }
    return session->closed || session->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error_code, void *session) {
    (void)error_code, (void)session;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, id);
    if (!stream) return 0;
    stream->open = false;
    nb_http2_unsettled(stream);
    return 0;
}

/* The response is sent. A client that still sends its request need not go on (RFC 9113 section
 * 8.1). */
static int on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *session) {
    bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!may_end || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (!stream) return 0;
    stream->end_sent = true;
    if (!stream->input_ended) nb_http2_reset(stream, NGHTTP2_NO_ERROR);
    nb_http2_unsettled(stream);
    return ((nb_http2_session *)session)->failed ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame_not_send(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *session) {
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS || error == NGHTTP2_ERR_STREAM_CLOSED || error == NGHTTP2_ERR_STREAM_CLOSING)
        return 0;
    nb_http2_stream *stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
    if (stream) nb_http2_reset(stream, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

/* --- life --- */

static void *take_block(size_t bytes, void *unused) {
    (void)unused;
    return nb_alloc(bytes);
}

static void *take_zeroed(size_t count, size_t bytes, void *unused) {
    (void)unused;
    return nb_alloc_zero(count, bytes);
}

static void *retake(void *block, size_t bytes, void *unused) {
    (void)unused;
    return nb_realloc(block, bytes);
}

static void give(void *block, void *unused) {
    (void)unused;
    nb_free(block);
}

static void set_callbacks(nghttp2_session_callbacks *callbacks) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, nb_http2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, nb_http2_on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, nb_http2_on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, nb_http2_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, nb_http2_on_send_data);
}

static void set_options(nghttp2_option *options) {
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_max_outbound_ack(options, ACKS_MAX);
    nghttp2_option_set_max_send_header_block_length(options, RESPONSE_HEAD_BYTES_MAX);
}

static bool make_session(nb_http2_session *session) {
    nghttp2_mem memory = {NULL, take_block, give, take_zeroed, retake};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *options = NULL;
    bool made = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0;
    if (made) {
        set_callbacks(callbacks);
        set_options(options);
        made = nghttp2_session_server_new3(&session->h2, callbacks, session, options, &memory) == 0;
    }
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return made;
}

static bool announce(nb_http2_session *session) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, NB_HTTP2_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, NB_HTTP2_STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, session->connections->head_limits.head_bytes},
    };
    return nghttp2_submit_settings(session->h2, NGHTTP2_FLAG_NONE, settings, sizeof(settings) / sizeof(*settings)) ==
               0 &&
           nghttp2_session_set_local_window_size(session->h2, NGHTTP2_FLAG_NONE, 0, NB_HTTP2_WINDOW_BYTES) == 0;
}

static void destroy(nb_http2_session *session) {
    while (session->streams)
        free_stream(session, session->streams);
    nb_http2_head_clear(&session->head, session->connections->pool);
    nghttp2_session_del(session->h2);
    nb_free(session);
}

/* The session is made when the client's first bytes come. NULL: out of memory. */
static nb_http2_session *begin_session(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_alloc_zero(1, sizeof(*session));
    if (!session) return NULL;
    session->connections = connections;
    session->connection = connection;
    if (!make_session(session) || !announce(session)) {
        destroy(session);
        return NULL;
    }
    nb_http2_connection_of(connection)->session = session;
    return session;
}

static void open_session(nb_connection *connection) { (void)connection; }

static void close_session(nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) return;
    for (nb_http2_stream *stream = session->streams; stream; stream = stream->next)
        stream->exchange = NULL;
    session->closed = true;
    if (session->inside == 0) destroy(session);
}

void nb_http2_enter(nb_http2_session *session) { session->inside++; }

bool nb_http2_leave(nb_http2_session *session) {
    bool open = !session->closed;
    if (--session->inside == 0 && !open) destroy(session);
    return open;
}

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

/* One of both sides has said that it ends the connection, and nothing is under way. */
static void end_if_over(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    if (connection->state != NB_CONNECTION_OPEN) return;
    if (nghttp2_session_want_read(session->h2) || nghttp2_session_want_write(session->h2)) return;
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
    if (session->drain != NB_HTTP2_SERVES) return;
    if (!connection->first && !session->heading) {
        refuse_streams(session);
    } else {
        session->drain = NB_HTTP2_ANNOUNCED;
        if (nghttp2_submit_shutdown_notice(session->h2) != 0 ||
            nghttp2_submit_ping(session->h2, NGHTTP2_FLAG_NONE, NULL) != 0)
            session->failed = true;
    }
    nb_connection_mark_dirty(connections, connection);
}

/* --- bytes of the client --- */

static uint32_t code_of(int error) {
    return error == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR;
}

/* nghttp2 does not go on. */
static void give_up(nb_http2_session *session, int error) {
    nb_connections *connections = session->connections;
    bool ours = error == NGHTTP2_ERR_CALLBACK_FAILURE || error == NGHTTP2_ERR_NOMEM;
    if (ours || session->failed) {
        nb_connection_end(connections, session->connection, true);
    } else if (session->connection->state == NB_CONNECTION_OPEN) {
        nb_http2_terminate(connections, session->connection, code_of(error));
    }
}

static void received(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) session = begin_session(connections, connection);
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
    settle(session);
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

static bool wants_input(const nb_connection *connection) {
    const nb_http2_session *session = nb_http2_session_of(connection);
    return !session || (!session->failed && nghttp2_session_get_outbound_queue_size(session->h2) < NB_HTTP2_FRAMES_MAX);
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

/* Lets nghttp2 make frames. NB_NO_MEMORY. */
static nb_status make_frames(nb_http2_session *session) {
    nb_connection *connection = session->connection;
    while (nb_connection_owed(connection) < NB_HTTP2_AHEAD_BYTES) {
        const uint8_t *bytes = NULL;
        ssize_t size = nghttp2_session_mem_send(session->h2, &bytes);
        if (size < 0) return NB_NO_MEMORY;
        nb_status status = nb_send_queue_add(&connection->send_queue, session->connections->pool,
                                             nb_slice_of((const char *)bytes, (size_t)size));
        if (status != NB_OK) return status;
        settle(session);
        if (size == 0) break;
    }
    return NB_OK;
}

static void fill(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session || connection->state == NB_CONNECTION_LINGER) return;
    nb_http2_enter(session);
    look_at_exchanges(session);
    if (!session->closed) settle(session);
    nb_status status = session->closed || session->failed ? NB_NO_MEMORY : make_frames(session);
    if (!nb_http2_leave(session)) return;
    if (status != NB_OK || session->failed) {
        nb_connection_end(connections, connection, true);
        return;
    }
    end_if_over(session);
}

/* Bytes of its response wait, which only the client can let go on. */
static bool is_held_back(const nb_http2_stream *stream) {
    return stream->exchange && stream->exchange->send_queue.bytes > 0;
}

static void sent(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session || connection->waits != NB_WAITS_NOT) return;
    if (nghttp2_session_want_write(session->h2)) {
        nb_connection_mark_dirty(connections, connection);
        return;
    }
    bool held_back = false;
    for (nb_http2_stream *stream = session->streams; stream && connection->read_ended; stream = stream->next)
        held_back = held_back || is_held_back(stream);
    if (held_back) nb_connection_end(connections, connection, false);
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
    for (const nb_http2_stream *stream = session->streams; stream; stream = stream->next) {
        if (nb_http2_awaits_body(stream) || is_held_back(stream)) return NB_TIMEOUT_TRANSFER;
    }
    if (connection->first) return NB_TIMEOUT_NONE;
    if (!connection->had_request) return NB_TIMEOUT_HEADER;
    return connection->admin ? NB_TIMEOUT_ADMIN : NB_TIMEOUT_IDLE;
}

static void stream_timed_out(nb_http2_session *session, nb_http2_stream *stream) {
    static const nb_refusal too_slow = {408, "the body comes too slowly"};
    nb_connections *connections = session->connections;
    nb_exchange *exchange = stream->exchange;
    if (nb_http2_awaits_body(stream) && exchange->upload) {
        nb_http2_upload_failed(connections, exchange, too_slow, NB_GONE_TOO_SLOW);
    } else if (nb_http2_awaits_body(stream)) {
        nb_respond_refused(connections, exchange, too_slow);
    } else if (is_held_back(stream)) {
        stream->exchange = NULL;
        stream->end_sent = true;
        nb_connection_abort_exchange(connections, exchange);
        nb_http2_reset(stream, NGHTTP2_CANCEL);
    }
}

static void timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind) {
    nb_http2_session *session = nb_http2_session_of(connection);
    if (!session) {
        nb_connection_end(connections, connection, false);
        return;
    }
    if (kind == NB_TIMEOUT_HEADER) {
        nb_http2_terminate(connections, connection, NGHTTP2_NO_ERROR);
        return;
    }
    nb_http2_enter(session);
    for (nb_http2_stream *stream = session->streams; stream && !session->closed; stream = stream->next)
        stream_timed_out(session, stream);
    if (nb_http2_leave(session)) nb_connection_mark_dirty(connections, connection);
}

const nb_protocol nb_http2 = {
    .name = "h2",
    .writer = &nb_http2_writer,
    .open = open_session,
    .close = close_session,
    .wants_input = wants_input,
    .received = received,
    .input_ended = input_ended,
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
};

const nb_protocol *nb_http2_protocol(void) { return &nb_http2; }

#endif
