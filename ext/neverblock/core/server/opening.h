/*
 * opening.h - a file whose name needs the disk is opened on a thread of the site's (site.h) while its exchange waits in its place; the loop
 * goes on. What comes of it is told on the loop's thread, in a later turn.
 */
#ifndef NB_SERVER_OPENING_H
#define NB_SERVER_OPENING_H

#include "files/open_files.h"
#include "os/workers.h"
#include "dispatch/exchange.h"

struct nb_loop;

/* A 503's. */
#define NB_NO_DESCRIPTOR_REASON "no file can be opened now, try again"

/* Begins the caller's own struct, which stays in place until `opened` is called, once. */
typedef struct nb_file_wait nb_file_wait;
struct nb_file_wait {
    nb_opening opening;
    nb_job job;
    nb_file_wait *next;
    struct nb_loop *loop;
    nb_exchange_id exchange;
    /* exchange NULL: nobody waits any more; `file` and `status` are then of no meaning. Else what nb_open_files_enter has returned, errno as
       it left it. */
    void (*opened)(struct nb_loop *loop, nb_exchange *exchange, nb_file_wait *wait, nb_status status, nb_file *file);
};

/* NB_FULL, NB_SYSTEM: as nb_workers_submit; `opened` is not called then. */
nb_status nb_file_wait_begin(struct nb_loop *loop, nb_exchange *exchange, nb_file_wait *wait, uint16_t root,
                             const nb_file_path *path);
/* What was opened since; once a turn, and at the end, when the openers have. */
void nb_file_waits_take(struct nb_loop *loop);

#endif
