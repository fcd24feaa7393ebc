/*
 * source.h - an executor as the source of its scheduler: what it does in each turn, before it sleeps and when it wakes.
 */
#ifndef NB_EXECUTOR_SOURCE_H
#define NB_EXECUTOR_SOURCE_H

#include "binding/ports/executor_state.h"

/* The scheduler has it as its source from now on; it may run the I/O loop's turns where it is the one that does. */
void nb_executor_attach(nb_executor *executor);

#endif
