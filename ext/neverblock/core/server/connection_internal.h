/*
 * connection_internal.h - what connection.c and connection_answer.c share. The loop's thread.
 */
#ifndef NB_SERVER_CONNECTION_INTERNAL_H
#define NB_SERVER_CONNECTION_INTERNAL_H

#include "server/connection.h"
#include "server/loop.h"

/* A new last exchange; NULL when memory is out. */
nb_exchange *nb_connection_add_exchange(nb_loop *loop, nb_connection *connection);
/* It is flushed at the turn's end. */
void nb_connection_mark_dirty(nb_loop *loop, nb_connection *connection);
/* Takes ended exchanges off the front, and lets requests that waited for them go on. */
void nb_connection_settle(nb_loop *loop, nb_connection *connection);

/* The file of its body is no longer among those that the spool's budget counts. */
void nb_connection_release_spool(nb_loop *loop, nb_exchange *exchange);
/* Answers in place of the application. `exchange` NULL: a new one. close: nothing more is read of this client. */
void nb_connection_answer(nb_loop *loop, nb_connection *connection, nb_exchange *exchange, nb_refusal refusal,
                          const char *extra, bool close);
/* A request that cannot be understood or is too large: answered and the connection given up, since where the next one
 * begins is not certain. */
void nb_connection_refuse(nb_loop *loop, nb_connection *connection, nb_exchange *exchange, nb_refusal refusal);
/* The server has more to do than it can: 503. The connection goes on when the request ended with its head. */
void nb_connection_shed(nb_loop *loop, nb_connection *connection, nb_exchange *exchange, const char *reason,
                        bool close);
/* OPTIONS *. */
void nb_connection_answer_asterisk(nb_loop *loop, nb_connection *connection, nb_exchange *exchange);

#endif
