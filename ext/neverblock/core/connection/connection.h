/*
 * connection.h - one client: its transport, the bytes it has sent and is owed, and its exchanges. What the bytes mean is
 * its protocol's business (protocol.h).
 *
 *   OPEN    the protocol reads                          -> LAST
 *   LAST    nothing more is read; what is owed is sent  -> LINGER or the end
 *   LINGER  all is sent and our side finished; the client's bytes are read and dropped, so that our answer is not lost
 *           to a reset (RFC 9112 section 9.6)           -> the end
 *
 * Owned by the loop's thread. Freed at the end of the turn in which it ends.
 */
#ifndef NB_CONNECTION_CONNECTION_H
#define NB_CONNECTION_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "answers/answers.h"
#include "base/buffer.h"
#include "os/net.h"
#include "send/sending.h"
#include "dispatch/exchange.h"
#include "figures/counters.h"
#include "figures/downloads.h"
#include "figures/stages.h"
#include "connection/connections.h"
#include "connection/protocol.h"
#include "transport/transport.h"

typedef enum nb_connection_state {
    NB_CONNECTION_OPEN,
    NB_CONNECTION_LAST,
    NB_CONNECTION_LINGER,
    NB_CONNECTION_ENDED,
} nb_connection_state;

/* Of a protocol's state of one connection. */
#define NB_SESSION_WORDS 6

/* What sending waits for. */
typedef enum nb_waits {
    NB_WAITS_NOT,    /* nothing is owed */
    NB_WAITS_CLIENT, /* until it takes more: the poller tells */
    NB_WAITS_TURN,   /* the next one: others come first */
    NB_WAITS_WORKER, /* a file worker has it */
    NB_WAITS_RATE,   /* it has had what its rate allows */
} nb_waits;

struct nb_connection {
    const nb_protocol *protocol;
    nb_transport transport;
    nb_timeout timeout;
    nb_connection *previous, *next; /* of all */
    nb_connection *dirty_next;      /* in the loop's list of those to flush, or in the graveyard */
    nb_buffer input;                /* what the client has sent and the protocol not used */
    nb_exchange *first, *last;      /* requests in order */
    nb_sending *sending;            /* the files that leave now; NULL: none */
    nb_send_queue send_queue;       /* what leaves after them */
    int64_t paid_until_ns;          /* by its rate (pace.h) */
    uint64_t address_key;           /* of its client, for the rate of an address; 0: not asked for yet */
    uint64_t window_bytes;          /* moved since the transfer window began */
    size_t window_queued;           /* bytes the client had not taken then */
    nb_connection_state state;
    uint16_t in_flight, listener;
    uint8_t interest; /* what the poller watches for */
    uint8_t phase;    /* nb_phase it is counted under */
    uint8_t waits;    /* nb_waits */
    bool dirty, read_ended, served, refused, reset;
    bool writable;    /* the poller has told so since the last attempt */
    bool returned;    /* a worker has given `sending` back, and what its last step wants was not looked at yet */
    bool admin;       /* its requests are answered by admin.h, and count nowhere */
    int64_t began_ns; /* when the first byte of the head came that is awaited or received */
    uint64_t sent;    /* bytes, since the start */
    nb_download_list downloads; /* of files whose last bytes are owed */
    nb_leaving_list leaving;    /* responses whose last bytes are in the send queue */
    nb_peer peer;
    uint64_t session[NB_SESSION_WORDS]; /* private to the protocol */
};

/* What it does now. */
nb_phase nb_connection_phase(const nb_connection *connection);
/* Takes fd. Who gives it has counted it as open. admin: it came to an admin listener. */
void nb_connection_open(nb_connections *connections, int fd, const nb_peer *peer, uint16_t listener, bool admin);
/* The poller told NB_POLL_ events. */
void nb_connection_ready(nb_connections *connections, nb_connection *connection, uint32_t events);
/* Its timeout of class `queue` has come (and is disarmed). */
void nb_connection_timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class queue);
/* Bytes of responses that have not left. */
uint64_t nb_connection_owed(const nb_connection *connection);
static inline bool nb_connection_owes(const nb_connection *connection) {
    return connection->sending || !nb_send_queue_empty(&connection->send_queue);
}
/* Its sending has come back from a file worker. It may have ended since. */
void nb_connection_returned(nb_connections *connections, nb_connection *connection);
/* Goes on with what has been read. */
void nb_connection_receive(nb_connections *connections, nb_connection *connection);
/* Nothing is asked for, nothing is owed. */
bool nb_connection_is_idle(const nb_connection *connection);
/* Sends what there is; the turn's end. */
void nb_connection_flush(nb_connections *connections, nb_connection *connection);
/* The server drains: ends it when it is idle, else after what is under way. */
void nb_connection_drain(nb_connections *connections, nb_connection *connection);
/* Ends it now; reset: with an RST. Its requests go on and their responses are dropped. */
void nb_connection_end(nb_connections *connections, nb_connection *connection, bool reset);
/* At the turn's end. */
void nb_connection_free(nb_connections *connections, nb_connection *connection);

/* --- for its protocol --- */

/* A new last exchange, its bytes going to its own send queue; NULL when memory is out. */
nb_exchange *nb_connection_add_exchange(nb_connections *connections, nb_connection *connection);
/* The exchange's response is whole in connection->send_queue, or was cut there: the exchange leaves the connection. */
void nb_connection_drop_exchange(nb_connections *connections, nb_exchange *exchange);
/* The client wants the exchange no more: it leaves the connection, and its executor is told GONE. */
void nb_connection_abort_exchange(nb_connections *connections, nb_exchange *exchange);
/* All exchanges leave the connection, whatever has become of them. Their executors are told GONE. */
void nb_connection_abort_exchanges(nb_connections *connections, nb_connection *connection);
/* The request's body cannot be had: its executor is told GONE, for `reason`. A new exchange takes its place, for the
   same request, which no executor has. NULL when memory is out: then none does. */
nb_exchange *nb_connection_replace_exchange(nb_connections *connections, nb_exchange *exchange, nb_gone_reason reason);
/* The poller's interest and the timeout follow from the state; after each change of it. */
void nb_connection_follow(nb_connections *connections, nb_connection *connection);
/* It is flushed at the turn's end. */
void nb_connection_mark_dirty(nb_connections *connections, nb_connection *connection);
/* The client has not taken much of what it is owed: nothing more of it should be read. */
bool nb_connection_answers_pile_up(const nb_connection *connection);
/* A writer that waits for the exchange's backlog goes on, if `owed` bytes of it are few enough. */
void nb_connection_tell_drained(nb_connections *connections, nb_exchange *exchange, uint64_t owed);
/* The exchange's executor takes the connection: what was read and not used goes with the descriptor, other requests are
   given up. */
void nb_connection_hand_over(nb_connections *connections, nb_exchange *exchange);
/* Its client has finished sending, and all that it waits for is not worth going on with then. */
bool nb_connection_client_left(const nb_connection *connection);
/* The file of the exchange's body is no longer among those that the spool's budget counts. */
void nb_connection_release_spool(nb_connections *connections, nb_exchange *exchange);

static inline nb_connection *nb_connection_of_timeout(nb_timeout *timeout) {
    return (nb_connection *)(void *)((char *)timeout - offsetof(nb_connection, timeout));
}

#endif
