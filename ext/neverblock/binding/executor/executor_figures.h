/*
 * executor_figures.h - figures of an executor's thread and of its process, for the loop and for the
 * admin pages (intake/channel.h). The executor's thread, with the GVL.
 */
#ifndef NB_EXECUTOR_FIGURES_H
#define NB_EXECUTOR_FIGURES_H

#include "binding/ports/executor_state.h"

/* Begins to count: what a forked process has from its parent is left out. */
void nb_executor_figures_begin(nb_executor *executor);
/* Writes the figures of the process to the board. */
void nb_executor_figures_tell(nb_executor *executor, int64_t now_ns);
/* A pass over the ready queue has ended: notes how long it took, with what came before it since the
   last sleep. */
void nb_executor_figures_turn(nb_executor *executor);
/* The executor is about to sleep: notes how much of its time each request took since it woke, as a
   moving average. */
void nb_executor_figures_sleep(nb_executor *executor);

#endif
