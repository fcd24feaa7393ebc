/*
 * start.h - where new fibers are first switched to, which is where they get their stacks.
 *
 * When there is no memory map left for a stack, Ruby raises FiberError in the switch. It has then
 * already counted the fiber that switches as gone, if that is a blocking one (fiber_switch in
 * cont.c, up to Ruby 4.0). From then on it calls hooks in the thread's first fiber only. The loop
 * mostly runs in that fiber. So it starts fibers by way of a starter fiber, which is not blocking
 * and has its stack already.
 */
#ifndef NB_BINDING_START_H
#define NB_BINDING_START_H

#include "binding/state/state.h"

/* A fiber of the server's own, by Ruby's own Fiber#initialize. body: a Proc. options: a Hash, as of
   Fiber.new. */
VALUE nb_fiber_make(VALUE body, VALUE options);

/* The fiber to transfer to in place of `fiber`, which is new: the starter, which switches to it.
   Afterwards nb_start_check raises what was raised there: FiberError when there is no stack. */
VALUE nb_start_by(nb_scheduler *scheduler, VALUE fiber);
void nb_start_check(nb_scheduler *scheduler);

void nb_start_define(void);

#endif
