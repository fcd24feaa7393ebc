/*
 * protocol.h - what a protocol does for a connection, as a table of functions. The connection moves bytes, keeps the
 * exchanges, waits and counts; it knows no version of HTTP. The protocol finds the requests in the bytes and makes bytes
 * of the responses.
 *
 * A protocol keeps its state of one connection in connection->session, and its state of one request in
 * exchange->protocol. Both begin zeroed; what does not fit is allocated and pointed to.
 *
 * What a protocol is offered: delivery.h (give a request on, with its body), answering.h (answers of the server's own),
 * and the last part of connection.h. All functions are called on the loop's thread.
 */
#ifndef NB_CONNECTION_PROTOCOL_H
#define NB_CONNECTION_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "answers/response_writer.h"
#include "base/status.h"
#include "connection/timeouts.h"
#include "dispatch/exchange.h"
#include "figures/counters.h"

typedef struct nb_connections nb_connections;
typedef struct nb_protocol nb_protocol;

struct nb_protocol {
    const char *name; /* as ALPN names it (RFC 7301 section 6) */
    const nb_response_writer *writer;

    /* --- life --- */

    void (*open)(nb_connection *connection);
    /* Frees what the session holds. The exchanges are gone. */
    void (*close)(nb_connection *connection);

    /* --- bytes of the client; the connection is NB_CONNECTION_OPEN --- */

    /* More of the client's bytes can be used now. */
    bool (*wants_input)(const nb_connection *connection);
    /* connection->input holds bytes, perhaps the same as before: consumes what it can. */
    void (*received)(nb_connections *connections, nb_connection *connection);
    /* The client has finished sending. It may still read. */
    void (*input_ended)(nb_connections *connections, nb_connection *connection);

    /* --- bodies of requests --- */

    /* A write of exchange->body has ended. NB_OK: there is room. NB_SYSTEM: it failed; errno. */
    void (*body_written)(nb_connections *connections, nb_exchange *exchange, nb_status status);
    /* exchange->upload may have room in its ring. */
    void (*body_room)(nb_connections *connections, nb_exchange *exchange);
    /* The application has taken some of exchange->upload, or waits for its first bytes. */
    void (*body_taken)(nb_connections *connections, nb_exchange *exchange);
    /* The request is answered in place of the application, and nothing more of its body is to be read. Called before
       the answer is written. */
    void (*body_stopped)(nb_connections *connections, nb_exchange *exchange);

    /* --- responses --- */

    /* The exchange's response has ended: all its bytes are in exchange->out. */
    void (*answered)(nb_connections *connections, nb_exchange *exchange);
    /* Before the connection sends: moves to connection->send_queue what may go now. NULL: that is done elsewhere. */
    void (*fill)(nb_connections *connections, nb_connection *connection);
    /* The connection has sent what the client takes now; nothing is owed where connection->waits is NB_WAITS_NOT. */
    void (*sent)(nb_connections *connections, nb_connection *connection);

    /* --- time and figures; the connection is NB_CONNECTION_OPEN --- */

    nb_phase (*phase)(const nb_connection *connection);
    /* What it waits for while nothing is owed to the client. */
    nb_timeout_class (*timeout_class)(const nb_connection *connection);
    /* The client has not sent a head (NB_TIMEOUT_HEADER) or enough of a body (NB_TIMEOUT_TRANSFER) in time. */
    void (*timed_out)(nb_connections *connections, nb_connection *connection, nb_timeout_class which);
};

#endif
