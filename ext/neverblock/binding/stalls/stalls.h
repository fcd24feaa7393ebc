/*
 * stalls.h - the stall watch: sees, without the GVL, for how long each executor of this process
 * runs one fiber, finds out where that fiber is, and tells it.
 *
 * The watchdog's thread looks (binding/base/process_watchdog.h). stall/stall_watch.h decides when
 * it asks, and when a burst is a stall. stalls/stalls_answer.h finds out where the fiber is, and
 * stalls/stalls_tell.h reports it.
 */
#ifndef NB_BINDING_STALLS_H
#define NB_BINDING_STALLS_H

#include <ruby.h>

#include "binding/ports/executor_state.h"

void nb_stalls_define(VALUE module);

/* The executor runs on the calling thread from now on. options: the Hash that
   lib/neverblock/server/stalls.rb gathers; nil: the executor is not watched. GVL. Raises
   NoMemoryError, and ThreadError when there is no thread for the reporter. */
void nb_stalls_begin(nb_executor *executor, VALUE options);
/* The executor has ended. Returns the reporter's thread, which ends now and can be joined, if no
   other executor is watched; else nil. GVL. */
VALUE nb_stalls_end(nb_executor *executor);
/* The executor is freed. In a child of its process it is still watched, by nobody. A collection may
   be under way. */
void nb_stalls_forget(nb_executor *executor);

#endif
