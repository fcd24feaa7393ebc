/*
 * response.h - what an application has returned, [status, headers, body] of Rack 3.1 or 2.2, as
 * parts in the response ring.
 *
 * A response that breaks the rules of HTTP is refused by an exception before a byte of it is sent.
 * Functions run in the task's fiber, may park it, and raise what the application's body raises.
 */
#ifndef NB_BINDING_RESPONSE_H
#define NB_BINDING_RESPONSE_H

#include <ruby.h>

#include "binding/ports/task_state.h"

/* Sends head and body. Raises NeverBlock::Error for a response that breaks the rules,
   NeverBlock::ClientGone, and what the body raises. */
void nb_response_send(nb_task *task, VALUE response);
/* For a task whose response has failed: sends a 500, or a 503 when the request's deadline has
   passed; or, if the head has left, the mark that the body is cut off. Raises as
   nb_executor_reserve does. */
void nb_response_fail(nb_task *task);

#define NB_RESPONSE_REFUSAL_BYTES_MAX 256
/* Writes a 503 for a request that no task runs, at most NB_RESPONSE_REFUSAL_BYTES_MAX bytes;
   returns how many. */
size_t nb_response_write_refusal(void *place, nb_exchange_id exchange);

/* Also defines NeverBlock::Stream. */
void nb_response_define(VALUE module);

#endif
