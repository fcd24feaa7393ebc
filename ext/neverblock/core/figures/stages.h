/*
 * stages.h - how long the stages of requests take, as histograms of nanoseconds.
 *
 * head: first byte to whole head; body: head to whole body; queue: whole request until an executor takes it; run: until the
 * response's head is here; write: until its last byte has left to the kernel; total: first byte to last.
 *
 * They are taken down only when somebody can read them. Every function takes NULL for a loop whose stages nobody reads, and
 * does nothing then. An exchange that is not `counted` is left out. Times are those of the loop's turn. Owned by the
 * loop's thread.
 */
#ifndef NB_FIGURES_STAGES_H
#define NB_FIGURES_STAGES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/histogram.h"
#include "dispatch/exchange.h"

typedef enum nb_stage {
    NB_STAGE_HEAD,
    NB_STAGE_BODY,
    NB_STAGE_QUEUE,
    NB_STAGE_RUN,
    NB_STAGE_WRITE,
    NB_STAGE_TOTAL,
    NB_STAGES
} nb_stage;

/* A whole response that has not left whole. */
typedef struct nb_leaving nb_leaving;
struct nb_leaving {
    nb_leaving *next;
    uint64_t end; /* place of its last byte among all that the connection sends */
    int64_t began_ns, answered_ns;
};

/* Those of one connection, in the order of its responses. All zero: none. */
typedef struct nb_leaving_list {
    nb_leaving *first, *last;
} nb_leaving_list;

typedef struct nb_stages {
    nb_histogram each[NB_STAGES];
    nb_histogram lag;         /* from one look at the poller to the next: how long an event may have waited */
    int64_t polled_ns;        /* when the last poll returned; 0: before the first */
    _Atomic uint64_t answers; /* responses that have begun and not left whole */
    nb_leaving *left, *free;  /* those that left in this turn; unused ones */
    uint32_t free_count;
} nb_stages;

/* Frees what the lists hold; not `stages` itself. */
void nb_stages_deinit(nb_stages *stages);

/* The head of a request is whole. */
void nb_stages_head(nb_stages *stages, nb_exchange *exchange, int64_t now_ns);
/* Its body is. */
void nb_stages_body(nb_stages *stages, nb_exchange *exchange, int64_t now_ns);
/* A response begins. taken_ns: when an executor took its request; 0: none did. */
void nb_stages_answer(nb_stages *stages, nb_exchange *exchange, int64_t taken_ns, int64_t now_ns);
/* The exchange's response has ended. end: the place of its last byte. Without memory for the note it is not taken down. */
void nb_stages_leaving(nb_stages *stages, nb_leaving_list *list, nb_exchange *exchange, uint64_t end);
/* The connection has sent so many bytes, in all. */
void nb_stages_sent(nb_stages *stages, nb_leaving_list *list, uint64_t sent);
/* The exchange's response will not be sent any further. */
void nb_stages_dropped(nb_stages *stages, nb_exchange *exchange);
/* The connection ends: so do the responses that have not left. */
void nb_stages_connection_end(nb_stages *stages, nb_leaving_list *list);
/* Everything that could be sent in this turn was; the poller is asked next. Reads the clock when a response has left. */
void nb_stages_turn(nb_stages *stages, int64_t now_ns);

#endif
