/*
 * fiber_record.h - what a fiber that parks waits for, told to the loops (intake/fiber_table.h) and
 * to its request's account (accounting.h). A wait costs some stores, and no system call of its own.
 *
 * All functions take the GVL and run on the scheduler's thread. They do not raise.
 */
#ifndef NB_BINDING_FIBER_RECORD_H
#define NB_BINDING_FIBER_RECORD_H

#include "binding/state/wait.h"

/* The fiber of the wait parks. */
void nb_fiber_record_park(nb_wait *wait, int64_t deadline_ns);
/* The fiber of the wait runs again. */
void nb_fiber_record_end(nb_wait *wait);

#endif
