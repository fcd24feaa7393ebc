/*
 * opening.h - opens a file whose name is not in memory on a worker thread, while its exchange waits
 * and the loop goes on. The result is told on the loop's thread, in a later turn.
 *
 * Threads: the loop's thread.
 */
#ifndef NB_RESPONSES_OPENING_H
#define NB_RESPONSES_OPENING_H

#include <pthread.h>
#include <stdint.h>

#include "responses/document_roots.h"
#include "dispatch/exchange.h"
#include "files/open_files.h"
#include "http/turn_time.h"
#include "poll/wake.h"
#include "os/workers.h"

/* The reason of a 503. */
#define NB_NO_DESCRIPTOR_REASON "no file can be opened now, try again"

typedef struct nb_file_wait nb_file_wait;

/* The files that are being opened for one loop. */
typedef struct nb_openings {
    pthread_mutex_t lock; /* protects `opened` */
    nb_file_wait *opened; /* added by worker threads, taken by the loop */
    const nb_document_roots *document_roots;
    const nb_exchanges *exchanges;
    const nb_turn_time *time;
    const nb_wake *wake; /* wakes the loop */
    void *context;       /* first argument of nb_file_wait.opened */
    uint16_t loop;       /* the loop's number */
} nb_openings;

/* The caller's struct begins with this one and stays in place until `opened` is called. It is
 * called once. */
struct nb_file_wait {
    nb_opening opening;
    nb_job job;
    nb_file_wait *next;
    nb_openings *openings;
    nb_exchange_id exchange;
    /* exchange NULL: the client has left, and status and file have no meaning. Else status and file
     * are those of nb_open_files_enter, and errno is as it left it. */
    void (*opened)(void *context, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file);
};

/* The caller has set all fields but `lock` and `opened`. */
void nb_openings_init(nb_openings *openings);
/* Call it after the last nb_openings_take. */
void nb_openings_deinit(nb_openings *openings);

/* Opens the file on a worker thread. NB_FULL, NB_SYSTEM: as nb_workers_submit; `opened` is then not
 * called. */
nb_status nb_file_wait_begin(nb_openings *openings, nb_exchange *exchange, nb_file_wait *wait, uint16_t root,
                             const nb_file_path *path);
/* Calls `opened` for the files that have been opened. Once a turn, and when the threads have
 * ended. */
void nb_openings_take(nb_openings *openings);

#endif
