/*
 * resume.h - fibers that a fiber has resumed, and the frames of who did.
 *
 * A fiber that is resumed in the callback of a C library (an Enumerator's, whose `next` the
 * callback asks for) has frames of its own, and the library's call is half done below it all the
 * same. Ruby shows nobody the frames of another fiber. So such a fiber asks, where it is about to
 * wait or its slice is over: it yields to who has resumed it, which looks at its own frames, asks
 * on where it was resumed itself, and resumes it with the answer. Nobody pays who does not ask, but
 * for the record of who has resumed whom: Fiber#resume is ours, and so are, from Ruby 3.3 on, the
 * methods of Enumerator that resume its fiber.
 */
#ifndef NB_BINDING_RESUME_H
#define NB_BINDING_RESUME_H

#include "binding/state/state.h"

/* What do the frames of those say that have resumed the current fiber? False: there are none. Other
   threads may run meanwhile. Does not raise. */
bool nb_resume_ask(nb_scheduler *scheduler, nb_resume_question question);
/* Has the fiber resumed the one that `last` is the record of, directly or not? The record may be
   NULL. */
bool nb_resume_is_above(const nb_resume *last, VALUE fiber);

/* Does the running fiber run above a C function that keeps something for its thread, so that it has
   to wait where it is; do those that have resumed it? */
bool nb_resume_pins(void);

void nb_resume_define(VALUE klass);

#endif
