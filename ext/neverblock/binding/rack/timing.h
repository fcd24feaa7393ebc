/*
 * timing.h - where a request's time went (intake/account.h), as the application and the log see it.
 *
 * All functions run in the task's fiber, without parking it.
 */
#ifndef NB_BINDING_TIMING_H
#define NB_BINDING_TIMING_H

#include "binding/rack/response_head.h"

/* The setting server_timing: false, true, or the secret that a request brings in X-Server-Timing.
   Raises TypeError. */
VALUE nb_timing_read_setting(VALUE value);
/* The request begins: is its response to say where its time went? */
void nb_timing_begin(nb_task *task);
/* Adds the field Server-Timing to the response's head, once, if it is asked for and has room. What
   the head has not been told by then is not in it. Raises NoMemoryError. */
void nb_timing_add_field(nb_task *task, nb_response_head *gathered);
/* The response's head was handed to the loop. */
void nb_timing_note_head(nb_task *task);
/* Sets env["neverblock.time"] where the executor's `request_times` asks for it: a Hash of
   milliseconds, docs/guides/timing.md says of what. Nothing is set in one that the application has
   frozen. Raises NoMemoryError. */
void nb_timing_put(nb_task *task);

void nb_timing_define(void);

#endif
