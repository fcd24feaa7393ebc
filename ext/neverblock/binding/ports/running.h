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

/* What an object that may outlive its request has in place of a pointer. Exchanges of several
   engines have the same numbers. */
typedef struct nb_request_name {
    uint64_t executor; /* its number */
    nb_exchange_id exchange;
} nb_request_name;

/* The type of an object of Ruby's whose data is an nb_request_name. */
#define NB_REQUEST_NAME_TYPE(name)                                            \
    {                                                                         \
        .wrap_struct_name = (name), .function = {.dfree = RUBY_DEFAULT_FREE}, \
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED        \
    }

/* An object of a type as above. Raises NoMemoryError. */
VALUE nb_request_name_new(VALUE class, const rb_data_type_t *type, nb_request_name name);
/* The task of the request, if its executor runs on the current thread; else NULL. */
nb_task *nb_executor_find_task(const nb_request_name *name);
/* The same, whatever thread of this process its executor runs on. NULL in a child. */
nb_task *nb_executor_find_task_anywhere(const nb_request_name *name);
/* Enters the task, whose exchange and port are set, into its port's table. Raises NoMemoryError. */
void nb_executor_index_task(nb_task *task);
/* Takes it out of the table. */
void nb_executor_unindex_task(nb_task *task);

#endif
