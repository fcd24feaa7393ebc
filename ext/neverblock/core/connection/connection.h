/*
 * connection.h - one client: its transport, the bytes read from it and to be sent to it, and its
 * exchanges. What the bytes mean is decided by its protocol (protocol.h).
 *
 *   PROXIED    its PROXY header is read (connection_proxied.c)  -> HANDSHAKE, OPEN or ENDED
 *   HANDSHAKE  of TLS (connection_handshake.c)                         -> OPEN or ENDED
 *   OPEN    the protocol reads                              -> LAST
 *   LAST    nothing more is read; the rest is sent          -> LINGER or ENDED
 *   LINGER  all is sent, and our side of the socket is shut down. Bytes of the client are read and
 *           dropped, so that no reset destroys our answer (RFC 9112 section 9.6)   -> ENDED
 *   ENDED   nothing may be done with it
 *
 * Owner: the loop (nb_connections). Memory: freed at the end of the turn in which it ends, or when
 * a file worker has returned its sending. Threads: the loop's thread.
 */
#ifndef NB_CONNECTION_CONNECTION_H
#define NB_CONNECTION_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "responses/responses.h"
#include "base/buffer.h"
#include "os/net.h"
#include "send/sending.h"
#include "dispatch/exchange.h"
#include "metrics/counters.h"
#include "metrics/downloads.h"
#include "metrics/stages.h"
#include "connection/connections.h"
#include "connection/protocol.h"
#include "transport/transport.h"

typedef enum nb_connection_state {
    NB_CONNECTION_PROXIED,
    NB_CONNECTION_HANDSHAKE,
    NB_CONNECTION_OPEN,
    NB_CONNECTION_LAST,
    NB_CONNECTION_LINGER,
    NB_CONNECTION_ENDED,
} nb_connection_state;

/* Words of 8 bytes for a protocol's state of one connection. */
#define NB_SESSION_WORDS 6

/* What sending waits for. */
typedef enum nb_waits {
    NB_WAITS_NOT,    /* nothing is left to send */
    NB_WAITS_CLIENT, /* the client takes no more now; the poller tells when it does */
    NB_WAITS_TURN,   /* the next turn: other clients come first */
    NB_WAITS_WORKER, /* a file worker has the sending */
    NB_WAITS_RATE,   /* its rate allows no more bytes now */
} nb_waits;

struct nb_connection {
    const nb_protocol *protocol;
    nb_transport transport;
    nb_timeout timeout;
    nb_connection *previous, *next; /* in nb_connections.open, .admin, .tunnels or .with_workers */
    nb_connection *dirty_next;      /* in nb_connections.dirty or .graveyard */
    nb_buffer input;                /* read from the client, not consumed by the protocol */
    nb_exchange *first, *last;      /* requests, oldest first */
    nb_sending *sending;            /* owned: the files being sent now; NULL: none */
    nb_handshake *handshake;        /* owned; NULL: done, or a plain connection */
    nb_send_queue send_queue;       /* what is sent after them */
    int64_t paid_until_ns;          /* of its rate (send/pace.h) */
    uint64_t address_key;           /* for the rate of an address; 0: not computed yet */
    /* Bytes moved since NB_TIMEOUT_TRANSFER was armed: sent, and received unless the client is
     * waited for. */
    uint64_t window_bytes;
    size_t window_queued; /* bytes in the socket's send buffer at that time */
    nb_connection_state state;
    uint16_t in_flight;                 /* exchanges */
    uint16_t listener;                  /* number of the listener that accepted it */
    uint8_t interest;                   /* NB_POLL_ events that the poller watches for */
    uint8_t phase;                      /* nb_phase that it is counted under */
    uint8_t waits;                      /* nb_waits */
    bool dirty;                         /* in nb_connections.dirty */
    bool read_ended;                    /* the client has finished sending */
    bool had_request;                   /* a request was read, also one that was refused */
    bool body_unread;                   /* bytes of a body may follow that nobody reads: linger */
    bool reset;                         /* ends with an RST */
    bool writable;                      /* the poller has said so since the last attempt to send */
    bool returned;                      /* a worker has returned `sending`, not followed up yet */
    nb_tls_agreement tls;               /* for the log */
    uint8_t looked;                     /* number of the last look at it (loop/slow_clients) */
    bool admin;                         /* it came to an admin listener, and counts in no figure */
    bool redirects;                     /* its requests are sent to https */
    bool tunnel;                        /* hijacked (connection_tunnel.c): it counts in no figure */
    bool hung_up;                       /* its client is gone: not in the poller */
    nb_peer peer;                       /* leaves no gap here */
    int64_t began_ns;                   /* when the first byte of the current head came */
    uint64_t sent;                      /* bytes, since the connection began */
    nb_download_list downloads;         /* file responses whose last byte is not sent */
    nb_leaving_list leaving;            /* responses whose last byte is in send_queue */
    uint64_t session[NB_SESSION_WORDS]; /* private to the protocol */
};

/* For a handshake or a first request in a drain. A client that has connected sends at once. */
#define NB_FIRST_REQUEST_NS INT64_C(1000000000)

/* The phase to count it under. */
nb_phase nb_connection_phase(const nb_connection *connection);
/* Takes the descriptor, and shares the TLS context. The caller has counted the connection as
 * open. */
void nb_connection_open(nb_connections *connections, const nb_accepted *accepted);
/* Its handshake is done: the protocol begins. */
void nb_connection_start(nb_connections *connections, nb_connection *connection);
/* The poller reported NB_POLL_ events. */
void nb_connection_ready(nb_connections *connections, nb_connection *connection, uint32_t events);
/* Its timeout of class `kind` has passed, and is disarmed. */
void nb_connection_timed_out(nb_connections *connections, nb_connection *connection, nb_timeout_class kind);
/* The same of one of its streams (NB_TIMEOUT_STREAM, NB_TIMEOUT_STREAM_RATE). */
void nb_connection_stream_timed_out(nb_connections *connections, nb_stream_timeout *timeout);
/* Bytes of responses that are not sent. */
uint64_t nb_connection_owed(const nb_connection *connection);
static inline bool nb_connection_owes(const nb_connection *connection) {
    return connection->sending || !nb_send_queue_empty(&connection->send_queue);
}
/* A worker has returned the handshake of a connection that has ended: closes it. */
void nb_connection_returned_after_end(nb_connections *connections, nb_connection *connection);
/* A file worker has returned its sending. The connection may have ended meanwhile. */
void nb_connection_returned(nb_connections *connections, nb_connection *connection);
/* A request was read: when the connection is followed, its time for the next head, or between
 * requests, begins anew. */
void nb_connection_renew_timeout(nb_connections *connections, nb_connection *connection);
/* Gives the protocol what was read, again. */
void nb_connection_receive(nb_connections *connections, nb_connection *connection);
/* It has no request, and nothing to send. */
bool nb_connection_is_idle(const nb_connection *connection);
/* Sends what there is. Called at the turn's end. */
void nb_connection_flush(nb_connections *connections, nb_connection *connection);
/* The server drains: the connection ends now if it is idle, else after its requests. A new one has
 * NB_FIRST_REQUEST_NS for its first request, as the client has had no sign that it may not come. */
void nb_connection_drain(nb_connections *connections, nb_connection *connection);
/* Ends it now; reset: with an RST. Its requests go on, and their responses are dropped. */
void nb_connection_end(nb_connections *connections, nb_connection *connection, bool reset);
/* Called at the turn's end, for each connection of the graveyard. */
void nb_connection_free(nb_connections *connections, nb_connection *connection);

/* --- TLS handshakes (connection_handshake.c says more) --- */

struct nb_handshake {
    nb_job job;
    nb_handshake *next; /* in the list of returned ones */
    nb_handshakes *handshakes;
    nb_connection *connection;
    nb_tls_facts facts;
    nb_status status;
    bool begun;       /* it has needed a thread, and counts as under way */
    bool counted;     /* among counters->handshakes */
    bool with_worker; /* a thread takes a step: it alone uses the transport */
};

/* A thread has taken a step. */
void nb_handshake_returned(nb_connections *connections, nb_handshake *handshake);

/* --- tunnels (connection_tunnel.c says more) --- */

/* The poller has reported events of `near`. */
void nb_tunnel_ready(nb_connections *connections, nb_connection *connection, uint32_t events);
/* `near`; -1: closed. */
int nb_tunnel_near(const nb_connection *connection);

/* `near` is in the poller under the cookie of its connection with the lowest bit set. */
static inline bool nb_tunnel_is_cookie(uint64_t cookie) { return cookie & 1; }
static inline nb_connection *nb_tunnel_of_cookie(uint64_t cookie) {
    return (nb_connection *)(uintptr_t)(cookie & ~UINT64_C(1));
}

/* --- for its protocol --- */

/* Adds an exchange at the end of the list. Its bytes go to its own send queue. NULL: out of
 * memory. */
nb_exchange *nb_connection_add_exchange(nb_connections *connections, nb_connection *connection);
/* All of the exchange's response is in connection->send_queue, or it was truncated there. The
 * exchange leaves the connection. */
void nb_connection_drop_exchange(nb_connections *connections, nb_exchange *exchange);
/* The client does not want the response. The exchange leaves the connection, and its executor is
 * told GONE. */
void nb_connection_abort_exchange(nb_connections *connections, nb_exchange *exchange);
/* The same for all exchanges. */
void nb_connection_abort_exchanges(nb_connections *connections, nb_connection *connection);
/* The request's body cannot be received: its executor is told GONE with `reason`. Returns a new
 * exchange for the same request, which no executor has. NULL: out of memory, and neither has
 * one. */
nb_exchange *nb_connection_replace_exchange(nb_connections *connections, nb_exchange *exchange, nb_gone_reason reason);
/* Another protocol takes over, and is given what was read. There is no exchange yet. */
void nb_connection_change_protocol(nb_connections *connections, nb_connection *connection, const nb_protocol *protocol);
/* Sets the poller's interest and the timeout by the state. Call it after each change of the
 * state. */
void nb_connection_follow(nb_connections *connections, nb_connection *connection);
/* The connection will be flushed at the turn's end. */
void nb_connection_mark_dirty(nb_connections *connections, nb_connection *connection);
/* The client leaves much unread of what was sent: nothing more should be read from it. */
bool nb_connection_answers_pile_up(const nb_connection *connection);
/* How many of the `most` (> 0) bytes that are left of a file the rates allow now: `rate` of whoever
 * has *paid_until_ns (send/pace.h; 0: none), and the rate of the client's address. They are paid
 * for before they are sent, so that no other connection of the address uses the same bytes.
 * UINT64_MAX: no rate holds. */
uint64_t nb_connection_reserve(nb_connections *connections, nb_connection *connection, int64_t *paid_until_ns,
                               uint64_t rate, uint64_t most);
/* Tells the writer of the exchange to go on if it waits, and `owed` bytes are few enough of the
 * response window. */
void nb_connection_tell_drained(nb_connections *connections, nb_exchange *exchange, uint64_t owed);
/* Logs why a download breaks off: somebody writes its file in place. NULL: it is not known. */
void nb_connection_tell_shrunk(nb_connections *connections, const nb_file *file);
/* The exchange's executor takes the connection (hijack): descriptor and unconsumed bytes become the
 * exchange's handover. Other requests are aborted. A connection of TLS becomes a tunnel, and the
 * executor takes its other end. */
void nb_connection_hand_over(nb_connections *connections, nb_exchange *exchange);
/* The client has finished sending, and all its requests are cancelled by that. */
bool nb_connection_client_left(const nb_connection *connection);
/* The file of the exchange's body no longer counts against the spool's budget. */
void nb_connection_release_spool(nb_connections *connections, nb_exchange *exchange);
/* The request's body is complete or given up: frees what has received it, collected or streamed. */
void nb_connection_end_body(nb_connections *connections, nb_exchange *exchange);

static inline nb_stream_timeout *nb_stream_timeout_of(nb_timeout *timeout) {
    return (nb_stream_timeout *)(void *)((char *)timeout - offsetof(nb_stream_timeout, timeout));
}

static inline nb_connection *nb_connection_of_timeout(nb_timeout *timeout) {
    return (nb_connection *)(void *)((char *)timeout - offsetof(nb_connection, timeout));
}

#endif
