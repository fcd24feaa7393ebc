/*
 * spare.h - what a spare answers when it is called (core/dispatch/dispatch_spares.c): whether the executor it helps is blocked without Ruby's lock.
 */
#ifndef NB_EXECUTOR_SPARE_H
#define NB_EXECUTOR_SPARE_H

#include "binding/ports/executor_state.h"

/* It is called and has not answered. */
bool nb_executor_is_called(const nb_executor *executor);
/* Answers, if it is called. With Ruby's lock, which the call was waiting for. */
void nb_executor_answer_call(nb_executor *executor);

#endif
