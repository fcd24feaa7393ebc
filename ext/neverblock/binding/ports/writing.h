/*
 * writing.h - what a task's fiber sends to its loop. And its waits: for room in the response ring,
 * for the client, and for a connection that it takes over. The executor's thread, with the GVL.
 */
#ifndef NB_BINDING_WRITING_H
#define NB_BINDING_WRITING_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binding/ports/task_state.h"

/* The current fiber is about to get an error that says that the client is gone. If it is the task's
   own fiber, nothing else is raised into it for that. */
void nb_executor_tell_gone(nb_task *task);
/* Raises NeverBlock::ClientGone in the current fiber, where it writes. */
_Noreturn void nb_executor_raise_gone(nb_task *task);

/* nb_scheduler_park in the shape rb_protect and rb_ensure take. */
VALUE nb_executor_park(VALUE scheduler);

/* A fiber that waits to write the task's response, or was woken there and has not run since, goes
   on with an exception: the response has ended, or the request has. */
void nb_executor_end_wait(nb_task *task);
/* Room for a part of `bytes` in the response ring; parks the fiber until there is. Never NULL.
   Raises NeverBlock::ClientGone when nobody is left to read it, and what is raised into the fiber
   meanwhile. */
void *nb_executor_reserve(nb_task *task, size_t bytes);
/* True: there is room for `bytes`. False: there was none and the fiber has been parked; what it has
   decided before may be out of date. Raises as nb_executor_reserve does. */
bool nb_executor_room(nb_task *task, size_t bytes);
/* The same for a part with a descriptor, which is the loop's when the part has been sent. */
void *nb_executor_reserve_with(nb_task *task, size_t bytes, int fd);
/* Ends the part and makes it visible; rings the loop when it has waited long. */
void nb_executor_send(nb_task *task, size_t bytes);
/* The loop looks at what was sent now. */
void nb_executor_flush(nb_task *task);
/* Body bytes a response may have sent since its backlog was last known to be low; then its writer
   parks. */
uint64_t nb_executor_backlog_high(const nb_task *task);
/* Parks until the connection that was asked for is the task's (`handover`). Raises
   NeverBlock::ClientGone, and what is raised into the fiber meanwhile. */
void nb_executor_wait_hijacked(nb_task *task);
/* Tells the loop what the task's application has taken of its streamed body, now or when the ring
   has room. */
void nb_executor_tell_taken(nb_task *task);
void nb_executor_forget_taken(nb_task *task);
/* Sends what nb_executor_tell_taken had no room for. */
void nb_port_tell_taken(nb_port *port);
/* Parks until the response's backlog is low or the client is gone. Raises what is raised into the
   fiber meanwhile. */
void nb_executor_wait_drained(nb_task *task);

#endif
