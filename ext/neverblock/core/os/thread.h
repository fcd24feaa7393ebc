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

/* Starts a named thread with every signal blocked. name: 15 bytes at most, the rest is cut. stack:
   the platform's default. NB_NO_MEMORY (errno ENOMEM), NB_SYSTEM (errno EAGAIN...). */
nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread);

/* The calling thread no longer preempts the thread that runs on its processor when it wakes. It
   keeps its share of time (SCHED_BATCH, sched(7)). Threads and processes that it starts are as
   usual. Does nothing where the policy is missing or forbidden. */
void nb_thread_wake_gently(void);

/* The calling thread's number for the functions below; 0: the system has none. */
long nb_thread_number(void);
/* True: the thread of this process waits for something, which may be a lock (proc(5), state S or
   D). A thread that could run does not wait. False also where it cannot be found out. */
bool nb_thread_sleeps(long number);
/* True: a thread of this process other than the calling one runs or could run. */
bool nb_thread_others_run(void);

/* For how long in all, in nanoseconds, the thread could have run and was not given a processor
   (run_delay; Linux, Documentation/scheduler/sched-stats). 0 where it cannot be found out. */
int64_t nb_thread_starved_ns(long number);

/* True: a signal with an SA_RESTART handler would not disturb the thread, as it computes or is in a
   system call that is restarted (signal(7)). False also where it cannot be found out: poll(2),
   nanosleep(2) and similar calls would end with EINTR. */
bool nb_thread_restarts(long number);
/* The system call in which the thread waits, by its manual page ("poll(2)"). NULL: in none, in an
   unknown one, or it cannot be found out. */
const char *nb_thread_waits_in(long number);

/* The clock of a thread's processor time, for nb_thread_ran_ns on other threads. False: there is
   none. */
bool nb_thread_clock(pthread_t thread, clockid_t *clock);
/* Processor time in nanoseconds; 0: the thread has ended. */
int64_t nb_thread_ran_ns(clockid_t clock);

/* What the kernel gave a thread: processor time, in whole microseconds, and how often it was
   preempted (0 where that is not counted). */
typedef struct nb_thread_use {
    int64_t ran_ns;
    uint64_t preempted;
} nb_thread_use;
/* For the calling thread (getrusage(2), RUSAGE_THREAD). A system call. */
nb_thread_use nb_thread_used(void);

/* Initialises a condition whose timed waits use nb_clock_monotonic_ns. */
void nb_thread_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait until deadline_ns (>= 0). False: that has passed. */
bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns);

#endif
