/*
 * thread.h - native threads and timed waits on their conditions.
 */
#ifndef NB_OS_THREAD_H
#define NB_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/status.h"

/* Starts a named thread with every signal blocked. name: 15 bytes at most, the rest is cut. stack: the platform's default.
   NB_NO_MEMORY (errno ENOMEM), NB_SYSTEM (errno EAGAIN...). */
nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread);

/* The calling thread's waking does not interrupt a thread that runs on its processor; it keeps its share of time (SCHED_BATCH,
   sched(7)). Threads and processes it starts are as usual. Nothing where there is no such policy, or it is forbidden. */
void nb_thread_wake_gently(void);

/* The calling thread's number for nb_thread_sleeps; 0: the system has none. */
long nb_thread_number(void);
/* Whether a thread of this process waits for something (proc(5), state S or D), be it a lock: one that could run does not. False when that
   cannot be found out. */
bool nb_thread_sleeps(long number);
/* Whether a thread of this process but the calling one runs or could run. */
bool nb_thread_others_run(void);

/* Whether a signal whose handler was installed with SA_RESTART goes unnoticed by what the thread does: it computes, or it is in a system call
   that is restarted (signal(7)). False also when that cannot be found out: poll(2), nanosleep(2) and their like would end with EINTR. */
bool nb_thread_restarts(long number);
/* The system call in which it waits, by its page of the manual ("poll(2)"). NULL: in none, in one that is not known here, or that cannot be found out. */
const char *nb_thread_waits_in(long number);

/* The clock that counts what a thread runs, for nb_thread_ran_ns by others. False: there is none. */
bool nb_thread_clock(pthread_t thread, clockid_t *clock);
/* Nanoseconds; 0 when the thread has ended. */
int64_t nb_thread_ran_ns(clockid_t clock);

/* What the kernel gave a thread: whole microseconds; and how often it could have gone on and its processor went to another, 0 where that is
   not counted. */
typedef struct nb_thread_use {
    int64_t ran_ns;
    uint64_t preempted;
} nb_thread_use;
/* Of the calling thread (getrusage(2), RUSAGE_THREAD). A system call: about half a microsecond. */
nb_thread_use nb_thread_used(void);

/* A condition whose timed waits go by nb_clock_monotonic_ns. */
void nb_thread_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait until deadline_ns (>= 0): false when that passed. */
bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns);

#endif
