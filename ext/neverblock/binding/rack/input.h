/*
 * input.h - NeverBlock::StreamInput: rack.input of a request whose body follows while the request
 * runs (intake/message.h, NB_REQUEST_STREAMS).
 *
 * This half keeps the parts that have come, parks the fiber that waits for the next, and tells the
 * I/O loop what was taken. lib/neverblock/rack/stream_input.rb makes read, gets and each of it. An
 * input is made in the task's fiber, filled by the executor's drain, and read on the executor's
 * thread. It may outlive its request.
 */
#ifndef NB_BINDING_INPUT_H
#define NB_BINDING_INPUT_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/ports/task_state.h"
#include "intake/message.h"

void nb_input_define(VALUE module);
bool nb_input_is(VALUE object);
/* The response has ended: a fiber that waits for a part is woken, and gets an error. Never
   raises. */
void nb_input_look(VALUE self);
/* The fiber that waits to read from this object, or Qnil. object: any. */
VALUE nb_input_reader(VALUE object);
/* Makes the input of the task's request. Raises NoMemoryError. */
VALUE nb_input_open(nb_task *task);
/* A part has come (an NB_MESSAGE_INPUT). Never raises. */
void nb_input_push(VALUE input, const nb_message *message);
/* Nothing more comes, for this reason; what is there may still be read. Never raises. */
void nb_input_end(VALUE input, nb_gone_reason reason);
/* The request is over, and its task may go. Never raises. */
void nb_input_close(VALUE input);

#endif
