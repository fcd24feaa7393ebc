/*
 * http1_session.h - HTTP/1.0 and HTTP/1.1 as the protocol of a connection (connection/protocol.h; RFC 9112). Requests come
 * one behind the other, and responses leave in their order: the first exchange's bytes go to the connection's send queue,
 * those of the others wait in their own.
 *
 *   HEAD    a head is awaited or being received         -> BODY, STREAM, HEAD (request given on), WAITING
 *   BODY    a body is being collected                   -> HEAD, WRITING
 *   STREAM  a body is passed on to its request, which runs; once that is answered the rest is read and dropped -> HEAD
 *   WRITING a file worker writes a part of the body     -> BODY
 *   WAITING a request waits for the ones before it (only safe ones overlap)  -> HEAD
 *
 * Where the client or the response says that no request follows the connection becomes NB_CONNECTION_LAST, whatever the
 * state.
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

/* A body on its way. */
typedef struct nb_http1_input {
    nb_body_decoder decoder;
    bool expected;      /* the client waits for 100 (Continue), which was not sent */
    bool dropped;       /* nobody takes it any more */
    uint64_t drop_left; /* bytes of input that are still read for nothing */
} nb_http1_input;

typedef struct nb_http1_session {
    nb_head_parser parser;
    nb_exchange *receiving; /* the one whose body is received: the last. In STREAM NULL once it is answered */
    nb_http1_input *input;  /* owned: in BODY, WRITING and STREAM; else NULL */
    uint8_t state;          /* nb_http1_state */
} nb_http1_session;

/* Of one exchange. */
typedef struct nb_http1_exchange {
    uint8_t minor_version; /* of the request */
    bool safe;             /* it may run beside others of its connection (RFC 9110 section 9.2.1, no body) */
    bool keep_alive;       /* the request allows another one behind it, and so far the server wants it */
    bool goes_on;          /* from its response's head on: another request is served after it */
    uint8_t framing;       /* likewise: nb_response_body */
} nb_http1_exchange;

extern const nb_response_writer nb_http1_writer;

static inline nb_http1_session *nb_http1_session_of(nb_connection *connection) {
    _Static_assert(sizeof(nb_http1_session) <= sizeof(connection->session), "NB_SESSION_WORDS");
    return (nb_http1_session *)(void *)connection->session;
}

static inline nb_http1_exchange *nb_http1_exchange_of(nb_exchange *exchange) {
    _Static_assert(sizeof(nb_http1_exchange) <= sizeof(exchange->protocol), "nb_exchange.protocol");
    return (nb_http1_exchange *)(void *)exchange->protocol;
}

/* The rest of the body that is received may be read and dropped, as far as is known: else the connection ends with the
   answer. */
bool nb_http1_can_drop(const nb_http1_input *input);

#endif
