/*
 * thread.c - starting a native thread: signals stay with the threads that existed before, the name shows in ps and gdb.
 */
#include "os/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "os/clock.h"

typedef struct start {
    void *(*body)(void *);
    void *argument;
    char name[16];
} start;

#if defined(__APPLE__)
static void name_self(const char *name) { (void)pthread_setname_np(name); }
#elif defined(__linux__)
static void name_self(const char *name) { (void)pthread_setname_np(pthread_self(), name); }
#else
static void name_self(const char *name) { (void)name; }
#endif

static void *run(void *pointer) {
    start own = *(start *)pointer;
    nb_free(pointer);
    name_self(own.name);
    return own.body(own.argument);
}

nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread) {
    start *given = nb_alloc(sizeof *given);
    if (given == NULL) {
        errno = ENOMEM;
        return NB_NO_MEMORY;
    }
    *given = (start){.body = body, .argument = argument};
    snprintf(given->name, sizeof given->name, "%s", name);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, given);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) return NB_OK;
    nb_free(given);
    errno = error;
    return NB_SYSTEM;
}

#if defined(__linux__)
void nb_thread_wake_gently(void) {
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}
#else
void nb_thread_wake_gently(void) {}
#endif

#if defined(__APPLE__)
void nb_thread_cond_init(pthread_cond_t *cond) { pthread_cond_init(cond, NULL); }

bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns) {
    int64_t left_ns = deadline_ns - nb_clock_monotonic_ns();
    if (left_ns <= 0) return false;
    struct timespec left = {(time_t)(left_ns / NB_NS_PER_S), (long)(left_ns % NB_NS_PER_S)};
    return pthread_cond_timedwait_relative_np(cond, mutex, &left) != ETIMEDOUT;
}
#else
void nb_thread_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool nb_thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns) {
    struct timespec deadline = {(time_t)(deadline_ns / NB_NS_PER_S), (long)(deadline_ns % NB_NS_PER_S)};
    return pthread_cond_timedwait(cond, mutex, &deadline) != ETIMEDOUT;
}
#endif
