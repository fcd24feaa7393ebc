/*
 * opening.h - a file whose name needs the disk is opened on a worker thread (document_roots.h), while its exchange waits in its
 * place and the loop goes on. What comes of it is told on the loop's thread, in a later turn.
 */
#ifndef NB_ANSWERS_OPENING_H
#define NB_ANSWERS_OPENING_H

#include <pthread.h>
#include <stdint.h>

#include "answers/document_roots.h"
#include "dispatch/exchange.h"
#include "files/open_files.h"
#include "http/turn_time.h"
#include "poll/wake.h"
#include "os/workers.h"

/* A 503's. */
#define NB_NO_DESCRIPTOR_REASON "no file can be opened now, try again"

typedef struct nb_file_wait nb_file_wait;

/* Those of one loop. */
typedef struct nb_openings {
    pthread_mutex_t lock; /* over `opened` */
    nb_file_wait *opened; /* by worker threads, for the loop to take */
    const nb_document_roots *document_roots;
    const nb_exchanges *exchanges;
    const nb_turn_time *time;
    const nb_wake *wake; /* of the loop */
    void *context;       /* given to nb_file_wait.opened */
    uint16_t loop;       /* its number */
} nb_openings;

/* A struct of the caller's that begins with this one. It stays in place until `opened` is called, once. */
struct nb_file_wait {
    nb_opening opening;
    nb_job job;
    nb_file_wait *next;
    nb_openings *openings;
    nb_exchange_id exchange;
    /* exchange NULL: nobody waits any more; `file` and `status` are then of no meaning. Else what nb_open_files_enter has
     * returned, errno as it left it. */
    void (*opened)(void *context, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file);
};

/* All fields but `lock` and `opened` are the caller's. */
void nb_openings_init(nb_openings *openings);
/* After the last nb_openings_take. */
void nb_openings_deinit(nb_openings *openings);

/* NB_FULL, NB_SYSTEM: as nb_workers_submit; `opened` is not called then. */
nb_status nb_file_wait_begin(nb_openings *openings, nb_exchange *exchange, nb_file_wait *wait, uint16_t root,
                             const nb_file_path *path);
/* What was opened since: once a turn, and at the end, when the worker threads have ended. */
void nb_openings_take(nb_openings *openings);

#endif
