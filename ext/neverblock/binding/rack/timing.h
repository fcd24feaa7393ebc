/*
 * timing.h - where a request's time went (intake/account.h), as the application and the log see it.
 *
 * All functions run in the task's fiber, without parking it.
 */
#ifndef NB_BINDING_TIMING_H
#define NB_BINDING_TIMING_H

#include "binding/ports/executor_state.h"

/* The response's head was handed to the loop. */
void nb_timing_note_head(nb_task *task);
/* Sets env["neverblock.time"] where the executor's `request_times` asks for it: a Hash of
   milliseconds, docs/guides/timing.md says of what. Raises NoMemoryError. */
void nb_timing_put(nb_task *task);

void nb_timing_define(void);

#endif
