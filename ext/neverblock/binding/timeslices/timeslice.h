/*
 * timeslice.h - preempts the running fiber when its time slice has ended and others wait.
 *
 * The watchdog (timeslices/timeslice_look.h) asks Ruby for a postponed job
 * (timeslices/timeslice_job.h) when a fiber has run too long. Ruby may run the job later, or on
 * another thread. So the job decides by what it finds in its own thread, and does nothing when it
 * comes too late. Ruby runs it where it could switch threads as well. There the fiber enters the
 * list `preempted` and transfers to the event loop's fiber, as a fiber that waits does.
 * docs/CODE-TOUR.md walks through it. docs/decisions/0007 says where a fiber must not be left, and
 * how each such place is recognized.
 */
#ifndef NB_BINDING_TIMESLICE_H
#define NB_BINDING_TIMESLICE_H

#include <ruby.h>

/* Time slices of so many milliseconds from now on; 0: none. GVL. Raises NeverBlock::Error when
   there is no thread for the watchdog, and NoMemoryError. */
void nb_scheduler_timeslice(VALUE scheduler, unsigned slice_ms);
/* The value of a slice_ms: an Integer, or nil, which is 0. Raises ArgumentError. */
unsigned nb_timeslice_ms_read(VALUE slice_ms);

/* A call of ours ends. The slice of a fiber that makes it again and again would hardly ever end
   otherwise: it does now, if that was due meanwhile. Raises nothing; what a limit raises comes
   right after. */
void nb_timeslice_call_ends(void);

/* Defines methods of klass, NeverBlock::Scheduler. */
void nb_timeslice_define(VALUE klass);

#endif
