/*
 * fork.c - a counter of the threads inside, for which pthread_atfork(3) waits. It uses atomics and
 * no lock: ThreadSanitizer takes a lock that is released inside fork(2) for held for ever. Both
 * waits are as short as a turn of a loop.
 */
#include "os/fork.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* seq_cst: of a thread that enters and one that forks, at least one sees the other. */
static atomic_int inside, forks;

static void before(void) {
    atomic_fetch_add(&forks, 1);
    while (atomic_load(&inside) != 0)
        sched_yield();
}

static void in_parent(void) { atomic_fetch_sub(&forks, 1); }

static void in_child(void) {
    atomic_store(&forks, 0);
    atomic_store(&inside, 0);
}

/* Registered when the library is loaded: a fork(2) that has begun does not call handlers registered
   meanwhile. */
__attribute__((constructor)) static void install(void) { pthread_atfork(before, in_parent, in_child); }

void nb_fork_enter(void) {
    for (;;) {
        atomic_fetch_add(&inside, 1);
        if (atomic_load(&forks) == 0) return;
        atomic_fetch_sub(&inside, 1);
        while (atomic_load(&forks) != 0)
            sched_yield();
    }
}

void nb_fork_leave(void) { atomic_fetch_sub(&inside, 1); }
