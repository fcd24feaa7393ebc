/*
 * exchange.h - a request and its response, from the moment its head is accepted until both the client's connection and
 * the executor are done with it. Exchanges live in a table, so that an id that comes back from an executor finds its
 * exchange, or finds it gone.
 *
 * A connection keeps its exchanges in the order of the requests. Where an exchange's bytes go is its protocol's to say
 * (connection/protocol.h). An exchange whose connection has ended (connection NULL) stays until the executor has sent
 * its last part. Owned by the loop's thread.
 */
#ifndef NB_DISPATCH_EXCHANGE_H
#define NB_DISPATCH_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "dispatch/response.h"
#include "intake/message.h"
#include "send/send_queue.h"

typedef struct nb_connection nb_connection;
typedef struct nb_exchange nb_exchange;

#define NB_CHANNEL_NONE UINT16_MAX

/* A connection on its way to the executor that hijacks it. */
typedef struct nb_handover {
    int fd;
    size_t size; /* bytes read of it that no request took */
    char bytes[];
} nb_handover;

struct nb_exchange {
    uint32_t index, generation; /* index: with the loop's number, as in its id */
    nb_connection *connection;
    nb_exchange *previous;    /* the connection's request before this one */
    nb_exchange *next;        /* the connection's next request, or the next free slot */
    nb_exchange *news_next;   /* in a channel's list of news that found the ring full */
    nb_send_queue send_queue; /* bytes of its response that its connection may not send yet */
    nb_send_queue *out;       /* where its bytes go now: that one, or its connection's; NULL: it has no connection */
    const struct nb_response_writer *writer; /* its connection's protocol's */
    nb_response response;
    struct nb_body *body;     /* owned: while the request's body is received before the request is given on (body.h) */
    struct nb_upload *upload; /* owned: while it is passed on as it comes (upload.h) */
    uint64_t protocol[2];     /* private to its connection's protocol: how its response is framed, its stream */
    /* When its first byte came, its last, and the response's head; the last two 0: not there, or nobody wants to know. */
    int64_t began_ns, complete_ns, answered_ns;
    struct nb_waiting *waiting; /* its place in the queue for an executor; NULL: it has none */
    /* While it is not known that its executor has begun with it (dispatch.h): its place in that channel's list, its
       record in the ring, where that ends, its size, and when it was put there. record NULL: it is not listed. */
    nb_exchange *given_previous, *given_next;
    nb_request_message *record;
    uint64_t record_end;
    uint32_t record_bytes;
    int64_t given_ns;
    nb_handover *handover;    /* owned; NULL: none */
    nb_send_by send_by;       /* its files */
    struct nb_report *report; /* owned: of its download with a name; NULL: none (reports.h) */
    uint64_t
        download_bytes;   /* of the file its response carries; 0: none, or it is noted where it leaves (downloads.h) */
    uint64_t spooled;     /* bytes of the spool's budget its body's file holds */
    uint16_t gone_reason; /* nb_gone_reason, with gone_due */
    uint16_t lane;        /* whose queue and executors are for it (dispatch.h) */
    uint16_t channel;     /* among the lane's; NB_CHANNEL_NONE until it was given to an executor */
    bool counted;         /* in the figures: a client's, not one of the admin pages */
    bool asterisk;        /* OPTIONS *, and the server itself answers it (answer_asterisk) */
    bool cancellable;     /* a client that leaves ends the request (cancel_on_disconnect) */
    bool head_sent;       /* the response has begun */
    bool ended;           /* the last part came */
    bool truncated;       /* the connection must end after what is there, without a clean end of the body */
    bool tell_drained;    /* the writer waits for DRAINED */
    bool hijack;          /* the executor wants the connection */
    bool drained_due, left_due, left, gone_due, in_news;
    int body_fd; /* its body's file, while it is listed: in a front our own of what the worker has too; -1 */
    char line[NB_EXCHANGE_LINE_BYTES]; /* beginning of the request line, in a front; "" else */
};

typedef struct nb_exchanges {
    nb_exchange **slots;
    uint32_t count, capacity, live;
    nb_exchange *free;
    uint16_t loop;      /* its number, 0 where nobody has set it */
    uint64_t unspooled; /* bytes of the spool's budget that some still held at their end: for the loop to take off */
} nb_exchanges;

void nb_exchanges_init(nb_exchanges *exchanges);
/* Frees all; send queues must be empty. */
void nb_exchanges_deinit(nb_exchanges *exchanges);
/* A new exchange, zeroed but for its place; NULL when memory is out. */
nb_exchange *nb_exchange_create(nb_exchanges *exchanges);
/* Its send queue must be empty; a handover that nobody took is closed. The id is never right again. */
void nb_exchange_destroy(nb_exchanges *exchanges, nb_exchange *exchange);
static inline nb_exchange_id nb_exchange_id_of(const nb_exchange *exchange) {
    return ((nb_exchange_id)exchange->generation << 32) | exchange->index;
}
/* Closes what is left of a handover that nobody took. */
void nb_exchange_drop_handover(nb_exchange *exchange);
/* NULL when it is gone. */
nb_exchange *nb_exchange_find(const nb_exchanges *exchanges, nb_exchange_id id);

#endif
