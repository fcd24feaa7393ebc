/*
 * delivery.h - gives a request to an executor: finds its route and limits, lets a file answer it,
 * prepares its body. Called by protocols.
 *
 *   nb_delivery_begin
 *     NB_REQUEST_WHOLE      call nb_delivery_head, nb_delivery_finish
 *     NB_REQUEST_COLLECTED  exchange->body takes the body; then call nb_delivery_body,
 *                           nb_delivery_finish
 *     NB_REQUEST_STREAMED   an executor has the request, and exchange->upload takes the body; then
 *                           call nb_connection_end_body
 *     NB_REQUEST_REFUSED    the request is answered; its body is not read
 *
 * Call nb_delivery_finish last, when the protocol has noted that the request is complete and has
 * consumed its bytes: it may call the protocol's `answered`.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_CONNECTION_DELIVERY_H
#define NB_CONNECTION_DELIVERY_H

#include "responses/responses.h"
#include "connection/connection.h"
#include "intake/request.h"

typedef enum nb_request_kind {
    NB_REQUEST_WHOLE,
    NB_REQUEST_COLLECTED,
    NB_REQUEST_STREAMED,
    NB_REQUEST_REFUSED,
} nb_request_kind;

/* What became of the request. */
typedef enum nb_delivery {
    NB_DELIVERED,          /* an executor has it, or it waits: in the queue, or for the disk */
    NB_DELIVERY_ANSWERED,  /* a file has answered it */
    NB_DELIVERY_OWN,       /* the server itself answers it (OPTIONS *) */
    NB_DELIVERY_NO_ROOM,   /* 503: the queue is full */
    NB_DELIVERY_NO_FILE,   /* 503: no file can be opened */
    NB_DELIVERY_NO_MEMORY, /* 503, and nothing more of the body is read */
    NB_DELIVERY_FAILED,    /* out of memory in the middle of an answer: the connection ends */
} nb_delivery;

/* A new exchange's head has been parsed. The protocol sets head, raw, host, has_body, body_bytes
 * and upgrade of `facts`; this function sets the rest. */
nb_request_kind nb_delivery_begin(nb_connections *connections, nb_exchange *exchange, nb_request_facts *facts);
/* Gives on a request without a body. */
nb_delivery nb_delivery_head(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts);
/* Gives on a request with exchange->body, which is complete. */
nb_delivery nb_delivery_body(nb_connections *connections, nb_exchange *exchange);
/* Answers the request where the delivery says so. */
void nb_delivery_finish(nb_connections *connections, nb_exchange *exchange, nb_delivery delivery);
/* The collected body cannot be stored: NB_NO_MEMORY, NB_FULL (of the spool), NB_SYSTEM (errno). The
 * request is answered 503, and nothing more of the client is read. */
void nb_delivery_body_failed(nb_connections *connections, nb_exchange *exchange, nb_status status);

/* --- for the loop --- */

/* For answers that waited for the disk. Their owner is nb_connections. */
extern const nb_responses_events nb_delivery_response_events;
/* The application has read `bytes` of the exchange's streamed body in all, and waits for more. */
void nb_delivery_taken(nb_connections *connections, nb_exchange *exchange, uint64_t bytes);

#endif
