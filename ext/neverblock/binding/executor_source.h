/*
 * executor_source.h - an executor as the source of its scheduler: what it does in each turn, before it sleeps and when it wakes, and how many requests it
 * asks for.
 */
#ifndef NB_EXECUTOR_SOURCE_H
#define NB_EXECUTOR_SOURCE_H

#include "executor.h"

/* The scheduler has it as its source from now on; it may run the I/O loop's turns where it is the one that does. */
void nb_executor_attach(nb_executor *executor);
/* Asks for as many requests as there are fibers for, a few ahead at most, and says how many there are fibers for. */
void nb_executor_ask_for_more(nb_executor *executor);

#endif
