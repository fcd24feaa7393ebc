/*
 * http1_session.h - HTTP/1.0 and HTTP/1.1 as the protocol of a connection (connection/protocol.h;
 * RFC 9112). Requests follow each other, and responses leave in their order. Bytes of the first
 * exchange go to the connection's send queue; those of the others wait in their own.
 *
 *   HEAD     a head is awaited or received             -> BODY, STREAM, HEAD, WAITING
 *   BODY     a body is collected                       -> HEAD, WRITING
 *   STREAM   a body is passed on to a request that runs; after its answer the rest is read and
 *            dropped                                   -> HEAD
 *   WRITING  a worker writes a part of the body to its file   -> BODY
 *   WAITING  a request waits for earlier ones: only safe requests overlap   -> HEAD
 *
 * In every state the connection becomes NB_CONNECTION_LAST when the client or a response says that
 * no request follows.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_PROTOCOLS_HTTP1_SESSION_H
#define NB_PROTOCOLS_HTTP1_SESSION_H

#include "connection/connection.h"
#include "http1/body_decoder.h"
#include "http1/head_parser.h"
#include "http1/head_writer.h"

extern const nb_protocol nb_http1;

/* --- between http1_session.c and http1_response.c --- */

typedef enum nb_http1_state {
    NB_HTTP1_HEAD,
    NB_HTTP1_BODY,
    NB_HTTP1_STREAM,
    NB_HTTP1_WRITING,
    NB_HTTP1_WAITING,
} nb_http1_state;

/* The body that is received. */
typedef struct nb_http1_input {
    nb_body_decoder decoder;
    bool expected;      /* the client waits for 100 (Continue), which is not sent yet */
    bool dropped;       /* the request is answered: the rest is read and dropped */
    uint64_t drop_left; /* bytes of input that may still be dropped */
} nb_http1_input;

typedef struct nb_http1_session {
    nb_head_parser parser;
    /* Whose body is received: the last one. NULL in STREAM once it is answered. */
    nb_exchange *receiving;
    nb_http1_input *input; /* owned; NULL but in BODY, WRITING and STREAM */
    uint8_t state;         /* nb_http1_state */
    bool counted;          /* among the connections that speak HTTP/1.1 */
} nb_http1_session;

/* Of one exchange. */
typedef struct nb_http1_exchange {
    uint8_t minor_version; /* of the request */
    /* It may run beside other requests of its connection (RFC 9110 section 9.2.1, no body). */
    bool safe;
    bool keep_alive; /* another request may follow, by the request and so far by the server */
    bool goes_on;    /* set with the response head: another request is served after it */
    uint8_t framing; /* set with the response head: nb_response_body */
} nb_http1_exchange;

extern const nb_response_writer nb_http1_writer;

static inline nb_http1_session *nb_http1_session_of(nb_connection *connection) {
    _Static_assert(sizeof(nb_http1_session) <= sizeof(connection->session), "NB_SESSION_WORDS");
    return (nb_http1_session *)(void *)connection->session;
}

static inline nb_http1_exchange *nb_http1_exchange_of(nb_exchange *exchange) {
    _Static_assert(sizeof(nb_http1_exchange) <= sizeof(exchange->protocol_state), "nb_exchange.protocol_state");
    return (nb_http1_exchange *)(void *)exchange->protocol_state;
}

/* The rest of the body is small enough to be read and dropped, as far as is known. If not, the
 * connection ends with the answer. */
bool nb_http1_can_drop(const nb_http1_input *input);

#endif
