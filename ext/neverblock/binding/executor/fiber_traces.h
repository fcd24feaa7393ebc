/*
 * fiber_traces.h - where parked fibers are, as lines of a backtrace, for those who look at the
 * server (intake/fiber_table.h).
 *
 * Two kinds are taken, between two turns and for a bounded time: of all parked fibers when a loop
 * has asked, and of fibers that have waited for long. The second are there when the executor is
 * stuck later. The executor's thread, with the GVL. Nothing raises.
 */
#ifndef NB_BINDING_FIBER_TRACES_H
#define NB_BINDING_FIBER_TRACES_H

#include "binding/ports/executor_state.h"

/* Takes some of what is due, in the loop fiber. */
void nb_executor_traces_take(nb_executor *executor);
/* Has a loop asked for traces that are not all taken yet? */
bool nb_executor_traces_asked(const nb_executor *executor);
/* When the next turn is to come for traces, though nothing else is to be done; INT64_MAX: all that
   have waited for long are traced, or none waits. */
int64_t nb_executor_traces_due_ns(const nb_executor *executor);
/* Frees the room that traces are made in. */
void nb_executor_traces_free(nb_executor *executor);

#endif
