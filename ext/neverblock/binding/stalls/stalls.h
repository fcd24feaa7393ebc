/*
 * stalls.h - the stall watch: looks, without Ruby's lock, at how long each executor of this process runs one fiber, finds out where that is, and tells it.
 *
 * The watchdog's thread looks (binding/base/watchdog.h, stall/stall_watch.h). Where the fiber is, is found out by whoever can, the gentlest first:
 *   - a postponed job, which runs in the executor's own thread where Ruby looks for interrupts: it is in Ruby code;
 *   - a Ruby thread of ours, which gets Ruby's lock: the fiber is in a call that has released it;
 *   - where neither can run, the fiber is in a C call, or a garbage collection, that holds the lock: its thread is interrupted by SIGURG (whose default is to be
 *     ignored, so that none that comes late does harm), and reads its own stack into memory that is not Ruby's.
 * Who answers claims the one place for the answer; the watchdog's thread reads it, counts it on the board and writes the log's entries.
 */
#ifndef NB_BINDING_STALLS_H
#define NB_BINDING_STALLS_H

#include <ruby.h>

#include "binding/ports/executor_state.h"

void nb_stalls_define(VALUE module);

/* The executor runs on the calling thread from now on. options: what lib/neverblock/server/stalls.rb gathers, or nil: it is not watched. Raises NoMemoryError. */
void nb_stalls_begin(nb_executor *executor, VALUE options);
/* It does not run any more. Our Ruby thread, if the executor was the last that is watched, so that it ends now and can be waited for; else nil. */
VALUE nb_stalls_end(nb_executor *executor);

#endif
