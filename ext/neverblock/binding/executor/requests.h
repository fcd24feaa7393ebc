/*
 * requests.h - a request's way from the ring to a task: the next message, whose it is, and what the
 * task then knows.
 */
#ifndef NB_BINDING_REQUESTS_H
#define NB_BINDING_REQUESTS_H

#include <stdbool.h>

#include "binding/ports/port.h"
#include "binding/ports/task_state.h"

/* The ring's next message, or NULL. The message before it is given back to the ring. */
const nb_message *nb_port_next_message(nb_port *port);

/* The executor takes the request, which its port has in hand from now on. False: the loop has
   requeued it for another executor. */
bool nb_request_take(nb_port *port, nb_request_message *request);
/* Between processes the file of a body comes beside its record, one in one process is in it. */
void nb_request_take_body(nb_port *port, nb_request_message *request);
/* The task serves it. Raises NoMemoryError. */
void nb_request_give(nb_task *task, nb_port *port, nb_request_message *request);

/* For a task's fiber that has ended its request and given the task back to the pool: gives it the
   next request that waits, when the drain itself runs this fiber. That saves parking it and
   switching to it again. */
bool nb_executor_next(nb_task *task);

/* `running` or `fibers` has changed. */
void nb_executor_tell_running(nb_executor *executor);

#endif
