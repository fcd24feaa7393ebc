/*
 * responding.h - what goes back to a client: parts of responses that executors send, and
 * responses of the server in place of an application.
 *
 * After each function the connection may have ended: when memory is out it does.
 * Threads: the loop's thread.
 */
#ifndef NB_CONNECTION_RESPONDING_H
#define NB_CONNECTION_RESPONDING_H

#include "connection/connection.h"

/* --- for protocols --- */

/* The server's own answer, with a line of the log. extra: complete field lines, or "". The exchange
 * has ended then, and the protocol's `answered` has been called. */
void nb_respond_own(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal, const char *extra);
/* Answers a request that is invalid or too large. It counts as refused, and its body is dropped. */
void nb_respond_refused(nb_connections *connections, nb_exchange *exchange, nb_refusal refusal);
/* 503: the server has too much to do. reason: NULL says that it is busy. stop: nothing more of the
 * request's body is read. */
void nb_respond_busy(nb_connections *connections, nb_exchange *exchange, const char *reason, bool stop);
/* Answers OPTIONS * (setting answer_asterisk; RFC 9110 section 9.3.7). */
void nb_respond_asterisk(nb_connections *connections, nb_exchange *exchange);
/* Answers the request of connections->head, which came to an admin listener. authority: of its Host
 * or target; empty: none. True: the protocol drops what is left of the request, and calls its
 * `answered`. False: the connection has ended. */
bool nb_respond_admin(nb_connections *connections, nb_exchange *exchange, nb_slice authority);
/* Writes a response that sends the client to the same target on https (setting redirect_port): 301,
 * or 308 for a method other than GET and HEAD, which a client would change (RFC 9110 section
 * 15.4.2); 400 without a Host. The exchange has ended then. NB_NO_MEMORY: end the connection. */
nb_status nb_compose_redirect(nb_connections *connections, nb_exchange *exchange, const nb_request_facts *facts);
/* Logs a request that the loop has answered (metrics/request_log.h). */
void nb_respond_log(nb_connections *connections, const nb_connection *connection, uint16_t http_status,
                    const char *reason);

/* --- for the loop --- */

/* An executor sent a part of a response, or HIJACK. rest: the bytes behind the part's struct
 * (compose.h). Takes the descriptor of a file part. */
void nb_respond_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part, const char *rest);
/* The deadline of a request has passed, and no executor has it: 503. */
void nb_respond_expired(nb_connections *connections, nb_exchange *exchange);
/* There is no executor for a request that waited: 503. */
void nb_respond_unavailable(nb_connections *connections, nb_exchange *exchange);
/* The executor of a request has died. The request is answered 502; if its response has begun, the
 * connection ends, and the answer is true. The exchange no longer has an executor. */
bool nb_respond_lost(nb_connections *connections, nb_exchange *exchange);

#endif
