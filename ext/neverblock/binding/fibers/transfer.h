/*
 * transfer.h - switching to a fiber, and Fiber#transfer inside a request.
 *
 * When a fiber that was transferred to ends, Ruby goes on with the thread's first fiber (cont.c,
 * return_fiber). Where a thread runs a request, that is the fiber that had transferred, and it gets
 * the value or the exception. Here it is the loop, which hands both on to the root fiber: else that
 * would never run again.
 */
#ifndef NB_BINDING_TRANSFER_H
#define NB_BINDING_TRANSFER_H

#include "binding/state/state.h"

/* Transfers to the fiber, whose root fiber is scheduler->root. Returns when that has parked or
   ended. Raises. */
void nb_transfer_to(nb_scheduler *scheduler, VALUE fiber);
/* A switch to a fiber has ended by this tag. If it is an exception of a fiber that the root fiber
   had transferred to, it is raised in the root fiber. Returns the tag that is left; 0: the loop may
   go on. */
int nb_transfer_raised(nb_scheduler *scheduler, int tag);

#endif
