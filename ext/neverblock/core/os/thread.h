/*
 * thread.h - native threads and timed waits on their conditions.
 */
#ifndef NB_OS_THREAD_H
#define NB_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Starts a named thread with every signal blocked. name: 15 bytes at most, the rest is cut. stack: the platform's default.
   NB_NO_MEMORY (errno ENOMEM), NB_SYSTEM (errno EAGAIN...). */
nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread);

/* The calling thread's waking does not interrupt a thread that runs on its processor; it keeps its share of time (SCHED_BATCH,
   sched(7)). Threads and processes it starts are as usual. Nothing where there is no such policy, or it is forbidden. */
void nb_thread_wake_gently(void);

/* A condition whose timed waits go by nb_clock_monotonic_ns. */
void nb_thread_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait until deadline_ns (>= 0): false when that passed. */
bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns);

#endif
