/*
 * requests.h - a request's way from the ring to a task: the next message, whose it is, and what the
 * task then knows.
 */
#ifndef NB_BINDING_REQUESTS_H
#define NB_BINDING_REQUESTS_H

#include <stdbool.h>

#include "binding/ports/port.h"
#include "binding/ports/task_state.h"

/* The ring's next message, or NULL. The message before it goes back to the ring. */
const nb_message *nb_port_next_message(nb_port *port);

/* The executor claims the request, which its port has in hand from now on. False: the loop has
   requeued it for another executor. */
bool nb_request_take(nb_port *port, nb_request_message *request);
/* Takes the descriptor of the request's body: between processes it comes beside the record, within
   one process it is in it. */
void nb_request_take_body(nb_port *port, nb_request_message *request);
/* The task serves the request. Raises NoMemoryError. */
void nb_request_give(nb_task *task, nb_port *port, nb_request_message *request);

/* For a task's fiber that has ended its request and has put the task back into the pool: serves the
   next request that waits, if the drain itself runs this fiber. That saves parking the fiber and
   switching to it again. */
bool nb_executor_next(nb_task *task);

/* Writes `running` and `fibers` to the board when one has changed. */
void nb_executor_tell_running(nb_executor *executor);

#endif
