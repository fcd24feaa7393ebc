/*
 * connection_internal.h - what connection.c, connection_answer.c and connection_send.c share. The loop's thread.
 */
#ifndef NB_CONNECTION_CONNECTION_INTERNAL_H
#define NB_CONNECTION_CONNECTION_INTERNAL_H

#include "connection/connection.h"
#include "answers/static.h"

/* A new last exchange; NULL when memory is out. */
nb_exchange *nb_connection_add_exchange(nb_connections *connections, nb_connection *connection);
/* The poller's interest and the timeout follow from the state; after each change of it. */
void nb_connection_follow(nb_connections *connections, nb_connection *connection);
/* Goes on with what has been read. */
void nb_connection_advance(nb_connections *connections, nb_connection *connection);
/* Nothing is asked for, nothing is owed. */
bool nb_connection_idle(const nb_connection *connection);
/* It has finished sending, and all that it waits for is not worth going on with then. */
bool nb_connection_client_left(const nb_connection *connection);
/* All but the transport is given up, and what is being sent. */
void nb_connection_leave(nb_connections *connections, nb_connection *connection);
/* It is freed at the turn's end. */
void nb_connection_bury(nb_connections *connections, nb_connection *connection);
/* It has been left while a sending was under way: ends both, when a worker has given that back. */
void nb_connection_end_sending(nb_connections *connections, nb_connection *connection, bool reset);
/* Too little moved in the window that has passed. */
bool nb_connection_is_too_slow(nb_connections *connections, nb_connection *connection);
/* It is flushed at the turn's end. */
void nb_connection_mark_dirty(nb_connections *connections, nb_connection *connection);
/* Takes ended exchanges off the front, and lets requests that waited for them go on. */
void nb_connection_settle(nb_connections *connections, nb_connection *connection);

/* The file of its body is no longer among those that the spool's budget counts. */
void nb_connection_release_spool(nb_connections *connections, nb_exchange *exchange);
/* A line of the log for a request that the loop has answered (figures/request_log.h). */
void nb_connection_log(nb_connections *connections, const nb_connection *connection, uint16_t http_status,
                       const char *reason);
/* Answers in place of the application. `exchange` NULL: a new one. close: nothing more is read of this client. */
void nb_connection_answer(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                          nb_refusal refusal, const char *extra, bool close);
/* A request that cannot be understood or is too large: answered and the connection given up, since where the next one
 * begins is not certain. */
void nb_connection_refuse(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                          nb_refusal refusal);
/* The server has more to do than it can: 503. The connection goes on when the request ended with its head. */
void nb_connection_shed(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                        const char *reason, bool close);
/* What came of looking for a file, once the request's head is consumed and, where it is logged here, its line is noted; not NB_STATIC_NONE. */
void nb_connection_searched(nb_connections *connections, nb_connection *connection, nb_exchange *exchange,
                            nb_static found);
/* OPTIONS *, where no application does (answer_asterisk). */
void nb_connection_answer_asterisk(nb_connections *connections, nb_connection *connection, nb_exchange *exchange);

#endif
