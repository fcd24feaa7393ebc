/*
 * watchdog.h - the native thread of a process that watches its executors (poll/clockwork.h). An
 * observer is a function that the thread calls to look at one executor, from time to time.
 *
 * The thread never takes the GVL. What an observer reads is atomic or protected by its owner. What
 * it wants of Ruby it asks for by a postponed job or a signal.
 *
 * The first observer starts the thread, and the last one that is removed ends it. A forked child
 * has neither the thread nor its parent's observers; removing one of them does nothing there.
 */
#ifndef NB_BINDING_WATCHDOG_H
#define NB_BINDING_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "poll/clockwork.h"

/* What an observer returns when it need not be called until nb_watchdog_stir: its executor
   sleeps. */
#define NB_WATCHDOG_NEVER NB_CLOCKWORK_NEVER

/* While an executor sleeps its observer is called so often at most. */
#define NB_WATCHDOG_IDLE_NS (10 * NB_NS_PER_MS)

/* Adds an observer. `look` is called soon on the watchdog's thread, and then at the time that it
   has returned (monotonic ns; or sooner, when a descriptor is readable that it has named). Where it
   has returned NB_WATCHDOG_NEVER it is called every idle_ns while the thread is awake: so late it
   may find that its executor has woken. `owner` lives until the observer is removed. GVL. False:
   there is no memory or no thread for it. */
bool nb_watchdog_add(nb_clockwork_look *look, void *owner, int64_t idle_ns);
/* Removes an observer. When it returns, `look` does not run and is not called any more. GVL. */
void nb_watchdog_remove(nb_clockwork_look *look, void *owner);

/* An executor wakes, after it has published what its observers read. GVL. Costs a fence and a load
   while the watchdog is awake, else a system call. */
void nb_watchdog_stir(void);
/* All observers are called soon, whatever they have returned. A system call. GVL. */
void nb_watchdog_ring(void);

void nb_watchdog_define(void);

#endif
