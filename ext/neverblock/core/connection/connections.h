/*
 * connections.h - the connections of one loop: the state that they share, and what they borrow of
 * their loop.
 *
 * Threads: the loop's thread, except for atomic members.
 */
#ifndef NB_CONNECTION_CONNECTIONS_H
#define NB_CONNECTION_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "responses/responses.h"
#include "connection/protocol.h"
#include "connection/timeouts.h"
#include "connection/upload.h"
#include "dispatch/dispatch.h"
#include "dispatch/lanes.h"
#include "dispatch/routes.h"
#include "http/head.h"
#include "intake/body.h"
#include "poll/poll.h"
#include "send/pace.h"
#include "send/sending.h"

typedef struct nb_handshake nb_handshake;

/* What the handshakes of a loop share (connection_handshake.c). */
typedef struct nb_handshakes {
    nb_workers *workers;
    uint32_t under_way, under_way_max;
    int64_t spent_ns; /* for light steps in this turn */
    void (*returned)(nb_handshake *handshake);
} nb_handshakes;

/* A connection that was accepted. */
typedef struct nb_accepted {
    int fd;
    uint16_t listener; /* number of the listener */
    bool admin;        /* it came to an admin listener */
    bool redirects;    /* its requests are sent to https (settings.redirect_port) */
    bool proxied;      /* it begins with a header of the PROXY protocol */
    nb_peer peer;
    struct nb_tls_context *tls; /* NULL: a plain connection */
} nb_accepted;

/* Copied from nb_server_config (loop/settings.h), which explains each. */
typedef struct nb_connection_settings {
    uint64_t body_bytes_max, send_rate;
    uint32_t header_bytes_max, body_timeout_ms, request_timeout_ms, rate_min, redirect_port;
    uint32_t http2_streams_max, http2_resets_max, http2_frames_max;
    bool cancel_on_disconnect, answer_asterisk, front;
    bool revocable;   /* requests may be cancelled at an admin listener */
    uint8_t compress; /* nb_compress */
} nb_connection_settings;

/* Calls upward, to the folders that connections do not include. */
typedef struct nb_connections_events {
    /* Answers a request to an admin listener. The exchange has ended then, unless it is an event
     * stream. authority: see nb_respond_admin. NB_NO_MEMORY: end the connection. */
    nb_status (*answer_admin)(void *owner, nb_exchange *exchange, nb_slice authority);
    /* Sends the next events of these streams. */
    void (*tell_admin)(void *owner);
} nb_connections_events;

struct nb_connections {
    /* --- the connections' own --- */

    nb_connection_settings settings;
    const nb_protocol *protocol; /* of new connections */
    const nb_protocol *http2;    /* of those that ask for it; NULL: it is not offered */
    nb_head_limits head_limits;
    nb_timeouts timeouts;
    nb_exchanges exchanges;
    nb_spool spool;
    nb_senders senders;
    nb_handshakes handshakes;
    nb_uploads uploads;
    nb_request_log request_log;
    nb_head head;           /* scratch: valid within one step of one connection */
    nb_connection *open;    /* of clients */
    nb_connection *admin;   /* to admin listeners */
    nb_connection *tunnels; /* hijacked (connection_tunnel.c) */
    nb_connection *dirty;   /* to be flushed at the turn's end */
    /* ended in this turn; freed at its end, as they may still be on the stack */
    nb_connection *graveyard;
    nb_connection *with_workers; /* ended, but a worker still has their sending or handshake */
    uint32_t admin_count;
    bool draining; /* idle connections end */
    /* This turn runs on a thread that holds Ruby's lock, which others want: it sends no files. */
    bool without_files;
    _Atomic bool files_due; /* files were left for another turn */
    /* Connections of clients. opened: given to this loop, counted by the first loop. closed: ended
     * by this loop. */
    _Atomic uint64_t opened, closed;
    int64_t unstored_told_ns;  /* nb_log_due: a request body could not be stored */
    int64_t shrunk_told_ns;    /* nb_log_due: a file became shorter while it was sent */
    int64_t unproxied_told_ns; /* nb_log_due: a connection began without its PROXY header */

    /* --- borrowed from the loop --- */

    const nb_connections_events *events;
    void *owner; /* first argument of the events */
    const nb_turn_time *time;
    nb_poll *poll;
    nb_pool *pool;
    nb_log *log; /* NULL: no log */
    nb_dispatch *dispatch;
    nb_lanes *lanes;
    const nb_routes *routes;
    struct nb_challenges *challenges;
    nb_address_paces *address_paces; /* NULL: no limit */
    nb_responses *responses;
    nb_counters *counters;
    nb_downloads *downloads;
};

/* Open connections of clients, with those on their way to this loop. Any thread. */
static inline uint64_t nb_connections_count(const nb_connections *connections) {
    return nb_counted(&connections->opened) - nb_counted(&connections->closed);
}

/* returned: called on a thread of the pool, for each step that has been taken. */
nb_status nb_handshakes_init(nb_handshakes *handshakes, uint32_t workers, uint32_t under_way_max,
                             void (*returned)(nb_handshake *handshake));
/* Ends the threads. Steps that wait for one are returned. */
void nb_handshakes_stop(nb_handshakes *handshakes);

#endif
