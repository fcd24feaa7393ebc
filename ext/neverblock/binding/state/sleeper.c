/*
 * sleeper.c - see sleeper.h.
 */
#include "binding/state/sleeper.h"

#include <signal.h>
#include <time.h>

#include "os/clock.h"

/* A thread that leaves the poller at a signal is out of it by the next; for a second at most, on a
   machine that stands still. */
#define SIGNAL_EVERY_NS (NB_NS_PER_MS / 10)
#define SIGNALS_MAX 10000

_Atomic uint32_t nb_sleepers_want_gvl;

/* Ruby ends its own waits by this signal too. One that comes before the sleeper's system call is
   lost, so it is sent until the sleeper has left that. */
static void signal_sleeper(nb_sleeper *sleeper) {
    const struct timespec pause = {.tv_nsec = SIGNAL_EVERY_NS};
    for (int i = 0; i < SIGNALS_MAX && atomic_load_explicit(&sleeper->asleep, memory_order_acquire); i++) {
        atomic_store_explicit(&sleeper->signaled, true, memory_order_release);
        pthread_kill(sleeper->thread, SIGVTALRM);
        nanosleep(&pause, NULL);
    }
}

/* An application that has closed all descriptors of its process has closed this one. */
void nb_sleeper_rouse(nb_sleeper *sleeper) {
    if (!nb_wake_signal(&sleeper->wake)) signal_sleeper(sleeper);
}

void nb_sleeper_wake(nb_sleeper *sleeper) {
    sleeper->sleeping = false;
    nb_sleeper_rouse(sleeper);
}
