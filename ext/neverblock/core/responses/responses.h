/*
 * responses.h - what the responses of one loop are made with, and how one that waited for the
 * disk comes back to its connection.
 *
 * Ownership: all pointers are borrowed from the loop. Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_RESPONSES_H
#define NB_RESPONSES_RESPONSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "responses/compressible.h"
#include "responses/opening.h"
#include "responses/document_roots.h"
#include "base/log.h"
#include "base/pool.h"
#include "coding/encoder.h"
#include "metrics/counters.h"
#include "metrics/downloads.h"
#include "metrics/reports.h"
#include "metrics/request_log.h"
#include "metrics/stages.h"
#include "http/turn_time.h"

/* Whether a file of the served folders answers a request. */
typedef enum nb_static_result {
    NB_STATIC_NONE,     /* no: the request is the application's */
    NB_STATIC_ANSWERED, /* yes: the exchange has ended */
    /* Not known yet, the disk is needed: nb_responses_events.static_result tells it later. */
    NB_STATIC_WAITS,
    NB_STATIC_BUSY,   /* no descriptor is free, or too many requests wait for the disk: 503 */
    NB_STATIC_FAILED, /* out of memory: end the connection */
} nb_static_result;

typedef struct nb_compression nb_compression;

/* The refused links that the log has told of. After these, one line a minute (nb_log_due). */
#define NB_TOLD_LINKS_MAX 32u

typedef struct nb_told_links {
    uint32_t each[NB_TOLD_LINKS_MAX]; /* hashes of paths */
    uint16_t count;
    int64_t told_ns;
} nb_told_links;

/* The compressed responses of one loop. */
typedef struct nb_compressions {
    const nb_compress_types *types;
    uint64_t bytes_min; /* smaller contents are sent as they are */
    uint64_t bytes_max; /* of memory: beyond it no further response is compressed */
    unsigned level;     /* nb_encoder_create */
    unsigned threads;
    const nb_wake *wake; /* wakes the loop */
    nb_workers *workers;
    nb_compression *due, *due_last; /* with bytes to encode */
    nb_encoder *idle[NB_ENCODING_COUNT][NB_WINDOWS];
    uint64_t idle_bytes;      /* of `idle` */
    uint64_t bytes;           /* of memory, now */
    pthread_mutex_t lock;     /* protects `returned` */
    nb_compression *returned; /* added by threads, taken by the loop */
} nb_compressions;

/* Called in a later turn than the request came in. The exchange has a connection. */
typedef struct nb_responses_events {
    /* A file that the application has named (named.h) is answered. NB_NO_MEMORY: end the
     * connection. */
    void (*named_answered)(void *owner, nb_exchange *exchange, nb_status status);
    /* A piece of a response was encoded and is in exchange->out, perhaps its last. NB_NO_MEMORY:
     * end the connection. */
    void (*encoded)(void *owner, nb_exchange *exchange, nb_status status);
    /* The search of the served folders (static.h) has ended. result: never NB_STATIC_WAITS.
     * message: the request; the function takes it. */
    void (*static_result)(void *owner, nb_exchange *exchange, nb_static_result result, nb_request_message *message);
} nb_responses_events;

typedef struct nb_responses {
    const nb_responses_events *events;
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
    nb_compressions compressions;
    nb_told_links told_links;
} nb_responses;

/* The open files of the loop. NULL: the server has no document root. */
static inline nb_open_files *nb_responses_files(const nb_responses *responses) {
    return nb_document_roots_files(responses->document_roots, responses->openings.loop);
}

#endif
