/*
 * process_watchdog.h - the one watchdog of a process, which looks at its executors
 * (poll/watchdog.h). An observer looks at one executor.
 *
 * The thread never takes the GVL. What an observer reads is atomic or protected by its owner. What
 * it wants of Ruby it asks for by a postponed job or a signal.
 *
 * The first observer starts the thread, and the last one that is removed ends it. A forked child
 * has neither the thread nor its parent's observers; removing one of them does nothing there.
 */
#ifndef NB_BINDING_PROCESS_WATCHDOG_H
#define NB_BINDING_PROCESS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "poll/watchdog.h"

/* While an executor sleeps its observer is called so often at most. */
#define NB_PROCESS_WATCHDOG_IDLE_NS (10 * NB_NS_PER_MS)

/* Adds an observer. `look` is called soon on the watchdog's thread, and then at the time that it
   has returned (monotonic ns; or sooner, when a descriptor is readable that it has named). Where it
   has returned NB_WATCHDOG_NEVER it is called every idle_ns while the thread is awake: so late it
   may find that its executor has woken. `owner` lives until the observer is removed. GVL. False:
   there is no memory or no thread for it. */
bool nb_process_watchdog_add(nb_watchdog_look *look, void *owner, int64_t idle_ns);
/* Removes an observer. When it returns, `look` does not run and is not called any more. GVL. */
void nb_process_watchdog_remove(nb_watchdog_look *look, void *owner);

/* An executor wakes, after it has published what its observers read. GVL. Costs a fence and a load
   while the watchdog is awake, else a system call. */
void nb_process_watchdog_stir(void);
/* All observers are called soon, whatever they have returned. A system call. GVL. */
void nb_process_watchdog_ring(void);

void nb_process_watchdog_define(void);

#endif
