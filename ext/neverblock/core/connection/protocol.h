/*
 * protocol.h - what a protocol does for a connection, as a table of functions. The connection moves
 * bytes, keeps the exchanges, waits and counts, and knows no version of HTTP. The protocol finds
 * requests in the bytes and writes responses as bytes.
 *
 * State: a protocol keeps its state of a connection in connection->session, and its state of a
 * request in exchange->protocol_state. Both begin zeroed. What does not fit is allocated and
 * pointed to.
 *
 * What is left to the protocol: the limits of a head (connections->head_limits) and of a body
 * (settings.body_bytes_max); one block of bytes that all slices of a head point into
 * (intake/request.h); the request's line for the log (nb_request_log_note) where connection->input
 * does not begin with it; exchange->hijack, in `sent`.
 *
 * A connection begins with nb_connections.protocol. nb_connections.http2 takes its place where the
 * client has asked for that by ALPN, or by its first bytes (nb_connection_change_protocol).
 *
 * A protocol calls delivery.h (give a request and its body to an executor), responding.h (the
 * server's own answers), and the last part of connection.h.
 *
 * Threads: all functions are called on the loop's thread. After any of them the connection may have
 * ended.
 */
#ifndef NB_CONNECTION_PROTOCOL_H
#define NB_CONNECTION_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "responses/response_writer.h"
#include "base/status.h"
#include "connection/timeouts.h"
#include "dispatch/exchange.h"
#include "metrics/counters.h"

typedef struct nb_connections nb_connections;
typedef struct nb_protocol nb_protocol;

/* The timeout of one stream of a connection: its node in NB_TIMEOUT_STREAM or
 * NB_TIMEOUT_STREAM_RATE. */
typedef struct nb_stream_timeout {
    nb_timeout timeout;
    nb_connection *connection;
} nb_stream_timeout;

struct nb_protocol {
    const char *name; /* as in ALPN (RFC 7301 section 6) */
    const nb_response_writer *writer;
    bool paces; /* what it moves to connection->send_queue keeps to the rates of files already */

    /* --- life --- */

    void (*open)(nb_connection *connection);
    /* Frees what the session holds. The exchanges have been dropped before. */
    void (*close)(nb_connection *connection);

    /* --- bytes from the client; the connection is NB_CONNECTION_OPEN --- */

    /* True: more bytes should be read now. False: the client is held back (flow control). */
    bool (*wants_input)(const nb_connection *connection);
    /* connection->input holds bytes, perhaps the same as before. Consumes what it can. */
    void (*received)(nb_connections *connections, nb_connection *connection);
    /* The client has finished sending. It may still read. */
    void (*input_ended)(nb_connections *connections, nb_connection *connection);

    /* --- bodies of requests --- */

    /* A write of exchange->body to its file has ended. NB_OK: the body has room. NB_SYSTEM: the
     * write failed; errno. */
    void (*body_written)(nb_connections *connections, nb_exchange *exchange, nb_status status);
    /* The executor's ring may have room again for exchange->upload. */
    void (*body_room)(nb_connections *connections, nb_exchange *exchange);
    /* The application has read some of exchange->upload, or waits for its first bytes. */
    void (*body_taken)(nb_connections *connections, nb_exchange *exchange);
    /* The server itself answers the request, and nothing more of its body is to be read. Called
     * before the answer is written. */
    void (*body_stopped)(nb_connections *connections, nb_exchange *exchange);

    /* --- responses --- */

    /* The response has ended: all its bytes are in exchange->out. */
    void (*answered)(nb_connections *connections, nb_exchange *exchange);
    /* Called before the connection sends: moves to connection->send_queue what may be sent now.
     * NULL: the protocol does that elsewhere. */
    void (*fill)(nb_connections *connections, nb_connection *connection);
    /* The connection has sent what the client takes now. Nothing is left to send if
     * connection->waits is NB_WAITS_NOT. */
    void (*sent)(nb_connections *connections, nb_connection *connection);

    /* --- the end; the connection is NB_CONNECTION_OPEN --- */

    /* The server drains, or the connection has been idle for too long: the protocol says so to the
     * client, serves what has begun, and then makes the connection NB_CONNECTION_LAST. NULL: an
     * idle connection is ended, and others after their requests. */
    void (*drain)(nb_connections *connections, nb_connection *connection);
    /* The client's socket is closed, or both of its sides are. Bytes may be left to be read, and
     * input_ended follows them. Called before each flush from then on, also of a connection that is
     * NB_CONNECTION_LAST. Ends requests whose response has begun, and those that end with their
     * client; others go on. What the connection owes is dropped. NULL: the connection is ended. */
    void (*hung_up)(nb_connections *connections, nb_connection *connection);

    /* --- time and figures; the connection is NB_CONNECTION_OPEN --- */

    nb_phase (*phase)(const nb_connection *connection);
    /* The timeout that runs while nothing is left to send. */
    nb_timeout_class (*timeout_class)(const nb_connection *connection);
    /* A timeout has passed: no head (NB_TIMEOUT_HEADER), or too little of a body
     * (NB_TIMEOUT_TRANSFER). */
    void (*timed_out)(nb_connections *connections, nb_connection *connection, nb_timeout_class kind);
    /* A timeout that the protocol has armed for a stream has passed, and is disarmed. NULL: it arms
     * none. */
    void (*stream_timed_out)(nb_connections *connections, nb_stream_timeout *timeout);
};

#endif
