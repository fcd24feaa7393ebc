/*
 * executor_figures.h - what an executor's thread tells of itself and of its process, for the loop and for those who look (intake/channel.h).
 */
#ifndef NB_EXECUTOR_FIGURES_H
#define NB_EXECUTOR_FIGURES_H

#include "binding/ports/executor_state.h"

/* What a forked process has from its parent is left out of the counts. */
void nb_executor_figures_begin(nb_executor *executor);
/* The process's, which are not the executor's own. */
void nb_executor_figures_tell(nb_executor *executor, int64_t now_ns);
/* A pass has ended: how long it took, with what came before it since the last sleep. */
void nb_executor_figures_turn(nb_executor *executor);
/* It is about to sleep: what each request took of it since it woke, as a moving average. */
void nb_executor_figures_sleep(nb_executor *executor);

#endif
