/*
 * stalls_trace.h - where a thread is, as text: by itself, by another thread that has Ruby's lock, or by a signal while it sits in a C call with that lock.
 */
#ifndef NB_BINDING_STALLS_TRACE_H
#define NB_BINDING_STALLS_TRACE_H

#include <ruby.h>
#include <stdbool.h>

#include "binding/ports/executor_state.h"
#include "stall/stall.h"

void nb_stalls_trace_define(void);

/* Of the current thread, and of another; with Ruby's lock. They do not raise, and leave $! as it was: what goes wrong leaves the trace empty. */
void nb_stalls_trace_here(nb_stall *stall);
void nb_stalls_trace_thread(nb_stall *stall, VALUE thread);
/* Of the thread a signal has interrupted in a C call, with Ruby's lock, outside of a garbage collection: reads only what that thread has, and makes no object. */
void nb_stalls_trace_signalled(nb_stall *stall);

/* The request whose fiber the executor runs. With Ruby's lock, or in such a signal. */
void nb_stalls_trace_request(nb_stall *stall, const nb_executor *executor);

#endif
