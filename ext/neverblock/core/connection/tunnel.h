/*
 * tunnel.h - a connection whose bytes only the loop can read and write (TLS), and which the
 * application has hijacked. The application gets one end of a pair of sockets. The loop moves
 * bytes between the other end, `near`, and the client.
 *
 * Backpressure goes both ways: what one side does not take stops the reading from the other. The
 * application may shut down its sending side, and so may the client; each is passed on.
 *
 * The connection counts as none of the server's any more: no timeout, no limit and no drain waits
 * for it. It ends with the application's socket, its client, or the server.
 *
 * Threads: the loop's.
 */
#ifndef NB_CONNECTION_TUNNEL_H
#define NB_CONNECTION_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "connection/connections.h"

/* Makes a tunnel of the connection, which has no exchange and nothing to send. Takes `near`, which
 * does not block. The connection may have ended then. */
void nb_tunnel_open(nb_connections *connections, nb_connection *connection, int near);
/* The connection ends. */
void nb_tunnel_end(nb_connections *connections, nb_connection *connection);
/* The poller has reported events of `near`. */
void nb_tunnel_ready(nb_connections *connections, nb_connection *connection, uint32_t events);
/* `near`; -1: closed. */
int nb_tunnel_near(const nb_connection *connection);

/* `near` is in the poller under the cookie of its connection with the lowest bit set. */
static inline bool nb_tunnel_is_cookie(uint64_t cookie) { return cookie & 1; }
static inline nb_connection *nb_tunnel_of_cookie(uint64_t cookie) {
    return (nb_connection *)(uintptr_t)(cookie & ~UINT64_C(1));
}

#endif
