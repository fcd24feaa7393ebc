/*
 * http2_session.h - HTTP/2 as the protocol of a connection (connection/protocol.h; RFC 9113), on
 * libnghttp2. Many requests are under way at once, each on a stream. Frames, header compression
 * and windows are nghttp2's; requests, bodies and responses are ours.
 *
 * A stream has two ends that may go in any order: nghttp2 closes it (`open`), and its exchange
 * leaves the connection. When both have gone it is freed (nb_http2_settle).
 *
 * Bytes of a response stay in the exchange's send queue. The connection's `fill` lets nghttp2 make
 * frames, as far as windows and NB_HTTP2_AHEAD_BYTES allow, and moves the content behind each
 * frame's head without copying it.
 *
 * Bytes of a request body that find no room wait in the stream (`waiting`). Windows are opened
 * only by what was taken, so that a connection's bodies hold at most its window.
 *
 * Care: nghttp2 calls back while it works, and a callback may end the connection. The session is
 * then freed when nghttp2 has returned (`inside`, `closed`).
 *
 * Threads: the loop's thread.
 */
#ifndef NB_PROTOCOLS_HTTP2_SESSION_H
#define NB_PROTOCOLS_HTTP2_SESSION_H

#include "connection/connection.h"

/* NULL: this build has no HTTP/2. */
const nb_protocol *nb_http2_protocol(void);

#ifdef NB_HAVE_HTTP2

#include <nghttp2/nghttp2.h>

#include "http2/http2_head.h"
#include "http2/http2_message.h"
#include "http2/http2_priority.h"

/* PRIORITY_UPDATE (RFC 9218 section 7.1), which older versions of nghttp2 do not name. */
#define NB_HTTP2_PRIORITY_UPDATE 0x10

/* Bytes of PRIORITY_UPDATE that are kept: the stream's number, and more than its value needs. */
#define NB_HTTP2_UPDATE_BYTES_MAX 132u

/* Updates that are kept for requests that have not come yet. */
#define NB_HTTP2_UPDATES_MAX 8u

extern const nb_protocol nb_http2;

/* --- between the files http2_*.c --- */

typedef struct nb_http2_session nb_http2_session;
typedef struct nb_http2_stream nb_http2_stream;

struct nb_http2_stream {
    nb_http2_session *session;
    nb_http2_stream *previous, *next; /* of the session */
    nb_http2_stream *settle_next;     /* in session->settling */
    nb_exchange *exchange;            /* NULL: none yet, or it has left */
    nb_buffer waiting;                /* bytes of the body that found no room yet */
    uint64_t received;                /* bytes of the body */
    uint64_t content_length;          /* that are announced; NB_CONTENT_LENGTH_UNKNOWN: not said */
    nb_stream_timeout timeout;        /* armed while the client is waited for */
    uint64_t moved;                   /* bytes of the body and of content, since it was armed */
    uint64_t moved_before;            /* session->moved at that time */
    int64_t paid_until_ns;            /* of its rate (send/pace.h) */
    int32_t id;
    nb_http2_priority priority;
    bool updated;        /* by PRIORITY_UPDATE, before its head */
    bool signalled;      /* its head has a Priority field */
    bool decided;        /* its response has a Priority field: the client's do not count */
    bool passed_over;    /* others come first: nghttp2 waits for nb_http2_let_on */
    bool open;           /* nghttp2 knows it */
    bool settling;       /* in session->settling */
    bool input_ended;    /* the client has sent the whole request */
    bool input_complete; /* the body was passed on whole, or there is none */
    bool dropped;        /* nothing more of the body is wanted */
    bool storing;        /* a worker writes a part of the body to its file */
    bool expects;        /* the client waits for 100 (Continue), which is not sent yet */
    bool deferred;       /* nghttp2 waits for content (nghttp2_session_resume_data) */
    bool paced;          /* `deferred` until its rate allows more */
    bool end_sent;       /* nothing more is sent: END_STREAM, or a reset of ours */
};

/* Settings that are announced, and the frame that does so (RFC 9113 section 6.5). */
#define NB_HTTP2_SETTINGS 4u
#define NB_HTTP2_GREETING_BYTES (9u + 6u * NB_HTTP2_SETTINGS)

typedef enum nb_http2_drain {
    NB_HTTP2_SERVES,
    NB_HTTP2_ANNOUNCED, /* GOAWAY with the highest number, and a PING whose answer is awaited */
    NB_HTTP2_DRAINING,  /* GOAWAY with the last stream: no more are accepted */
} nb_http2_drain;

typedef struct nb_http2_update {
    int32_t id; /* 0: none */
    nb_http2_priority priority;
} nb_http2_update;

struct nb_http2_session {
    nghttp2_session *h2;
    nb_connections *connections;
    nb_connection *connection;
    nb_counters *counters;                  /* NULL: a connection to an admin listener */
    nb_http2_stream *streams;               /* all */
    nb_http2_stream *settling;              /* whose state has changed */
    nb_http2_stream *heading;               /* whose head is received; NULL: none */
    nb_http2_head head;                     /* of `heading` */
    nb_http2_message message;               /* whose fields are received: a head, or trailers */
    uint64_t moved;                         /* bytes of content, of all streams */
    uint16_t urgencies[NB_HTTP2_URGENCIES]; /* open streams, by urgency */
    uint16_t passed_over;                   /* of them */
    uint16_t update_bytes;                  /* of the PRIORITY_UPDATE that is received */
    uint8_t next_update;                    /* where the next one is kept */
    char update[NB_HTTP2_UPDATE_BYTES_MAX];
    nb_http2_update updates[NB_HTTP2_UPDATES_MAX];
    uint32_t violation; /* its code: the connection is to end; 0: there is none */
    int64_t resets_since_ns;
    uint32_t resets;        /* since then */
    uint32_t continuations; /* CONTINUATION frames of the head that is received */
    uint64_t list_bytes;    /* of its fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts them */
    uint8_t drain;          /* nb_http2_drain */
    uint8_t inside;         /* functions that use it, and may end its connection */
    bool closed;            /* the connection has ended meanwhile */
    bool failed;            /* out of memory: the connection is to end */
    bool flooded;           /* too many resets: the connection is to end */
    bool greeted;           /* the first frame is in the send queue */
    bool more;              /* some were passed over when enough was sent ahead */
    bool held_back;         /* so much waits for the client that nothing more is read of it */
};

typedef struct nb_http2_connection {
    nb_http2_session *session; /* NULL: nothing has been received */
} nb_http2_connection;

typedef struct nb_http2_exchange {
    nb_http2_stream *stream;
} nb_http2_exchange;

extern const nb_response_writer nb_http2_writer;

static inline nb_http2_connection *nb_http2_connection_of(const nb_connection *connection) {
    _Static_assert(sizeof(nb_http2_connection) <= sizeof(connection->session), "NB_SESSION_WORDS");
    return (nb_http2_connection *)(uintptr_t)connection->session;
}

/* Connections to admin listeners count nowhere. */
static inline void nb_http2_count_bound(const nb_http2_session *session, nb_http2_bound bound) {
    if (session->counters) NB_COUNT(session->counters, http2_bounds[bound], 1);
}
#define NB_HTTP2_COUNT(session, name, by) ((session)->counters ? NB_COUNT((session)->counters, name, by) : (void)0)

/* NULL: nothing has been received. */
static inline nb_http2_session *nb_http2_session_of(const nb_connection *connection) {
    return nb_http2_connection_of(connection)->session;
}

static inline nb_http2_exchange *nb_http2_exchange_of(const nb_exchange *exchange) {
    _Static_assert(sizeof(nb_http2_exchange) <= sizeof(exchange->protocol_state), "nb_exchange.protocol_state");
    return (nb_http2_exchange *)(uintptr_t)exchange->protocol_state;
}

static inline nb_http2_stream *nb_http2_stream_of(const nb_exchange *exchange) {
    return nb_http2_exchange_of(exchange)->stream;
}

/* --- http2_life.c --- */

/* Copies nghttp2's first frame, which announces the settings, in the form that it has on the wire.
 * False: it is as it should be. place: NB_HTTP2_GREETING_BYTES. */
bool nb_http2_greeting(const uint8_t *bytes, size_t size, char *place);
/* The session is made when the client's first bytes come. NULL: out of memory. */
nb_http2_session *nb_http2_begin_session(nb_connections *connections, nb_connection *connection);
/* As in the table of protocol.h. */
void nb_http2_close(nb_connection *connection);
/* Between the two the session stays, even if its connection ends. leave: false if it has ended. */
void nb_http2_enter(nb_http2_session *session);
bool nb_http2_leave(nb_http2_session *session);

/* --- http2_streams.c --- */

int nb_http2_on_begin_frame(nghttp2_session *h2, const nghttp2_frame_hd *head, void *session);
int nb_http2_on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *session);
int nb_http2_on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error_code, void *session);
int nb_http2_on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *session);
int nb_http2_on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *session);
int nb_http2_on_frame_not_send(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *session);
/* The stream's state has changed: nb_http2_settle looks at it. */
void nb_http2_unsettled(nb_http2_stream *stream);
/* The connection is to end with this code, when nghttp2 has returned. Returns what its callback
 * returns. */
int nb_http2_violated(nb_http2_session *session, uint32_t error_code);
/* Follows up what has become of streams. The first may be called while nghttp2 is at work, and
 * does nothing to the connection. */
void nb_http2_settle_streams(nb_http2_session *session);
void nb_http2_settle(nb_http2_session *session);
void nb_http2_free_stream(nb_http2_session *session, nb_http2_stream *stream);
/* nghttp2 does not know the stream any more. */
void nb_http2_stream_closed(nb_http2_stream *stream);
/* The request is malformed (RFC 9113 section 8.1.1): nothing more of it is looked at. */
void nb_http2_malformed(nb_http2_stream *stream);
/* Ends the stream towards the client. */
void nb_http2_reset(nb_http2_stream *stream, uint32_t error_code);
/* GOAWAY with the last stream that is served (RFC 9113 section 6.8). */
void nb_http2_refuse_streams(nb_http2_session *session);

/* --- http2_session.c --- */

/* Nothing more of the client is wanted: says why by a GOAWAY, and ends the connection. */
void nb_http2_terminate(nb_connections *connections, nb_connection *connection, uint32_t error_code);

/* --- http2_requests.c --- */

int nb_http2_on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *session);
int nb_http2_on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes,
                       const uint8_t *value, size_t value_bytes, uint8_t flags, void *session);
/* The head of the stream's request is complete. */
void nb_http2_begin_request(nb_http2_session *session, nb_http2_stream *stream, bool has_body);

/* --- http2_bodies.c --- */

int nb_http2_on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *bytes, size_t size, void *session);
/* The client has sent all of the stream's request. */
void nb_http2_input_ended(nb_http2_session *session, nb_http2_stream *stream);
/* Frees what waits, and drops what still comes. */
void nb_http2_drop_body(nb_http2_stream *stream);
/* The body of a running request cannot be received. */
void nb_http2_upload_failed(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal,
                            nb_gone_reason reason);
/* As in the table of protocol.h. */
void nb_http2_body_written(nb_connections *connections, nb_exchange *exchange, nb_status status);
void nb_http2_body_room(nb_connections *connections, nb_exchange *exchange);
void nb_http2_body_taken(nb_connections *connections, nb_exchange *exchange);
void nb_http2_body_stopped(nb_connections *connections, nb_exchange *exchange);
/* The stream waits for bytes of the client, not for the application or the disk. */
bool nb_http2_awaits_body(const nb_http2_stream *stream);

/* --- http2_order.c --- */

/* nghttp2 asks for content: true if others come first. The stream then waits for let_on. */
bool nb_http2_pass_over(nb_http2_stream *stream);
/* nghttp2 has nothing more to send: lets on those that were passed over and are first now. False:
 * there are none. */
bool nb_http2_let_on(nb_http2_session *session);
/* The stream has opened, or closed. */
void nb_http2_begin_priority(nb_http2_stream *stream);
void nb_http2_end_priority(nb_http2_stream *stream);
/* Its request, or its response, has the field Priority. */
void nb_http2_priority_field(nb_http2_stream *stream, nb_slice value);
void nb_http2_priority_of_response(nb_http2_stream *stream, nb_slice value);
int nb_http2_on_extension_bytes(nghttp2_session *h2, const nghttp2_frame_hd *head, const uint8_t *bytes, size_t size,
                                void *session);
int nb_http2_on_extension_end(nghttp2_session *h2, void **payload, const nghttp2_frame_hd *head, void *session);

/* --- http2_timeouts.c --- */

/* Bytes of its response wait, which only the client can let go on. */
bool nb_http2_is_held_back(const nb_http2_stream *stream);
/* Arms or disarms the stream's timeout, by what it waits for. */
void nb_http2_retime(nb_http2_stream *stream);
/* As in the table of protocol.h. */
void nb_http2_stream_timed_out(nb_connections *connections, nb_stream_timeout *timeout);

static inline nb_http2_stream *nb_http2_stream_of_timeout(nb_stream_timeout *timeout) {
    return (nb_http2_stream *)(void *)((char *)timeout - offsetof(nb_http2_stream, timeout));
}

/* --- http2_response.c --- */

/* The response's exchange is aborted, and its downloads have this result. The caller has the stream
 * reset. */
void nb_http2_break_off(nb_http2_stream *stream, nb_download_result result);
/* Sends 100 (Continue), if the client waits for it. NB_NO_MEMORY. */
nb_status nb_http2_send_continue(nb_http2_stream *stream);
/* nghttp2 is to ask for the content of the stream again. NB_NO_MEMORY. */
nb_status nb_http2_resume(nb_http2_stream *stream);
/* Puts a frame of content on the connection's send queue. */
int nb_http2_on_send_data(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head, size_t bytes,
                          nghttp2_data_source *source, void *session);

#endif

#endif
