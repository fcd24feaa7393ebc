/*
 * answering.h - what goes back to a client: parts of responses that executors send, and answers in the place of an
 * application. The loop's thread.
 */
#ifndef NB_CONNECTION_ANSWERING_H
#define NB_CONNECTION_ANSWERING_H

#include "connection/connection.h"

/* --- for protocols --- */

/* A whole answer of the server's own, logged. extra: complete field lines, or "". The exchange has ended then, and the
   protocol has been told (answered); where memory is out the connection has ended. */
void nb_answer_own(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal, const char *extra);
/* A request that cannot be understood or is too large. It counts as refused, and its body is forgotten. */
void nb_answer_refused(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal);
/* The server has more to do than it can: 503. reason NULL: it is busy. stop: nothing more of the request's body is read. */
void nb_answer_busy(nb_connections *connections, nb_exchange *exchange, const char *reason, bool stop);
/* OPTIONS *, where no application does (answer_asterisk; RFC 9110 section 9.3.7). */
void nb_answer_asterisk(nb_connections *connections, nb_exchange *exchange);
/* A line of the log for a request that the loop has answered (figures/request_log.h). */
void nb_answer_log(nb_connections *connections, const nb_connection *connection, uint16_t http_status,
                   const char *reason);

/* --- for the loop --- */

/* A part of a response came from an executor, or HIJACK; rest: what follows its struct (reply.h). Takes the descriptor of
   a file part. */
void nb_answer_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part, const char *rest);
/* The deadline of a request that no executor was given has passed: 503. */
void nb_answer_expired(nb_connections *connections, nb_exchange *exchange);
/* There is no executor for a request that waited: 503. */
void nb_answer_unavailable(nb_connections *connections, nb_exchange *exchange);
/* The executor of a request is no more: 502, or the end of the connection when a response has begun. True: that. The
   exchange is no executor's any more. */
bool nb_answer_lost(nb_connections *connections, nb_exchange *exchange);

#endif
