/*
 * pin.h - pinned fibers, as Java's virtual threads call them: a pinned fiber's waits keep the
 * thread, as they would without a scheduler. pin { } pins the current fiber; so does a C function
 * that keeps something for its thread (fibers/frames.h).
 *
 * All functions take the GVL and run on the scheduler's thread.
 */
#ifndef NB_BINDING_PIN_H
#define NB_BINDING_PIN_H

#include "binding/state/wait.h"

/* Is the current fiber pinned for this wait? */
bool nb_pin_covers(const nb_wait *wait);
/* Calls body. In a pin block also waits by the hook `block` keep the thread: for waits of ours that
   another thread ends. Raises what body raises. */
VALUE nb_pin_call(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument);
/* Is the current fiber in a pin block? */
bool nb_pin_now(const nb_scheduler *scheduler);

/* Scheduler#pin, #pinned?. */
void nb_pin_define(VALUE klass);

#endif
