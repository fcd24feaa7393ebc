/*
 * connection_internal.h - what connection.c and connection_send.c share. Threads: the loop's
 * thread.
 */
#ifndef NB_CONNECTION_CONNECTION_INTERNAL_H
#define NB_CONNECTION_CONNECTION_INTERNAL_H

#include "connection/connection.h"

/* Releases everything but the transport and the sending. The connection is ENDED then. */
void nb_connection_leave(nb_connections *connections, nb_connection *connection);
/* Puts it into the graveyard: it is freed at the turn's end. */
void nb_connection_bury(nb_connections *connections, nb_connection *connection);
/* Ends the sending and the transport of a connection that nb_connection_leave has ended. When a
 * file worker has the sending, that is done when it is returned. */
void nb_connection_end_sending(nb_connections *connections, nb_connection *connection, bool reset);
/* Too few bytes have moved since NB_TIMEOUT_TRANSFER was armed. */
bool nb_connection_is_too_slow(nb_connections *connections, nb_connection *connection);

#endif
