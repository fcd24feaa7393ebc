/*
 * stages.h - how long the stages of requests take, as histograms of nanoseconds.
 *
 * head: first byte to complete head. body: head to complete body. queue: complete request until an
 * executor takes it. run: from then until the response's head. write: until the kernel has its
 * last byte. total: first byte to last.
 *
 * Stages are measured only where somebody can read them. Every function takes NULL for a loop
 * whose stages nobody reads, and then does nothing. An exchange that is not `counted` is left out.
 * Times are those of the loop's turn.
 *
 * Threads: the loop's.
 */
#ifndef NB_METRICS_STAGES_H
#define NB_METRICS_STAGES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/histogram.h"
#include "dispatch/exchange.h"
#include "metrics/exemplars.h"

typedef enum nb_stage {
    NB_STAGE_HEAD,
    NB_STAGE_BODY,
    NB_STAGE_QUEUE,
    NB_STAGE_RUN,
    NB_STAGE_WRITE,
    NB_STAGE_TOTAL,
    NB_STAGES
} nb_stage;

/* A complete response that has not been sent completely. */
typedef struct nb_leaving nb_leaving;
struct nb_leaving {
    nb_leaving *next;
    uint64_t end;         /* position of its last byte in all that the connection sends */
    uint64_t sent_before; /* of its exchange */
    int64_t began_ns, answered_ns;
    nb_trace_id trace; /* of its request; none: 0 */
};

/* The leaving responses of one connection, in order. All zero: none. */
typedef struct nb_leaving_list {
    nb_leaving *first, *last;
} nb_leaving_list;

typedef struct nb_stages {
    nb_histogram each[NB_STAGES];
    nb_exemplars exemplars;     /* of `total` */
    nb_histogram lag;           /* time between two polls: how long an event may have waited */
    int64_t polled_ns;          /* when the last poll returned; 0: before the first */
    _Atomic uint64_t under_way; /* responses that have begun and were not sent completely */
    nb_leaving *left, *free;    /* responses that left in this turn; free notes */
    uint32_t free_count;
} nb_stages;

/* Frees what the lists hold, and not `stages` itself. */
void nb_stages_deinit(nb_stages *stages);

/* The head of a request is complete. */
void nb_stages_head(nb_stages *stages, nb_exchange *exchange, int64_t now_ns);
/* The request's traceparent is that of an exemplar of its duration. */
void nb_stages_trace(const nb_stages *stages, nb_exchange *exchange, const nb_head *head);
/* Its body is complete. */
void nb_stages_body(nb_stages *stages, nb_exchange *exchange, int64_t now_ns);
/* A response begins. taken_ns: when an executor took the request; 0: none did. */
void nb_stages_answer(nb_stages *stages, nb_exchange *exchange, int64_t taken_ns, int64_t now_ns);
/* The exchange's response has ended. end: position of its last byte. Without memory for the note it
   is not measured. */
void nb_stages_leaving(nb_stages *stages, nb_leaving_list *list, nb_exchange *exchange, uint64_t end);
/* The connection has sent `sent` bytes in all. */
void nb_stages_sent(nb_stages *stages, nb_leaving_list *list, uint64_t sent);
/* The exchange's response is not sent any further. */
void nb_stages_dropped(nb_stages *stages, nb_exchange *exchange);
/* The connection ends, and with it the responses that were not sent completely. */
void nb_stages_connection_end(nb_stages *stages, nb_leaving_list *list);
/* All that could be sent in this turn was sent; the poll comes next. Reads the clock only if a
   response has left. */
void nb_stages_turn(nb_stages *stages, int64_t now_ns);

#endif
