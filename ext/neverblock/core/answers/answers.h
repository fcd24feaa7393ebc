/*
 * answers.h - what the answers of one loop are made with, and how an answer that waited for the
 * disk comes back to its connection.
 *
 * Ownership: all pointers are borrowed from the loop. Threads: the loop's thread.
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

/* Whether a file of the served folders answers a request. */
typedef enum nb_static_result {
    NB_STATIC_NONE,     /* no: the request is the application's */
    NB_STATIC_ANSWERED, /* yes: the exchange has ended */
    /* Not known yet, the disk is needed: nb_answers_events.static_result tells in a later turn. */
    NB_STATIC_WAITS,
    NB_STATIC_BUSY,   /* no descriptor is free, or too many requests wait for the disk: 503 */
    NB_STATIC_FAILED, /* out of memory: end the connection */
} nb_static_result;

/* Called in a later turn than the request came in. The exchange has a connection. */
typedef struct nb_answers_events {
    /* A file that the application has named (named.h) is answered. NB_NO_MEMORY: end the
     * connection. */
    void (*named_answered)(void *owner, nb_exchange *exchange, nb_status status);
    /* The search of the served folders (static.h) has ended. result: never NB_STATIC_WAITS.
     * message: the request; the function takes it. */
    void (*static_result)(void *owner, nb_exchange *exchange, nb_static_result result, nb_request_message *message);
} nb_answers_events;

typedef struct nb_answers {
    const nb_answers_events *events;
    void *owner; /* first argument of the events */
    const nb_turn_time *time;
    /* The server drains: the last response of a connection announces its end. */
    const _Atomic bool *drains;
    nb_pool *pool;
    nb_counters *counters;
    nb_stages *stages; /* NULL: no stages are measured */
    nb_downloads *downloads;
    nb_reports *reports;
    nb_log *log; /* NULL: no log */
    const nb_document_roots *document_roots;
    nb_openings openings;
} nb_answers;

/* The open files of the loop. NULL: the server has no document root. */
static inline nb_open_files *nb_answers_files(const nb_answers *answers) {
    return nb_document_roots_files(answers->document_roots, answers->openings.loop);
}

#endif
