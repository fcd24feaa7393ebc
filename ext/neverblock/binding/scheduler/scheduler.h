/*
 * scheduler.h - NeverBlock::Scheduler, the Fiber::Scheduler of this gem, for the folders above:
 * what takes the Ruby object.
 *
 * One scheduler belongs to one Ruby thread. Its loop runs in the fiber that called run (the loop
 * fiber). Every other fiber parks by transferring to the loop fiber, and is transferred back to
 * when it is ready. The scheduler keeps parked fibers alive (marks them). All functions take the
 * GVL.
 */
#ifndef NB_BINDING_SCHEDULER_H
#define NB_BINDING_SCHEDULER_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/state/heap.h"
#include "binding/state/source.h"
#include "intake/account.h"
#include "intake/fiber_table.h"

/* At most one; before run. The struct is copied. */
void nb_scheduler_attach(VALUE scheduler, const nb_scheduler_source *source);

/* The source is not called any more. */
void nb_scheduler_detach(VALUE scheduler);

/* When the thread's scheduler is unset, nobody waits for what the fibers that are left wait for:
   they are dropped. (Where an exception is on its way that is so in any case; a Thread#kill cannot
   be seen in the function of an rb_ensure.) */
void nb_scheduler_abandon(VALUE scheduler);

/* The time of the last switch or later; the time now. Monotonic ns. */
int64_t nb_scheduler_now(VALUE scheduler);
int64_t nb_scheduler_clock(VALUE scheduler);

/* The poller's descriptor, so that the source's wait can watch it; -1 when it has none. */
int nb_scheduler_poll_descriptor(VALUE scheduler);

/* Appends `fiber` to the fair ready queue; it runs in a later pass. The fiber must be parked by
   nb_scheduler_park; if it is not parked now, nothing happens (and a later park is not ended). GVL,
   any thread (wakes the loop when it sleeps). */
void nb_scheduler_ready(VALUE scheduler, VALUE fiber);

/* What the next wait of the running fiber is for, for those who look at the server. Does not
   raise. */
void nb_scheduler_next_wait(VALUE scheduler, nb_fiber_wait_kind kind);
/* The running fiber works for this request from now on; exchange 0: for none. Its record
   (intake/fiber_table.h) or NB_FIBER_NONE; its account, borrowed until nb_scheduler_detach, or
   NULL. */
void nb_scheduler_serves(VALUE scheduler, uint32_t record, uint64_t exchange, nb_account *account);
/* What the running fiber does from now on is other work: an end of that cuts none of the sockets
   that it has used up to now. */
void nb_scheduler_forget_socket(VALUE scheduler);
/* Adds what the running fiber has run since its last wait to its request's account, and returns the
   time. */
int64_t nb_scheduler_count(VALUE scheduler);

/* The wait record of the fiber in this place of the table of parked fibers, and the fiber.
   NB_FIBER_NONE: the place is free, or its wait is not recorded. Places change when fibers park. */
uint32_t nb_scheduler_parked_at(VALUE scheduler, size_t place, VALUE *fiber);
size_t nb_scheduler_parked_places(VALUE scheduler);
/* Was a wait recorded since the last nb_scheduler_take_waited? */
bool nb_scheduler_waited(VALUE scheduler);
bool nb_scheduler_take_waited(VALUE scheduler);

/* Parks the current fiber until nb_scheduler_ready or nb_scheduler_switch_to was called for it.
   Raises what was raised into the fiber (Fiber#raise, Thread#raise). Must be called in a fiber of
   this scheduler, not in the loop fiber of a scheduler with a source. */
void nb_scheduler_park(VALUE scheduler);

/* Transfers to `fiber`, new or parked by nb_scheduler_park, at once, from the loop fiber (inside
   drain); returns when it parks or ends. What Thread#raise, a signal or `exit` brings meanwhile is
   kept and raised by the loop after this turn's turn_end. */
void nb_scheduler_switch_to(VALUE scheduler, VALUE fiber);

/* True: what nb_scheduler_switch_to has kept is a want of memory for the fiber's stack; it is in $!
   now, and the loop raises it no more. */
bool nb_scheduler_take_want(VALUE scheduler);

/* The root fiber that runs now: the loop has switched to it, and it runs, or a fiber that it has
   resumed. nil: none. Any thread with the GVL. */
VALUE nb_scheduler_root(VALUE scheduler);
/* Are there preempted fibers? */
bool nb_scheduler_has_preempted(VALUE scheduler);

/* What decides when Ruby collects, for its fibers. As long as the scheduler. */
nb_heap *nb_scheduler_heap(VALUE scheduler);

/* For a fiber that goes on with other work of the source's without parking: stamps as a switch
   does. */
void nb_scheduler_stamp(VALUE scheduler);

/* Runs the loop on the calling fiber until the source is finished and no fiber is left. Raises what
   Thread#raise or a signal brought; the fibers that were parked stay parked, and the loop may be
   run again. */
void nb_scheduler_run(VALUE scheduler);

#endif
