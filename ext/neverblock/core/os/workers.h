/*
 * workers.h - a bounded pool of native threads for blocking calls (file writes, getaddrinfo).
 * Workers never take Ruby's lock and block all signals. They start lazily: one when a job finds
 * none idle, up to `threads`.
 *
 * A job is a struct that the caller embeds and keeps alive until `done` was called. `run` is
 * called on a worker, `done` on the same worker right after. In `done` the caller passes the job
 * back to its own thread (a list under a lock, and nb_wake_signal). At most `queue_max` jobs wait.
 *
 * Workers are woken one at a time: a worker that finds more than its own job wakes the next. So
 * short jobs are done by few workers one after the other, and each job that blocks adds a worker.
 */
#ifndef NB_OS_WORKERS_H
#define NB_OS_WORKERS_H

#include <stddef.h>

#include "base/status.h"

typedef struct nb_job nb_job;
struct nb_job {
    void (*run)(nb_job *job);
    void (*done)(nb_job *job);
    nb_job *next; /* of the pool */
};

typedef struct nb_workers nb_workers;

/* Creates a pool. name: of its threads, at most 15 bytes. */
nb_status nb_workers_create(const char *name, unsigned threads, size_t queue_max, nb_workers **workers);
/* Any thread. NB_FULL: the queue is full. NB_SYSTEM: no thread could be started. After a failure
   neither `run` nor `done` is called. */
nb_status nb_workers_submit(nb_workers *workers, nb_job *job);
/* For a job's own `done`: the job runs once more, behind those that wait. No worker is woken, as
   this one goes on. NB_CLOSED: the pool ends. */
nb_status nb_workers_resubmit(nb_workers *workers, nb_job *job);
/* Waits for running jobs and drops waiting ones, of which `done` is called and `run` is not. */
void nb_workers_destroy(nb_workers *workers);

#endif
