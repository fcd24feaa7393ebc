/*
 * park.h - how a fiber parks: every park of the scheduler is nb_wait_park. And shield { }, which
 * keeps what is raised out of a fiber's waits.
 */
#ifndef NB_BINDING_PARK_H
#define NB_BINDING_PARK_H

#include "binding/state/wait.h"

/* Parks the current fiber until the wait is woken; deadline_ns INT64_MAX: no limit; past: one turn.
   Raises what was raised into the fiber, and NoMemoryError; the wait is out of table, timers and
   queues, and `leave` was called, in every case. */
nb_wait_outcome nb_wait_park(nb_wait *wait, int64_t deadline_ns);
/* A wait of kind NB_WAIT_TRANSFER, which brings a value. */
typedef struct nb_transfer_wait {
    nb_wait wait; /* first */
    VALUE value;
} nb_transfer_wait;

/* Lets the current fiber, which may be the loop fiber, wait while `fiber` runs until it next parks.
   target: its wait, which is ready; NULL: the fiber is new. Raises. */
void nb_wait_go_to(nb_scheduler *scheduler, VALUE fiber, nb_wait *target);
/* Lets the current fiber wait while `fiber`, which is new, runs until it first parks. */
void nb_wait_spawn(nb_scheduler *scheduler, VALUE fiber);
/* Preempts the current fiber: it waits until its turn comes again, for nothing else. What is raised
   into it is raised in its next wait. ffi_errno: the fiber's (fibers/ffi_state.h). Does not
   raise. */
void nb_wait_preempt(nb_scheduler *scheduler, int ffi_errno);

/* Scheduler#shield. */
void nb_park_define(VALUE klass);

#endif
