/*
 * resume.h - fibers that a fiber has resumed, and the frames of the fibers that have resumed it.
 *
 * A fiber that is resumed in the callback of a C library has frames of its own. The library's call
 * is half done below it all the same: an example is an Enumerator's fiber, whose `next` the
 * callback calls. Ruby shows nobody the frames of another fiber. So where such a fiber is about to
 * wait or to be preempted, it yields to the fiber that has resumed it. That fiber looks at its own
 * frames, asks on where it was resumed itself, and resumes it with the answer. Only a fiber that
 * asks pays for this; every resume pays for the record of it. Fiber#resume is ours, and so are,
 * from Ruby 3.3 on, the methods of Enumerator that resume its fiber.
 */
#ifndef NB_BINDING_RESUME_H
#define NB_BINDING_RESUME_H

#include "binding/state/state.h"

/* What do the frames of the fibers say that have resumed the current one? False: there are none.
   Other threads may run meanwhile. Does not raise. */
bool nb_resume_ask(nb_scheduler *scheduler, nb_resume_question question);
/* Has the fiber resumed the one that `last` is the record of, directly or not? The record may be
   NULL. */
bool nb_resume_is_above(const nb_resume *last, VALUE fiber);

/* Is the running fiber pinned by a C function that keeps something for its thread, below its own
   frames or those of fibers that have resumed it? */
bool nb_resume_pins(void);

void nb_resume_define(VALUE klass);

#endif
