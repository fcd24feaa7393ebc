/*
 * stalls_trace.h - where a thread is, as the lines of a backtrace. The thread tells it itself, or
 * another thread that has the GVL, or a signal while the thread is in a C call that keeps the GVL.
 */
#ifndef NB_BINDING_STALLS_TRACE_H
#define NB_BINDING_STALLS_TRACE_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/ports/executor_state.h"
#include "stall/stall.h"

void nb_stalls_trace_define(void);

/* The lines of the current thread, and of another. With the GVL. They do not raise, and leave $! as
   it was: where an error comes up the answer has no lines. */
void nb_stalls_trace_here(nb_stall *stall);
void nb_stalls_trace_thread(nb_stall *stall, VALUE thread);
/* The lines of the current thread, which a signal has interrupted in a C call, with the GVL and
   outside of a garbage collection. Reads only what that thread has, and makes no object. */
void nb_stalls_trace_signalled(nb_stall *stall);

/* The request whose fiber the executor runs. With the GVL, or in such a signal. */
void nb_stalls_trace_request(nb_stall *stall, const nb_executor *executor);

#endif
