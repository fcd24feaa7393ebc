/*
 * event_loop.h - the loop: what the source has brought, one pass over the fibers that are ready,
 * due timers, descriptors, sleep.
 *
 * A pass works off a snapshot of the ready queue; what becomes ready meanwhile runs in the next, so
 * that timers and descriptors have their turn however busy the fibers are. Ruby's lock is released
 * only to sleep, with nothing ready.
 */
#ifndef NB_BINDING_EVENT_LOOP_H
#define NB_BINDING_EVENT_LOOP_H

#include "binding/state/state.h"
#include "binding/state/wait.h"

/* Asks the poller without waiting, and makes ready whom it names; true when it knew something. Any
   fiber of the scheduler's thread. */
bool nb_event_loop_poll(nb_scheduler *scheduler);
/* Is there anything to do before the next preempted fiber goes on? Asks the poller. */
bool nb_event_loop_work_waits(nb_scheduler *scheduler);
/* Transfers to a fiber that is not parked or whose wait is taken out of its queue; returns when it
   has parked or ended. Raises. */
void nb_event_loop_switch(nb_scheduler *scheduler, VALUE fiber, nb_wait *wait);
/* Runs turns on the current fiber until the wait is woken (wait NULL: until all is over).
   Raises. */
void nb_event_loop_run(nb_scheduler *scheduler, nb_wait *wait);
/* Serves timers, descriptors and inbox on the current fiber, and lets no other run, until the wait
   is woken. Raises. */
void nb_event_loop_pinned(nb_scheduler *scheduler, const nb_wait *wait);
/* The running fiber is about to transfer to the fiber of this wait, which is among the ready
   ones. */
void nb_event_loop_take(nb_wait *wait);

/* --- beneath another scheduler (scheduler/beneath.h) --- */

/* Calls the body, whose fiber is the loop fiber meanwhile, and runs turns there. Raises. */
VALUE nb_event_loop_host(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument);
/* One turn, which sleeps until this time at most (INT64_MAX: no limit), and only where no fiber has
   run in it. ends: it does not sleep when the source is finished. Returns for how long the thread
   was idle. Raises. */
int64_t nb_event_loop_turn(nb_scheduler *scheduler, int64_t until_ns, bool ends);

/* Tells the source of a switch at this time; 0: of a sleep. */
void nb_event_loop_stamp(nb_scheduler *scheduler, int64_t time_ns);

#endif
