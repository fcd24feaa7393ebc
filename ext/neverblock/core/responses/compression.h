/*
 * compression.h - responses of the application, encoded on their way to the client. What the
 * request accepts is noted when it comes; the head of the response decides (compressible.h); its
 * parts are gathered for a turn and encoded at the turn's end, so that the client can decode at
 * once all that the application has written.
 *
 * Little is encoded by the loop's own thread: at most about a millisecond in a turn. More goes to
 * threads, a piece of a response at a time, in order, while the exchange waits in its place. Until
 * then it counts as not sent, so that its writer waits (nb_compression_waiting).
 *
 * Memory: an exchange has one nb_compression from the head of its response to its end. All of them,
 * with their encoders, count among the bytes of responses (nb_compressions.bytes). Where these are
 * many, further responses are not compressed.
 *
 * Threads: the loop's, unless a comment says otherwise.
 */
#ifndef NB_RESPONSES_COMPRESSION_H
#define NB_RESPONSES_COMPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/exchange.h"
#include "dispatch/routes.h"
#include "http/head.h"
#include "intake/message.h"
#include "responses/responses.h"

/* The caller has set the fields up to `wake`. */
void nb_compressions_init(nb_compressions *compressions);
/* Makes the threads, which start with the first piece. NB_NO_MEMORY. */
nb_status nb_compressions_start(nb_compressions *compressions);
/* Ends the threads. Call it when no exchange has a connection. */
void nb_compressions_deinit(nb_compressions *compressions);

/* Frees the encoders that no response uses. */
void nb_compressions_trim(nb_compressions *compressions);

/* A request has come whose response may be compressed: notes what the client accepts. secure: its
 * connection is TLS; certified: with a certificate of the client. */
void nb_compression_request(nb_exchange *exchange, const nb_head *head, nb_compress how, bool secure, bool certified);

/* A part of the response to such a request; else as nb_compose_part. */
nb_status nb_compression_part(nb_responses *responses, nb_exchange *exchange, const nb_message *part, const char *rest);
/* Encodes what the turn has brought, and what threads have encoded goes to the clients.
 * threads_only: this thread holds a lock that others want. True: some is left for the next turn. */
bool nb_compressions_step(nb_responses *responses, bool threads_only);

/* The exchange parts with its connection, or is answered otherwise. */
void nb_compression_drop(nb_exchange *exchange);
/* Bytes of the application that are not encoded yet. */
size_t nb_compression_waiting(const nb_exchange *exchange);

#endif
