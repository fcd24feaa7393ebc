/*
 * http2_life.c - how a session of HTTP/2 begins and ends: nghttp2's session with our memory,
 * options and callbacks; what the server announces.
 */
#include "protocols/http2_session.h"

#ifdef NB_HAVE_HTTP2

#include <string.h>

#include "base/alloc.h"
#include "os/net.h"

/* Bytes of a response's head, compressed: more than an executor can send. */
#define RESPONSE_HEAD_BYTES_MAX (1u << 20)

/* RFC 9218 section 2.1: priorities of RFC 7540 do not count here. */
#define NO_RFC7540_PRIORITIES 0x9u

/* What nghttp2 is told in its place. 1.48 to 1.64 would order streams themselves, and free a block
 * twice there when memory is out. An unknown setting is sent as it is, and rewritten
 * (nb_http2_greeting). From 1.65 on nghttp2 must know it. */
#define STAND_IN (NGHTTP2_VERSION_NUM >= 0x014100 ? NO_RFC7540_PRIORITIES : 0xf909u)

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
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, nb_http2_on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, nb_http2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, nb_http2_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, nb_http2_on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, nb_http2_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, nb_http2_on_stream_close);
    nghttp2_session_callbacks_set_on_extension_chunk_recv_callback(callbacks, nb_http2_on_extension_bytes);
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, nb_http2_on_extension_end);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, nb_http2_on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, nb_http2_on_frame_not_send);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, nb_http2_on_invalid_frame);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, nb_http2_on_send_data);
}

static void set_options(nghttp2_option *options, const nb_connection_settings *settings) {
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_no_http_messaging(options, 1); /* http2/http2_message.h looks */
    /* Of SETTINGS and PING (CVE-2019-9512, CVE-2019-9515). */
    nghttp2_option_set_max_outbound_ack(options, settings->http2_frames_max);
    nghttp2_option_set_max_send_header_block_length(options, RESPONSE_HEAD_BYTES_MAX);
#ifdef HAVE_NGHTTP2_OPTION_SET_MAX_CONTINUATIONS
    nghttp2_option_set_max_continuations(options, NB_HTTP2_CONTINUATIONS_MAX);
#endif
    nghttp2_option_set_user_recv_extension_type(options, NB_HTTP2_PRIORITY_UPDATE);
}

static bool make_session(nb_http2_session *session) {
    nghttp2_mem memory = {NULL, take_block, give, take_zeroed, retake};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *options = NULL;
    bool made = nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0;
    if (made) {
        set_callbacks(callbacks);
        set_options(options, &session->connections->settings);
        made = nghttp2_session_server_new3(&session->h2, callbacks, session, options, &memory) == 0;
    }
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return made;
}

static bool announce(nb_http2_session *session) {
    const nghttp2_settings_entry settings[NB_HTTP2_SETTINGS] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, session->connections->settings.http2_streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, NB_HTTP2_STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, session->connections->head_limits.head_bytes},
        {STAND_IN, 1}, /* the last */
    };
    return nghttp2_submit_settings(session->h2, NGHTTP2_FLAG_NONE, settings, NB_HTTP2_SETTINGS) == 0 &&
           nghttp2_session_set_local_window_size(session->h2, NGHTTP2_FLAG_NONE, 0, NB_HTTP2_WINDOW_BYTES) == 0;
}

bool nb_http2_greeting(const uint8_t *bytes, size_t size, char *place) {
    static const unsigned char stand_in[] = {STAND_IN >> 8, STAND_IN & 0xffu, 0, 0, 0, 1};
    size_t at = NB_HTTP2_GREETING_BYTES - sizeof(stand_in);
    if (size != NB_HTTP2_GREETING_BYTES || memcmp(bytes + at, stand_in, sizeof(stand_in)) != 0) return false;
    memcpy(place, bytes, size);
    place[at] = 0;
    place[at + 1] = NO_RFC7540_PRIORITIES;
    return true;
}

static void destroy(nb_http2_session *session) {
    while (session->streams)
        nb_http2_free_stream(session, session->streams);
    nb_http2_head_clear(&session->head, session->connections->pool);
    NB_HTTP2_COUNT(session, http2_connections, -1);
    nghttp2_session_del(session->h2);
    nb_free(session);
}

nb_http2_session *nb_http2_begin_session(nb_connections *connections, nb_connection *connection) {
    nb_http2_session *session = nb_alloc_zero(1, sizeof(*session));
    if (!session) return NULL;
    session->connections = connections;
    session->connection = connection;
    session->counters = connection->admin ? NULL : connections->counters;
    NB_HTTP2_COUNT(session, http2_connections, 1);
    nb_net_limit_unsent(connection->transport.fd, NB_HTTP2_UNSENT_BYTES);
    if (!make_session(session) || !announce(session)) {
        destroy(session);
        return NULL;
    }
    NB_HTTP2_COUNT(session, http2_opened, 1);
    nb_http2_connection_of(connection)->session = session;
    return session;
}

void nb_http2_close(nb_connection *connection) {
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

#endif
