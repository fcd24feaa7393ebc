/*
 * task.h - a request in its fiber, from the application's call to the last clean-up, and the pool those fibers come
 * from.
 *
 * A pooled fiber serves one request after the other; between two it is scrubbed of what the application left on it. The
 * steps of a request (answer, failure's answer, the body's close, rack.response_finished, the spooled body's close) are
 * all taken, whatever the ones before them raised.
 */
#ifndef NB_BINDING_TASK_H
#define NB_BINDING_TASK_H

#include "binding/ports/executor_state.h"

/* Of address space, not of memory: for a collection, for what a request that runs still makes, and for a stop. */
#define NB_EXECUTOR_RESERVE_BYTES ((size_t)32 << 20)

void nb_task_define(void);
void nb_task_mark(const nb_task *task);

/* An idle task with a parked or new fiber, taken out of the pool. The caller fills in exchange and request, sets busy,
   and switches to the fiber. NULL: no fiber can be made (memory, vm.max_map_count), and $! says why.
   Raises what was raised into the thread meanwhile. */
nb_task *nb_task_take(nb_executor *executor);
/* One that was taken and not used. */
void nb_task_give_back(nb_task *task);
/* Has its fiber not taken up the request that it was switched to for? */
bool nb_task_not_begun(const nb_task *task, const nb_request_message *request);
/* Puts one whose fiber could not begin back into the pool, without that fiber and its request. */
void nb_task_drop(nb_task *task);
/* Ends the fibers of idle tasks, the `keep` used last excepted. */
void nb_task_retire_idle(nb_executor *executor, uint32_t keep);

#endif
