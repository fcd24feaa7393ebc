/*
 * exchange.h - a request and its response, from the moment its head is accepted until the client's
 * connection and the executor are both done with it.
 *
 * Exchanges live in a table. An id that comes back from an executor finds its exchange, or finds
 * that it is gone. A connection keeps its exchanges in the order of the requests. The connection's
 * protocol decides where an exchange's bytes go (connection/protocol.h). An exchange whose
 * connection has ended (connection NULL) stays until the executor has sent its last part.
 *
 * Threads: all of it belongs to the loop's thread. Times are monotonic nanoseconds.
 */
#ifndef NB_DISPATCH_EXCHANGE_H
#define NB_DISPATCH_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "http/response.h"
#include "http/trace_context.h"
#include "intake/message.h"
#include "send/send_queue.h"

typedef struct nb_connection nb_connection;
typedef struct nb_exchange nb_exchange;

#define NB_CHANNEL_NONE UINT16_MAX

/* A connection on its way to the executor that hijacks it. */
typedef struct nb_handover {
    int fd;
    size_t size; /* bytes already read from it that belong to no request */
    char bytes[];
} nb_handover;

struct nb_exchange {
    uint32_t index, generation; /* index: slot and number of the loop, as in the id */
    nb_connection *connection;
    nb_exchange *previous;    /* the connection's request before this one */
    nb_exchange *next;        /* the connection's next request, or the next free slot */
    nb_exchange *notice_next; /* next in the channel's list of notices that found the ring full */
    nb_send_queue send_queue; /* bytes of the response that the connection may not send yet */
    /* Where its bytes go now: `send_queue`, or its connection's send queue; NULL: no connection. */
    nb_send_queue *out;
    const struct nb_response_writer *writer; /* of its connection's protocol */
    nb_response response;
    /* Owned while the body is received before the request is passed on (body.h). */
    struct nb_body *body;
    struct nb_upload *upload; /* owned while the body is passed on as it comes (upload.h) */
    /* Private to the connection's protocol: framing of the response, its stream. */
    uint64_t protocol_state[2];
    /* When the first byte came, the last byte, and the response's head. The last two are 0 until
       then, and when nobody measures. */
    int64_t began_ns, complete_ns, answered_ns;
    uint64_t sent_before;       /* bytes that its connection had sent or queued when it came */
    nb_trace_id trace;          /* of its traceparent, where somebody measures; none: 0 */
    struct nb_waiting *waiting; /* its place in the queue; NULL: it does not wait there */
    /* Handed and not known to be begun with (dispatch.h): neighbours in the channel's list, the
       record in the ring, the record's end and size, and when it was handed. record NULL: it is not
       listed. */
    nb_exchange *handed_previous, *handed_next;
    nb_request_message *record;
    uint64_t record_end;
    uint32_t record_bytes;
    int64_t handed_ns;
    nb_handover *handover; /* owned; NULL: none */
    /* Owned: its response while that is encoded (responses/compression.h); NULL. */
    struct nb_compression *compression;
    /* Owned: its If-None-Match, where that has a weak tag and its response may be compressed. */
    char *weak_tags;
    nb_send_by send_by;       /* how its files are sent */
    struct nb_report *report; /* owned: the report of a named download (reports.h); NULL */
    /* Bytes of the file that the response carries; 0: none, or counted where it is sent
       (downloads.h). */
    uint64_t download_bytes;
    uint64_t spooled;     /* bytes of the spool's budget that the body's file holds */
    uint16_t gone_reason; /* nb_gone_reason, with gone_due */
    uint16_t lane;        /* the lane that runs it (dispatch.h) */
    /* Index among the lane's channels; NB_CHANNEL_NONE until it is handed to an executor. */
    uint16_t channel;
    bool counted;     /* a client's request, counted in the metrics; not one of the admin pages */
    bool shed;        /* it is refused with 503, as there is no room for it */
    bool asterisk;    /* OPTIONS *, answered by the server itself (answer_asterisk) */
    bool cancellable; /* the request ends when its client leaves (cancel_on_disconnect) */
    bool head_sent;   /* the response has begun */
    bool compresses;  /* its response may be compressed */
    bool guarded;     /* only if that is public (nb_compress_is_guarded) */
    uint8_t accepts;  /* nb_encoding that the client prefers, of those there are */
    bool ended;       /* the last part came */
    /* The connection must end after what is there, as the body has no clean end. */
    bool truncated;
    bool tell_drained; /* the writer waits for DRAINED */
    bool hijack;       /* the executor wants the connection */
    bool drained_due, left_due, left, cancel_due, cancelled, gone_due, in_notices;
    /* The body's file while the exchange is listed; -1. In a front: our descriptor beside the
       worker's own. */
    int body_fd;
    char line[NB_EXCHANGE_LINE_BYTES]; /* start of the request line, in a front; else empty */
};

typedef struct nb_exchanges {
    nb_exchange **slots;
    uint32_t count, capacity, live;
    nb_exchange *free;
    uint16_t loop; /* number of the loop; 0 by default */
    /* Bytes of the spool's budget held by exchanges that have ended; the loop returns them. */
    uint64_t unspooled;
} nb_exchanges;

void nb_exchanges_init(nb_exchanges *exchanges);
/* Frees all exchanges. Their send queues must be empty. */
void nb_exchanges_deinit(nb_exchanges *exchanges);
/* A new exchange, zeroed but for its slot. NULL: no memory. */
nb_exchange *nb_exchange_create(nb_exchanges *exchanges);
/* Its send queue must be empty. A handover that was not taken is closed. The id is never valid
   again. */
void nb_exchange_destroy(nb_exchanges *exchanges, nb_exchange *exchange);
/* No executor says anything more of it: it has ended, or its response is the server's own to
   complete, as when that waits for a file or for a compressor. */
static inline bool nb_exchange_is_left_alone(const nb_exchange *exchange) {
    return exchange->ended || exchange->channel == NB_CHANNEL_NONE;
}
static inline nb_exchange_id nb_exchange_id_of(const nb_exchange *exchange) {
    return ((nb_exchange_id)exchange->generation << 32) | exchange->index;
}
/* Closes the connection of a handover that was not taken. */
void nb_exchange_drop_handover(nb_exchange *exchange);
/* NULL: the exchange is gone. */
nb_exchange *nb_exchange_find(const nb_exchanges *exchanges, nb_exchange_id id);

#endif
