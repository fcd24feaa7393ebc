/*
 * source.h - an executor as the source of its scheduler (state/source.h): what it does in each
 * turn, before it sleeps and when it wakes.
 */
#ifndef NB_EXECUTOR_SOURCE_H
#define NB_EXECUTOR_SOURCE_H

#include "binding/ports/executor_state.h"

/* Makes it the source of its scheduler. Where it may run the I/O loop's turns, it does so from now
   on (loop/lease.h). */
void nb_executor_attach(nb_executor *executor);

#endif
