/*
 * held_back.h - what Thread.handle_interrupt holds back in a fiber (compat/handle_interrupt.rb).
 */
#ifndef NB_BINDING_HELD_BACK_H
#define NB_BINDING_HELD_BACK_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/state/state.h"

/* Of the running fiber. nil: none. nb_masks_now looks only where the scheduler counts a shield, and
   adds those of the root fiber, which has resumed it, directly or not. */
VALUE nb_masks_now(const nb_scheduler *scheduler);
VALUE nb_masks_get(void);
void nb_masks_set(VALUE masks);

/* masks: nil, or an array of Hash{Module => Symbol}, the innermost first. raises: an array of
   raise's arguments. waits: in a wait, which :on_blocking lets end. The innermost mask that names
   an ancestor of the class decides. */
bool nb_held_back(VALUE masks, VALUE raises, bool waits);
/* Of what is neither a class nor an exception, `raise` makes one in the fiber. */
VALUE nb_class_of_raised(VALUE raises);

#endif
