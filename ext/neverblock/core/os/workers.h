/*
 * workers.h - a bounded pool of native threads for calls that block (file writes, getaddrinfo). They take no Ruby lock,
 * block all signals, and start lazily, one when a job finds none idle, up to `threads`.
 *
 * A job is a struct the caller embeds and keeps alive until `done` was called. `run` is called on a worker; `done` is
 * called on the same worker right after, and is where the caller hands the job back to its own thread (a list under a
 * lock and nb_wake_signal). Queue bound: `queue_max` jobs; more: NB_FULL.
 *
 * Workers are woken one at a time: who comes and finds more than its own job wakes the next. So short jobs are done by few, one after the
 * other, and each job that blocks brings one more.
 */
#ifndef NB_OS_WORKERS_H
#define NB_OS_WORKERS_H

#include <stddef.h>

#include "base/status.h"

typedef struct nb_job nb_job;
struct nb_job {
    void (*run)(nb_job *job);
    void (*done)(nb_job *job);
    nb_job *next; /* the pool's */
};

typedef struct nb_workers nb_workers;

/* name: of the threads, 15 bytes at most. */
nb_status nb_workers_create(const char *name, unsigned threads, size_t queue_max, nb_workers **workers);
/* Any thread. NB_FULL: the queue is. NB_SYSTEM: no thread at all could be started. In both cases neither run nor done
 * is called. */
nb_status nb_workers_submit(nb_workers *workers, nb_job *job);
/* From the job's own `done`: it runs once more, behind those that wait. Nobody is woken, since this worker goes on with the first of them.
 * NB_CLOSED: the pool ends. */
nb_status nb_workers_resubmit(nb_workers *workers, nb_job *job);
/* Waits for the jobs that run, drops those that wait (their `done` is called, `run` is not). */
void nb_workers_destroy(nb_workers *workers);

#endif
