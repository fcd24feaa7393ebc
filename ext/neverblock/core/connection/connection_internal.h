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
/* A worker still uses what is the connection's, which has ended. It stays in
 * connections->with_workers until it is taken from there. */
void nb_connection_await_worker(nb_connections *connections, nb_connection *connection, bool reset);
void nb_connection_take_from_workers(nb_connections *connections, nb_connection *connection);
/* The connection is the application's: it counts in no figure and has no timeout from here on. */
void nb_connection_leave_lists(nb_connections *connections, nb_connection *connection);
/* Reads what the client has sent, as much as there is time for in one turn. */
void nb_connection_read(nb_connections *connections, nb_connection *connection);
/* More should be read from the client now. */
bool nb_connection_wants_read(const nb_connection *connection);
/* The same, and the poller will not tell of it. */
bool nb_connection_reads_unasked(const nb_connection *connection);
/* The client has hung up: what nobody waits for any more is ended. The connection may have ended
 * then. */
void nb_connection_go_on_unheard(nb_connections *connections, nb_connection *connection);
/* Shuts down our side, where nothing is left to send. False: the client takes nothing now. The
 * connection waits for it then; call again after that. */
bool nb_connection_finish(nb_connection *connection);
/* Ends the transport and buries the connection. */
void nb_connection_close(nb_connections *connections, nb_connection *connection, bool reset);
/* Counts what a file worker has sent and was not counted. */
void nb_connection_count_worker(nb_connections *connections, nb_connection *connection);
/* It has come a moment ago, without a request yet. */
bool nb_connection_is_new(const nb_connections *connections, const nb_connection *connection);
/* Ends the sending and the transport of a connection that nb_connection_leave has ended. When a
 * file worker has the sending, that is done when it is returned. */
void nb_connection_end_sending(nb_connections *connections, nb_connection *connection, bool reset);
/* Too few bytes have moved since NB_TIMEOUT_TRANSFER was armed. */
bool nb_connection_is_too_slow(nb_connections *connections, nb_connection *connection);

/* --- TLS handshakes (connection_handshake.c) --- */

/* The connection's transport is TLS, and its state becomes NB_CONNECTION_HANDSHAKE. NB_NO_MEMORY:
 * nothing has changed. */
nb_status nb_handshake_begin(nb_connections *connections, nb_connection *connection);
/* The socket can be read or written. The connection may have ended then. */
void nb_handshake_ready(nb_connections *connections, nb_connection *connection);
/* Its time is over, also that of a PROXY header. */
void nb_handshake_timed_out(nb_connections *connections, nb_connection *connection);
/* The server drains: a client that has sent nothing is let go. */
void nb_handshake_drain(nb_connections *connections, nb_connection *connection);
/* Counts how it has ended, once. Frees it, unless a thread has it. */
void nb_handshake_end(nb_connections *connections, nb_connection *connection, nb_handshake_outcome how);
/* Frees it. No thread has it. NULL is fine. */
void nb_handshake_drop(nb_handshake *handshake);

/* --- PROXY headers (connection_proxied.c) --- */

/* The socket can be read. The connection may have ended then. */
void nb_proxied_ready(nb_connections *connections, nb_connection *connection);
/* The server drains: a client whose header is not here is let go. */
void nb_proxied_drain(nb_connections *connections, nb_connection *connection);

/* --- tunnels (connection_tunnel.c) --- */

/* Makes a tunnel of the connection, which has no exchange and nothing to send. Takes `near`, which
 * does not block. The connection may have ended then. */
void nb_tunnel_open(nb_connections *connections, nb_connection *connection, int near);

#endif
