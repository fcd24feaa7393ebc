/*
 * fork.c - a count of the threads inside, which pthread_atfork(3) waits for. Atomics and no lock: a lock that is let go of inside fork(2)
 * is one that ThreadSanitizer takes for held ever after. Who has to wait gives way; both waits are as short as a turn of a loop.
 */
#include "os/fork.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int inside, forks; /* seq_cst: of a thread that enters and one that forks, one sees the other */

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

/* When the library is loaded: a fork(2) that has begun calls nobody who comes to it meanwhile. */
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
