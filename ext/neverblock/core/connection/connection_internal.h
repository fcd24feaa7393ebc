/*
 * connection_internal.h - what connection.c and connection_send.c share. The loop's thread.
 */
#ifndef NB_CONNECTION_CONNECTION_INTERNAL_H
#define NB_CONNECTION_CONNECTION_INTERNAL_H

#include "connection/connection.h"

/* All but the transport is given up, and what is being sent. */
void nb_connection_leave(nb_connections *connections, nb_connection *connection);
/* It is freed at the turn's end. */
void nb_connection_bury(nb_connections *connections, nb_connection *connection);
/* It has been left while a sending was under way: ends both, when a worker has given that back. */
void nb_connection_end_sending(nb_connections *connections, nb_connection *connection, bool reset);
/* Too little moved in the window that has passed. */
bool nb_connection_is_too_slow(nb_connections *connections, nb_connection *connection);

#endif
