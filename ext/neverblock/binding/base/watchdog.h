/*
 * watchdog.h - the one native thread of a process that watches its executors (poll/clockwork.h): whoever has to know when a fiber runs too long adds a
 * observer. It takes no Ruby lock, ever: what it reads is atomic or its owner's to protect, and what it wants of Ruby it asks for by a
 * postponed job or a signal.
 *
 * The thread is started by the first observer and ended with the last. A forked child has neither thread nor observers: who runs there adds his
 * own, and removing one of the parent's does nothing.
 */
#ifndef NB_BINDING_WATCHDOG_H
#define NB_BINDING_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "poll/clockwork.h"

/* What an observer returns when there is nothing to look at until nb_watchdog_stir: its executor sleeps. */
#define NB_WATCHDOG_NEVER NB_CLOCKWORK_NEVER

/* How often at most it is looked whether an executor that sleeps still does. */
#define NB_WATCHDOG_IDLE_NS (10 * NB_NS_PER_MS)

/* GVL. `look` is called soon, on the watchdog's thread, and then when it has said that it wants to (monotonic ns, absolute; a descriptor may have it called sooner), or after
   idle_ns where it wants nothing and the thread is not asleep: so late it may find that its executor has been woken. False:
   there is no memory or no thread for it. `owner` must live until the observer is removed. */
bool nb_watchdog_add(nb_clockwork_look *look, void *owner, int64_t idle_ns);
/* GVL. When it returns, `look` does not run and is not called any more. */
void nb_watchdog_remove(nb_clockwork_look *look, void *owner);

/* GVL. An executor wakes: whatever its observers read was published before. A fence and a load while the watchdog is awake. */
void nb_watchdog_stir(void);
/* GVL. All observers look again soon, whatever they have said. A system call. */
void nb_watchdog_ring(void);

void nb_watchdog_define(void);

#endif
