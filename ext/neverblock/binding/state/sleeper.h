/*
 * sleeper.h - a loop that sleeps in its poller, and how it is woken from there.
 */
#ifndef NB_BINDING_SLEEPER_H
#define NB_BINDING_SLEEPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "poll/wake.h"

typedef struct nb_sleeper {
    nb_wake wake;         /* in the poller; {-1, -1}: not open */
    pthread_t thread;     /* that sleeps, or slept last */
    atomic_bool asleep;   /* the thread is on its way into the poller, or in it */
    atomic_bool signaled; /* a signal is to end its sleep */
    /* in the poller without the GVL: a wake must signal. Changed and read under the GVL only */
    bool sleeping;
} nb_sleeper;

/* Ends the thread's sleep, or its next one. Where the wake descriptor was closed by the
   application, only its sleep. Any thread. */
void nb_sleeper_rouse(nb_sleeper *sleeper);
/* The same for one that is `sleeping`. GVL held. */
void nb_sleeper_wake(nb_sleeper *sleeper);

/* Loops of this process that share the GVL, have slept, and wait for it. */
extern _Atomic uint32_t nb_sleepers_want_gvl;

#endif
