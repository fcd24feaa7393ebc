/*
 * entry.h - how many requests an executor begins with in a turn, and how many it asks for. And what
 * it tells of requests that compute for long (intake/throttle.h). docs/decisions/0010.
 *
 * All functions run on the executor's thread with the GVL.
 */
#ifndef NB_BINDING_EXECUTOR_ENTRY_H
#define NB_BINDING_EXECUTOR_ENTRY_H

#include <ruby.h>

#include "binding/ports/executor_state.h"

/* A turn begins to take requests: it begins with no other after `entry_until_ns`. */
void nb_executor_entry_begin(nb_executor *executor, int64_t now_ns);
/* The turn has begun with so many requests, each until it first waited or ended. began_ns: when the
   first began. */
void nb_executor_entry_end(nb_executor *executor, int64_t began_ns, uint64_t received);

/* Asks for as many requests as there are free fibers, a few ahead at most, and tells how many
   fibers are free. Once a turn. */
void nb_executor_ask_for_more(nb_executor *executor);

/* The fiber that runs is about to be preempted (nb_scheduler_source.preempted). executor: an
   nb_executor. */
void nb_executor_preempted(void *executor);
/* The task's request has ended: it is no longer among those that compute for long. */
void nb_executor_leave(nb_task *task);

/* Executor.request_class_of, .close_request_class, .open_request_class. */
void nb_executor_entry_define(VALUE class);

#endif
