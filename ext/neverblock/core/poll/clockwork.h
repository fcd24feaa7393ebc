/*
 * clockwork.h - a native thread that looks at things from time to time.
 *
 * A caller adds observers. The thread calls each observer when its time has come, one after the
 * other. The observer says when it wants to look next, and may name a descriptor that ends the
 * thread's wait sooner. When no observer has wanted anything for NB_CLOCKWORK_QUIET_NS, the thread
 * sleeps without a limit until nb_clockwork_stir, which costs a fence and a load while the thread
 * does not sleep. Until then an observer that wants nothing is still called as often as was said
 * when it was added: so late it may find what has begun meanwhile.
 *
 * Threads: observers run on the clockwork's thread, with its lock held. They are short, block
 * nothing, and add, remove and stir nothing.
 */
#ifndef NB_POLL_CLOCKWORK_H
#define NB_POLL_CLOCKWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/doorbell.h"
#include "base/status.h"

/* What an observer says that wants nothing until it is stirred. */
#define NB_CLOCKWORK_NEVER INT64_MAX

/* So long after the last look that wanted something the thread sleeps without a limit: what works by fits and starts, as a server does, wakes it from that ten times a
   second at most. */
#define NB_CLOCKWORK_QUIET_NS INT64_C(100000000)
/* Times that are nearer to each other are one look; nor is an observer called again sooner. */
#define NB_CLOCKWORK_TOGETHER_NS INT64_C(100000)
/* While the thread is awake for one observer it also calls another with no more than this part of its wait left: a wake costs far more than a look. */
#define NB_CLOCKWORK_EARLY(wait_ns) ((wait_ns) / 3)

/* now_ns: nb_clock_monotonic_ns, before the looks of this round. Returns when it wants to look again at the latest, by the same clock: it is called then, or sooner by
   NB_CLOCKWORK_EARLY of the wait at most. *fd is -1: a descriptor put there has it called as soon as that is readable as well. One that was readable when it last looked
   would have it called over and over. Nobody minds if it is closed meanwhile. */
typedef int64_t nb_clockwork_look(void *owner, int64_t now_ns, int *fd);

typedef struct nb_clockwork nb_clockwork;

/* Starts the thread, which takes a descriptor or two (wake.h). name: 15 bytes at most. NB_NO_MEMORY, NB_SYSTEM (errno). */
nb_status nb_clockwork_create(const char *name, nb_clockwork **clockwork);
/* Ends the thread, and waits for it; observers that are left are not called any more. NULL is fine. Not in a forked child. */
void nb_clockwork_destroy(nb_clockwork *clockwork);
/* In a forked child, where there is no such thread, and its lock may be held for ever: closes its descriptors; the memory is left. */
void nb_clockwork_forget(nb_clockwork *clockwork);
/* Any thread. The first call comes soon; while it wants nothing and the thread does not sleep, one comes every idle_ns. NB_NO_MEMORY. */
nb_status nb_clockwork_add(nb_clockwork *clockwork, nb_clockwork_look *look, void *owner, int64_t idle_ns);
/* Any thread. When it returns, the observer does not run and is not called any more. Nothing when it is not there. */
void nb_clockwork_remove(nb_clockwork *clockwork, nb_clockwork_look *look, void *owner);
/* How many there are. Any thread. */
unsigned nb_clockwork_observers(nb_clockwork *clockwork);
/* Whether the thread sleeps without a limit, and nothing that has been published would let it go on. Any thread. */
bool nb_clockwork_sleeps(nb_clockwork *clockwork);

/* nb_clockwork_stir's: the doorbell at which the thread sleeps, and what rings it. */
nb_doorbell *nb_clockwork_bell(nb_clockwork *clockwork);
/* Any thread: all observers are called soon. A system call. */
void nb_clockwork_ring(nb_clockwork *clockwork);

/* Something that an observer looks at was published before this call. Any thread; no system call unless the thread sleeps. */
static inline void nb_clockwork_stir(nb_clockwork *clockwork, nb_doorbell *bell) {
    if (nb_doorbell_ring_needed(bell)) nb_clockwork_ring(clockwork);
}

#endif
