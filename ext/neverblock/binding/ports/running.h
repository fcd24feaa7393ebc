/*
 * running.h - the executors that run in this process, and the tasks of each by their exchange.
 */
#ifndef NB_BINDING_RUNNING_H
#define NB_BINDING_RUNNING_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/ports/executor_state.h"
#include "binding/ports/task_state.h"

/* The executor runs on the current thread from now on; and not any more. GVL. */
void nb_executor_begin_running(nb_executor *executor);
void nb_executor_end_running(nb_executor *executor);
/* The executor that runs on the current thread, or NULL. GVL. */
nb_executor *nb_executor_running_here(void);
/* The first executor that runs in this process; the others follow by `next`. GVL. */
nb_executor *nb_executor_running(void);

/* Is this a child of the executor's process? There the fiber goes on that has forked, and the
   channel is the parent's. */
bool nb_executor_in_child(const nb_executor *executor);

/* The task whose request the fiber runs; NULL: none. Safe in a signal handler. */
static inline nb_task *nb_executor_task_of(const nb_executor *executor, VALUE fiber) {
    for (uint32_t i = 0; i < executor->task_count; i++) {
        nb_task *task = executor->tasks[i];
        if (task->fiber == fiber && task->busy) return task;
    }
    return NULL;
}
/* The task of an exchange, or NULL. */
nb_task *nb_executor_task_for(const nb_executor *executor, nb_exchange_id exchange);
/* The same, if the executor runs on the current thread. */
nb_task *nb_executor_find_task(nb_exchange_id exchange);
/* The same of any executor of this process. */
nb_task *nb_executor_find_task_anywhere(nb_exchange_id exchange);
/* Enters the task, whose exchange and port are set, into its port's table. Raises NoMemoryError. */
void nb_executor_index_task(nb_task *task);
/* Takes it out of the table. */
void nb_executor_unindex_task(nb_task *task);

#endif
