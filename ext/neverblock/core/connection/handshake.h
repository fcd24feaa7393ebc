/*
 * handshake.h - TLS handshakes of a loop's connections. Their steps compute: with some keys for a
 * millisecond. So native threads take the steps, and the loop serves other connections meanwhile.
 *
 * Way of one: nb_handshake_begin when the connection was accepted; nb_handshake_ready when the
 * socket has something, which hands the step to a thread; the thread passes it back to the loop,
 * which calls nb_handshake_returned. In the end the connection is open, or has ended.
 *
 * Bounds: `under_way_max` handshakes that have begun (a client that has sent nothing has not), the
 * timeout NB_TIMEOUT_HANDSHAKE for each from accept to its end, and the number of threads.
 *
 * Threads: the loop's, unless a comment says otherwise.
 */
#ifndef NB_CONNECTION_HANDSHAKE_H
#define NB_CONNECTION_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "connection/connections.h"
#include "os/workers.h"
#include "transport/transport.h"

struct nb_handshake {
    nb_job job;
    nb_handshake *next; /* in the list of returned ones */
    nb_handshakes *handshakes;
    nb_connection *connection;
    nb_tls_facts facts;
    nb_status status;
    bool begun;       /* it counts as under way */
    bool counted;     /* among counters->handshakes */
    bool with_worker; /* a thread takes a step: it alone uses the transport */
};

/* returned: called on a thread of the pool, for each step that has been taken. */
nb_status nb_handshakes_init(nb_handshakes *handshakes, uint32_t workers, uint32_t under_way_max,
                             void (*returned)(nb_handshake *handshake));
/* Ends the threads. Steps that wait for one are returned. */
void nb_handshakes_stop(nb_handshakes *handshakes);

/* The connection's transport is TLS, and its state becomes NB_CONNECTION_HANDSHAKE. NB_NO_MEMORY:
 * nothing has changed. */
nb_status nb_handshake_begin(nb_connections *connections, nb_connection *connection);
/* The socket can be read or written. The connection may have ended then. */
void nb_handshake_ready(nb_connections *connections, nb_connection *connection);
/* A thread has taken a step. */
void nb_handshake_returned(nb_connections *connections, nb_handshake *handshake);
/* Its time is over. */
void nb_handshake_timed_out(nb_connections *connections, nb_connection *connection);
/* The server drains: a client that has sent nothing is let go. */
void nb_handshake_drain(nb_connections *connections, nb_connection *connection);
/* Counts how it has ended, once. Frees it, unless a thread has it. */
void nb_handshake_end(nb_connections *connections, nb_connection *connection, nb_handshake_outcome how);
/* Frees it. No thread has it. NULL is fine. */
void nb_handshake_drop(nb_handshake *handshake);

#endif
