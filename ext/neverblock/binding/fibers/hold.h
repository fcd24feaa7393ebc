/*
 * hold.h - hold { }: the fiber's waits keep the thread, as they would without a scheduler.
 */
#ifndef NB_BINDING_HOLD_H
#define NB_BINDING_HOLD_H

#include "binding/state/wait.h"

/* Is the current fiber in a hold block that this wait falls under, or above a C function that holds
   its thread? */
bool nb_hold_covers(const nb_wait *wait);
/* Calls body; in a hold block also what waits by `block` in it keeps the thread: for waits of ours
   that another thread ends. */
VALUE nb_hold_on(nb_scheduler *scheduler, VALUE (*body)(VALUE), VALUE argument);
/* Is the current fiber in a hold block at all? */
bool nb_hold_now(const nb_scheduler *scheduler);

/* Scheduler#hold, #held?. */
void nb_hold_define(VALUE klass);

#endif
