/*
 * limit.h - blocks of a fiber's work that may be ended from outside, by an exception. It is raised
 * in the wait that the fiber is in. A fiber that was woken before gets it at its next wait. A block
 * that ends before its next wait has ended in time. The end of a Thread.handle_interrupt block, and
 * the beginning of one that lets something in, raise as a wait does (Scheduler#after_mask).
 *
 * All functions take the GVL and run on the scheduler's thread.
 */
#ifndef NB_BINDING_LIMIT_H
#define NB_BINDING_LIMIT_H

#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/state/late.h"

/* --- any block --- */

/* A block of the current fiber begins; its owner has set or sets `raises`. */
void nb_late_enter(nb_scheduler *scheduler, nb_late *late);
void nb_late_leave(nb_late *late);
/* Its alarm goes off at that time; it may be due while its fiber computes. Raises NoMemoryError. */
void nb_late_arm(nb_scheduler *scheduler, nb_alarm *alarm, int64_t deadline_ns);
/* Its time has come. */
void nb_late_raise(nb_scheduler *scheduler, nb_late *late);
/* The first expired nb_late that has something to raise in the running fiber: its own, or that of a
   fiber that has resumed it. It stays listed. NULL: none. waits: as of nb_held_back. */
nb_late *nb_late_expired(nb_scheduler *scheduler, bool waits);
/* An Array of the classes of all that expired ones have to raise in the running fiber, held back or
   not. */
VALUE nb_late_classes(nb_scheduler *scheduler);

/* --- limits --- */

/* All of a fiber's work for a request, which may be ended from outside once: by a deadline, or by
   nb_limit_raise. It lies in memory of its owner, which marks late.raises, and is not moved while
   it is open. */
typedef struct nb_limit {
    nb_late late;
    nb_alarm alarm;
    nb_scheduler *scheduler; /* NULL: not open */
    bool raised;             /* something was raised, though the fiber may not have got it yet */
} nb_limit;

/* Opens it for the current fiber. */
void nb_limit_open(nb_limit *limit, VALUE scheduler);
/* Opens it for another fiber of the scheduler's thread, which is not running. */
void nb_limit_open_for(nb_limit *limit, VALUE scheduler, VALUE fiber);
/* At deadline_ns raises what the array `raises` says, in the words of Kernel#raise. Raises
   NoMemoryError. */
void nb_limit_arm(nb_limit *limit, int64_t deadline_ns, VALUE raises);
/* The deadline counts no more; what it has raised is taken back, if the fiber has not got it
   yet. */
void nb_limit_disarm(nb_limit *limit);
/* Raises now. False: it is not open, or something was raised already. GVL, in any fiber but its
   own. */
bool nb_limit_raise(nb_limit *limit, VALUE raises);
/* Something else was raised in its place: it raises nothing more. */
void nb_limit_spend(nb_limit *limit);
/* Nothing is raised any more. */
void nb_limit_close(nb_limit *limit);

#endif
