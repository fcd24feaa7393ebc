/*
 * workers.c - the pool of threads for blocking calls: one mutex, one condition, a list of jobs.
 */
#include "os/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"
#include "os/thread.h"

struct nb_workers {
    pthread_mutex_t lock;
    pthread_cond_t work;
    nb_job *first, **last;
    size_t queued, queue_max;
    unsigned idle; /* threads that wait for work, including one that is being woken */
    unsigned started, threads_max;
    bool waking; /* a worker was woken or started, and has not looked for work yet */
    bool closing;
    char name[16];
    pthread_t threads[];
};

nb_status nb_workers_create(const char *name, unsigned threads, size_t queue_max, nb_workers **workers) {
    nb_workers *self = nb_alloc_zero(1, sizeof *self + threads * sizeof self->threads[0]);
    if (self == NULL) return NB_NO_MEMORY;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->work, NULL);
    self->last = &self->first;
    self->queue_max = queue_max;
    self->threads_max = threads;
    snprintf(self->name, sizeof self->name, "%s", name);
    *workers = self;
    return NB_OK;
}

static void put(nb_workers *self, nb_job *job) {
    job->next = NULL;
    *self->last = job;
    self->last = &job->next;
    self->queued++;
}

static nb_job *take(nb_workers *self) {
    nb_job *job = self->first;
    self->first = job->next;
    if (self->first == NULL) self->last = &self->first;
    self->queued--;
    return job;
}

static void *work(void *pointer);

/* Call with the lock held: starts a worker for what waits, unless one is on its way. *signal: one is
 * to be woken when the lock is given back, so that it does not wait for that. */
static nb_status wake_another(nb_workers *self, bool *signal) {
    *signal = false;
    if (self->waking) return NB_OK;
    if (self->idle > 0) {
        self->waking = true;
        *signal = true;
        return NB_OK;
    }
    if (self->started == self->threads_max) return NB_OK;
    nb_status status = nb_thread_start(self->name, work, self, &self->threads[self->started]);
    if (status == NB_OK) {
        self->waking = true;
        self->started++;
    }
    return self->started > 0 ? NB_OK : NB_SYSTEM;
}

static void *work(void *pointer) {
    nb_workers *self = pointer;
    pthread_mutex_lock(&self->lock);
    self->waking = false;
    for (;;) {
        while (self->first == NULL && !self->closing) {
            self->idle++;
            pthread_cond_wait(&self->work, &self->lock);
            self->idle--;
            self->waking = false;
        }
        if (self->first == NULL) break;
        nb_job *job = take(self);
        bool signal = false;
        if (self->first != NULL) (void)wake_another(self, &signal);
        pthread_mutex_unlock(&self->lock);
        if (signal) pthread_cond_signal(&self->work);
        job->run(job);
        job->done(job);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static nb_status enqueue(nb_workers *self, nb_job *job, bool *signal) {
    if (self->closing) return NB_CLOSED;
    if (self->queued >= self->queue_max) return NB_FULL;
    nb_status status = wake_another(self, signal);
    if (status == NB_OK) put(self, job);
    return status;
}

nb_status nb_workers_submit(nb_workers *workers, nb_job *job) {
    bool signal = false;
    pthread_mutex_lock(&workers->lock);
    nb_status status = enqueue(workers, job, &signal);
    int error = errno;
    pthread_mutex_unlock(&workers->lock);
    if (signal) pthread_cond_signal(&workers->work);
    errno = error;
    return status;
}

nb_status nb_workers_resubmit(nb_workers *workers, nb_job *job) {
    pthread_mutex_lock(&workers->lock);
    nb_status status = workers->closing ? NB_CLOSED : NB_OK;
    if (status == NB_OK) put(workers, job);
    pthread_mutex_unlock(&workers->lock);
    return status;
}

void nb_workers_destroy(nb_workers *workers) {
    if (workers == NULL) return;
    pthread_mutex_lock(&workers->lock);
    nb_job *dropped = workers->first;
    workers->first = NULL;
    workers->last = &workers->first;
    workers->queued = 0;
    workers->closing = true;
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    while (dropped != NULL) {
        nb_job *next = dropped->next;
        dropped->done(dropped);
        dropped = next;
    }
    for (unsigned i = 0; i < workers->started; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->work);
    pthread_mutex_destroy(&workers->lock);
    nb_free(workers);
}
