/*
 * entry.h - how many requests an executor begins with in a turn, how many it asks for, and what it tells of those that compute for long
 * (intake/throttle.h). docs/decisions/0010.
 */
#ifndef NB_BINDING_EXECUTOR_ENTRY_H
#define NB_BINDING_EXECUTOR_ENTRY_H

#include <ruby.h>

#include "binding/ports/executor_state.h"

/* A turn begins to take requests: until `entry_until_ns` it may begin with another. */
void nb_executor_entry_begin(nb_executor *executor, int64_t now_ns);
/* It has taken so many, each until it first waited or ended. */
void nb_executor_entry_end(nb_executor *executor, int64_t began_ns, uint64_t received);

/* Asks for as many requests as there are fibers for, a few ahead at most, and says how many there are fibers for. Once a turn. */
void nb_executor_ask_for_more(nb_executor *executor);

/* The slice of the fiber that runs has ended (nb_scheduler_source.cut). */
void nb_executor_cut(void *executor);
/* The task's request has ended. */
void nb_executor_leave(nb_task *task);

/* Executor.request_class_of, .close_request_class, .open_request_class. */
void nb_executor_entry_define(VALUE class);

#endif
