/*
 * watchdog.h - a native thread that calls observers at times they choose.
 *
 * An observer returns the time of its next call, or NB_WATCHDOG_NEVER. It may also name a
 * descriptor: it is called sooner when that is readable. An observer that has returned
 * NB_WATCHDOG_NEVER is still called every idle_ns (nb_watchdog_add), so that it finds what has
 * begun since.
 *
 * When all observers have returned NB_WATCHDOG_NEVER for NB_WATCHDOG_QUIET_NS, the thread sleeps
 * without a limit, until nb_watchdog_stir. A stir costs a fence and a load while the thread is
 * awake, and a system call when it sleeps.
 *
 * Threads: observers run on the watchdog's thread, with its lock held. They must be short, must
 * not block, and must not call nb_watchdog_add, _remove or _stir.
 */
#ifndef NB_POLL_WATCHDOG_H
#define NB_POLL_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/status.h"

/* An observer has nothing to look at until it is stirred. */
#define NB_WATCHDOG_NEVER INT64_MAX

/* How long after the last observer's time the thread begins to sleep without a limit. A process
   that works in short bursts wakes it ten times a second at most. */
#define NB_WATCHDOG_QUIET_NS INT64_C(100000000)
/* Times that are nearer to each other than this are served together. An observer is not called
   again sooner. */
#define NB_WATCHDOG_TOGETHER_NS INT64_C(100000)
/* While the thread is awake for one observer, it calls another whose wait has no more than this
   left. A wake of the thread costs far more than a call. */
#define NB_WATCHDOG_EARLY(wait_ns) ((wait_ns) / 3)

/* An observer. now_ns: nb_clock_monotonic_ns, read before this round of calls. Returns the time of
   its next call by the same clock; the call may come sooner, by NB_WATCHDOG_EARLY of the wait at
   most. *fd is -1 on entry. The observer may set it to a descriptor that is not readable now. That
   descriptor may be closed meanwhile. */
typedef int64_t nb_watchdog_look(void *owner, int64_t now_ns, int *fd);

typedef struct nb_watchdog nb_watchdog;

/* Starts the thread. It holds one descriptor or two (wake.h). name: at most 15 bytes. NB_NO_MEMORY,
   NB_SYSTEM (errno). */
nb_status nb_watchdog_create(const char *name, nb_watchdog **watchdog);
/* Ends the thread and waits for its end. The observers that are left are not called again. NULL is
   allowed. Not in a forked child. */
void nb_watchdog_destroy(nb_watchdog *watchdog);
/* For a forked child, which has no such thread, and where its lock may be held for ever. Closes the
   descriptors. The memory is not freed. */
void nb_watchdog_forget(nb_watchdog *watchdog);
/* Adds an observer, which is called soon. idle_ns: how often it is called while it returns
   NB_WATCHDOG_NEVER and the thread is awake. Any thread. NB_NO_MEMORY. */
nb_status nb_watchdog_add(nb_watchdog *watchdog, nb_watchdog_look *look, void *owner, int64_t idle_ns);
/* Removes an observer, if it is there. After the return it does not run and is not called again.
   Any thread. */
void nb_watchdog_remove(nb_watchdog *watchdog, nb_watchdog_look *look, void *owner);
/* The number of observers. Any thread. */
unsigned nb_watchdog_observers(nb_watchdog *watchdog);
/* Does the thread sleep without a limit, with no stir on its way? Any thread. */
bool nb_watchdog_sleeps(nb_watchdog *watchdog);

/* The doorbell at which the thread sleeps, for nb_watchdog_stir. */
nb_doorbell *nb_watchdog_bell(nb_watchdog *watchdog);
/* Has all observers called soon. A system call. Any thread. */
void nb_watchdog_ring(nb_watchdog *watchdog);

/* To be called after something was published that an observer looks at. Wakes the thread if it
   sleeps without a limit; only then it makes a system call. Any thread. */
static inline void nb_watchdog_stir(nb_watchdog *watchdog, nb_doorbell *bell) {
    if (nb_doorbell_ring_needed(bell)) nb_watchdog_ring(watchdog);
}

#endif
