/*
 * pin.h - pin { }: the fiber's waits keep the thread, as they would without a scheduler.
 */
#ifndef NB_BINDING_PIN_H
#define NB_BINDING_PIN_H

#include "binding/state/wait.h"

/* Is the current fiber in a pin block that this wait falls under, or above a C function that holds
   its thread? */
bool nb_pin_covers(const nb_wait *wait);
/* Calls body; in a pin block also what waits by `block` in it keeps the thread: for waits of ours
   that another thread ends. */
VALUE nb_pin_call(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument);
/* Is the current fiber in a pin block at all? */
bool nb_pin_now(const nb_scheduler *scheduler);

/* Scheduler#pin, #pinned?. */
void nb_pin_define(VALUE klass);

#endif
