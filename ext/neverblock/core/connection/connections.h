/*
 * connections.h - the connections of one loop: what they share, and what of the loop they are served with. The first part is
 * the connections' own; what is pointed to is borrowed. Owned by the loop's thread, but for what is atomic.
 */
#ifndef NB_CONNECTION_CONNECTIONS_H
#define NB_CONNECTION_CONNECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answers/answers.h"
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

/* Of nb_server_config (server/server.h), which says what they mean. */
typedef struct nb_connection_settings {
    uint64_t body_bytes_max, send_rate;
    uint32_t header_bytes_max, body_timeout_ms, request_timeout_ms, rate_min;
    bool cancel_on_disconnect, answer_asterisk, front;
} nb_connection_settings;

/* What a connection asks of those above it. */
typedef struct nb_connections_events {
    /* A request to an admin listener is answered: the exchange has ended. NB_NO_MEMORY: the connection must be ended. */
    nb_status (*answer_admin)(void *owner, nb_exchange *exchange);
} nb_connections_events;

struct nb_connections {
    nb_connection_settings settings;
    const nb_protocol *protocol; /* of connections that begin */
    nb_head_limits head_limits;
    nb_timeouts timeouts;
    nb_exchanges exchanges;
    nb_spool spool;
    nb_senders senders;
    nb_uploads uploads;
    nb_request_log request_log;
    nb_head head;                /* the one being looked at; valid within one step */
    nb_connection *open;         /* all open ones of clients */
    nb_connection *admin;        /* and those to admin listeners */
    nb_connection *dirty;        /* those with something to flush at the turn's end */
    nb_connection *graveyard;    /* ended in this turn; freed at its end, since others may still hold them */
    nb_connection *with_workers; /* ended, and a file worker still sends for them */
    uint32_t admin_count;
    bool draining;          /* one that is idle ends */
    bool without_files;     /* who runs this turn holds a lock that others want: files are left for another turn */
    _Atomic bool files_due; /* some were */
    _Atomic uint64_t opened, closed; /* of clients: given to this loop, counted by the first one; ended, by this one */
    int64_t unstored_told_ns;        /* nb_log_due: a request body could not be stored */
    int64_t shrunk_told_ns;          /* nb_log_due: a file became shorter while it was sent */

    const nb_connections_events *events;
    void *owner; /* given to them */
    const nb_turn_time *time;
    nb_poll *poll;
    nb_pool *pool;
    nb_log *log; /* NULL: no log */
    nb_dispatch *dispatch;
    nb_lanes *lanes;
    const nb_routes *routes;
    nb_address_paces *address_paces; /* NULL: no limit */
    nb_answers *answers;
    nb_counters *counters;
    nb_downloads *downloads;
};

/* Open connections of clients, those on their way to this loop included. Any thread. */
static inline uint64_t nb_connections_count(const nb_connections *connections) {
    return nb_counted(&connections->opened) - nb_counted(&connections->closed);
}

#endif
