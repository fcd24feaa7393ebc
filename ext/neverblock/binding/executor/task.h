/*
 * task.h - a request in its fiber, from the application's call to the last clean-up, and the pool
 * of these fibers.
 *
 * A pooled fiber serves one request after the other; between two it is cleared of what the
 * application has left on it. The steps of a request are: answer, the answer of a failure, the
 * body's close, where its time went, rack.response_finished, rack.after_reply, the close of a
 * spooled body. Each is taken, whatever the steps before it have raised. All functions run on the
 * executor's thread with the GVL.
 */
#ifndef NB_BINDING_TASK_H
#define NB_BINDING_TASK_H

#include "binding/ports/executor_state.h"

/* Address space that is reserved for a collection, for what running requests still allocate, and
   for a stop. */
#define NB_EXECUTOR_RESERVE_BYTES ((size_t)32 << 20)

void nb_task_define(void);
void nb_task_mark(const nb_task *task);

/* Takes an idle task with a parked or new fiber out of the pool. The caller sets exchange, request
   and `busy`, and switches to the fiber. NULL: no fiber can be made (memory, vm.max_map_count), and
   $! is the error. Raises what was raised into the thread meanwhile. */
nb_task *nb_task_take(nb_executor *executor);
/* Puts a task back that was taken and not used. */
void nb_task_give_back(nb_task *task);
/* Has the task's fiber not begun with the request that it was switched to for? */
bool nb_task_not_begun(const nb_task *task, const nb_request_message *request);
/* Copies the record of a request that has not begun, of `bytes`, as its space goes back to the
   ring. From then on no other process may run the request. Raises NoMemoryError. */
void nb_task_own_request(nb_task *task, size_t bytes);
/* Puts a task whose fiber could not begin back into the pool, without that fiber and its
   request. */
void nb_task_drop(nb_task *task);
/* Ends the fibers of idle tasks, except the `keep` that were used last. */
void nb_task_retire_idle(nb_executor *executor, uint32_t keep);

#endif
