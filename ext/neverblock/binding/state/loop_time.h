/*
 * loop_time.h - the time as a scheduler knows it, and the alarms that are due by it.
 */
#ifndef NB_BINDING_LOOP_TIME_H
#define NB_BINDING_LOOP_TIME_H

#include "binding/state/state.h"

int64_t nb_event_loop_now(nb_scheduler *scheduler);   /* reads the clock at most once a switch */
int64_t nb_event_loop_clock(nb_scheduler *scheduler); /* reads the clock */

/* Lets the alarms go off that are due. Any fiber of the scheduler's thread. */
void nb_event_loop_expire(nb_scheduler *scheduler);

#endif
