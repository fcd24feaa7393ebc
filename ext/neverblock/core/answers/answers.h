/*
 * answers.h - what the answers of one loop are made with, and how an answer that had to wait for the disk comes back to whom
 * it is for. All that is pointed to is borrowed from the loop, whose thread alone uses it.
 */
#ifndef NB_ANSWERS_ANSWERS_H
#define NB_ANSWERS_ANSWERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answers/opening.h"
#include "answers/document_roots.h"
#include "base/log.h"
#include "base/pool.h"
#include "figures/counters.h"
#include "figures/downloads.h"
#include "figures/reports.h"
#include "figures/request_log.h"
#include "figures/stages.h"
#include "http/turn_time.h"

/* What has come of looking for a file among the served folders. */
typedef enum nb_static_result {
    NB_STATIC_NONE,     /* it is the application's request */
    NB_STATIC_ANSWERED, /* the exchange has ended */
    NB_STATIC_WAITS,    /* for the disk: nb_answers_events.static_result tells, in a later turn */
    NB_STATIC_BUSY,     /* neither descriptors nor room for another that waits: 503 */
    NB_STATIC_FAILED,   /* out of memory: the connection must be ended */
} nb_static_result;

/* Called in a later turn than the one that asked. The exchange has a connection. */
typedef struct nb_answers_events {
    /* A named file (named.h) has been answered. NB_NO_MEMORY: the connection must be ended. */
    void (*named_answered)(void *owner, nb_exchange *exchange, nb_status status);
    /* A search of the served folders (static.h) has ended; never NB_STATIC_WAITS. message: the request, owned by the function
     * from here on. */
    void (*static_result)(void *owner, nb_exchange *exchange, nb_static_result found, nb_request_message *message);
} nb_answers_events;

typedef struct nb_answers {
    const nb_answers_events *events;
    void *owner; /* given to them */
    const nb_turn_time *time;
    const _Atomic bool *drains; /* the last response of a connection says that it ends */
    nb_pool *pool;
    nb_counters *counters;
    nb_stages *stages; /* NULL: nobody reads them */
    nb_downloads *downloads;
    nb_reports *reports;
    nb_log *log; /* NULL: no log */
    const nb_document_roots *document_roots;
    nb_openings openings;
} nb_answers;

/* The files that the loop has open; NULL: the server knows no folder. */
static inline nb_open_files *nb_answers_files(const nb_answers *answers) {
    return nb_document_roots_files(answers->document_roots, answers->openings.loop);
}

#endif
