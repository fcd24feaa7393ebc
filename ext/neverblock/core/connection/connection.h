/*
 * connection.h - one client: what it sent and is owed. The state machine of the server; connection.c holds the only
 * switch on its state.
 *
 *   HEAD    a head is awaited or being received         -> BODY, HEAD (request given on), HOLD, LAST
 *   BODY    a body is being received                    -> HEAD, LAST, WRITING
 *   STREAM  a body is received and passed on to its request, which runs -> HEAD, LAST
 *   WRITING a file worker writes a part of the body     -> BODY, HEAD
 *   HOLD    a request waits for the ones before it (only safe ones overlap)  -> HEAD
 *   LAST    nothing more is read; what is owed is sent  -> LINGER or the end
 *   LINGER  all is sent and our side finished; the client's bytes are read and dropped, so that our answer is not lost
 * to a reset -> the end
 *
 * Owned by the loop's thread. Freed at the end of the turn in which it ends.
 */
#ifndef NB_CONNECTION_CONNECTION_H
#define NB_CONNECTION_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "answers/answers.h"
#include "base/buffer.h"
#include "http1/head_parser.h"
#include "intake/body.h"
#include "os/net.h"
#include "send/sending.h"
#include "dispatch/exchange.h"
#include "figures/counters.h"
#include "figures/downloads.h"
#include "figures/stages.h"
#include "connection/connections.h"
#include "transport/transport.h"

typedef enum nb_connection_state {
    NB_CONNECTION_HEAD,
    NB_CONNECTION_BODY,
    NB_CONNECTION_STREAM,
    NB_CONNECTION_WRITING,
    NB_CONNECTION_HOLD,
    NB_CONNECTION_LAST,
    NB_CONNECTION_LINGER,
    NB_CONNECTION_ENDED,
} nb_connection_state;

/* What sending waits for. */
typedef enum nb_waits {
    NB_WAITS_NOT,    /* nothing is owed */
    NB_WAITS_CLIENT, /* until it takes more: the poller tells */
    NB_WAITS_TURN,   /* the next one: others come first */
    NB_WAITS_WORKER, /* a file worker has it */
    NB_WAITS_RATE,   /* it has had what its rate allows */
} nb_waits;

struct nb_connection {
    nb_transport transport;
    nb_timeout timeout;
    nb_connection *previous, *next; /* of all */
    nb_connection *dirty_next;      /* in the loop's list of those to flush, or in the graveyard */
    nb_buffer input;
    nb_head_parser parser;
    nb_body *body;             /* while one is received */
    nb_upload *upload;         /* in STREAM */
    nb_exchange *first, *last; /* requests in order */
    nb_exchange *receiving;    /* the one whose body is received: `last`; in STREAM NULL once it is answered */
    nb_sending *sending;       /* the files that leave now; NULL: none */
    nb_outbox outbox;          /* what leaves after them */
    int64_t paid_until_ns;     /* by its rate (pace.h) */
    uint64_t address_key;      /* of its client, for the rate of an address; 0: not asked for yet */
    uint64_t window_bytes;     /* moved since the transfer window began */
    size_t window_queued;      /* bytes the client had not taken then */
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
    nb_leaving_list leaving;    /* responses whose last bytes are in the outbox */
    nb_peer peer;
};

/* Answers that waited for the disk; the owner is nb_connections. */
extern const nb_answers_events nb_connection_answers_events;

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
    return connection->sending || !nb_outbox_empty(&connection->outbox);
}
/* Its sending has come back from a file worker. It may have ended since. */
void nb_connection_returned(nb_connections *connections, nb_connection *connection);
/* A write of its body has ended on a file worker. */
void nb_connection_body_written(nb_connections *connections, nb_connection *connection);
/* The same, and it failed: errno. */
void nb_connection_body_failed(nb_connections *connections, nb_connection *connection);
/* Its body may be passed on again: there is room, or an executor has the request. */
void nb_connection_upload(nb_connections *connections, nb_connection *connection);
/* The application has taken some of the exchange's streamed body, and waits for more. */
void nb_connection_taken(nb_connections *connections, nb_exchange *exchange, uint64_t bytes);
/* A part of a response came from an executor, or HIJACK; rest: what follows its struct (reply.h). Takes the descriptor of a file part. */
void nb_connection_part(nb_connections *connections, nb_exchange *exchange, const nb_message *part, const char *rest);
/* The deadline of a request that no executor was given has passed: 503. */
void nb_connection_overdue(nb_connections *connections, nb_exchange *exchange);
/* The executor of a request is no more: 502, or the end of the connection when a response has begun. True: that. The exchange is no
   executor's any more. */
bool nb_connection_lost(nb_connections *connections, nb_exchange *exchange);
/* There is no executor for a request that waited: 503. */
void nb_connection_unavailable(nb_connections *connections, nb_exchange *exchange);
/* Sends what there is; the turn's end. */
void nb_connection_flush(nb_connections *connections, nb_connection *connection);
/* The server drains: ends it when it is idle, else after what is under way. */
void nb_connection_drain(nb_connections *connections, nb_connection *connection);
/* Ends it now; reset: with an RST. Its requests go on and their responses are dropped. */
void nb_connection_end(nb_connections *connections, nb_connection *connection, bool reset);
/* At the turn's end. */
void nb_connection_free(nb_connections *connections, nb_connection *connection);

static inline nb_connection *nb_connection_of_timeout(nb_timeout *timeout) {
    return (nb_connection *)(void *)((char *)timeout - offsetof(nb_connection, timeout));
}

#endif
