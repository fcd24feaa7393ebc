/*
 * start.h - where new fibers are first switched to, which is where they get their stacks.
 *
 * When there is no memory map left for a stack, Ruby raises FiberError in the switch, and has by
 * then counted the fiber that switches as gone, if it is a blocking one (fiber_switch in cont.c, up
 * to Ruby 4.0): from then on hooks are called in the thread's root fiber, and in no other. So the
 * loop, whose fiber is mostly the root, starts fibers by way of one that is not blocking and has
 * its stack already.
 */
#ifndef NB_BINDING_START_H
#define NB_BINDING_START_H

#include "binding/state/state.h"

/* A fiber of the server's own, by Ruby's own Fiber#initialize. body: a Proc. options: a Hash, as of
   Fiber.new. */
VALUE nb_fiber_make(VALUE body, VALUE options);

/* The fiber to transfer to instead of `fiber`, which is new, and which it starts. Afterwards
   nb_start_check raises what was raised there: FiberError when there is no stack to be had. */
VALUE nb_start_by(nb_scheduler *scheduler, VALUE fiber);
void nb_start_check(nb_scheduler *scheduler);

void nb_start_define(void);

#endif
