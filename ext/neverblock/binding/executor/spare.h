/*
 * spare.h - what a standby executor (spare) answers when the loop calls it
 * (dispatch/dispatch_spares.c): whether the executor that it helps is blocked in a call without the
 * GVL. The spare's thread.
 */
#ifndef NB_EXECUTOR_SPARE_H
#define NB_EXECUTOR_SPARE_H

#include "binding/ports/executor_state.h"

/* Was it called, and has not answered? */
bool nb_executor_is_called(const nb_executor *executor);
/* Answers, if it was called. With the GVL, for which the call was waiting. */
void nb_executor_answer_call(nb_executor *executor);

#endif
