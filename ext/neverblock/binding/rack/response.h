/*
 * response.h - what an application returned, as parts in the response ring: [status, headers, body] of Rack 3.1
 * and 2.2.
 *
 * Field names and values are checked here, so that no application can put a line of its own into a response (header
 * injection): a response that does not pass is refused by an exception before a byte of it was sent. Functions run in
 * the task's fiber, may park it, and raise what the application's body raises.
 */
#ifndef NB_BINDING_RESPONSE_H
#define NB_BINDING_RESPONSE_H

#include <ruby.h>

#include "binding/ports/task_state.h"

/* Sends head and body. Raises NeverBlock::Error for a response that breaks the rules, what the body raised, or
 * NeverBlock::ClientGone. */
void nb_response_send(nb_task *task, VALUE response);
/* For a task whose response failed: a 500, or a 503 when its deadline has passed, if nothing was sent yet, else the mark that the
 * body is cut. Raises what nb_executor_reserve does. */
void nb_response_fail(nb_task *task);

#define NB_RESPONSE_REFUSAL_BYTES_MAX 256
/* A 503 for a request that no task runs; returns its bytes. */
size_t nb_response_write_refusal(void *place, nb_exchange_id exchange);

/* NeverBlock::Stream: what a body's call is given. */
void nb_response_define(VALUE module);

#endif
