/*
 * timeslice.h - the end of a running fiber's slice of time.
 *
 * The watchdog (timeslices/timeslice_look.h) asks Ruby for a postponed job (timeslices/timeslice_job.h) when a fiber
 * has run too long. A job is Ruby's to run, later or on another thread than was meant: so it
 * decides anew, by what it finds in the thread it runs on, and a job that comes too late does
 * nothing. There, wherever Ruby could switch threads as well, the fiber is put into the list `preempted`
 * and transfers to the loop, as a fiber that waits does. docs/decisions/0007 says where that must
 * not be, and how each case is kept out.
 */
#ifndef NB_BINDING_TIMESLICE_H
#define NB_BINDING_TIMESLICE_H

#include <ruby.h>

/* Time slices of so many ms from now on; 0: none any more. Raises NeverBlock::Error when there is
   no thread for the watchdog. */
void nb_scheduler_timeslice(VALUE scheduler, unsigned slice_ms);
/* slice_ms as Ruby has it: an Integer, or nil, which is 0. Raises ArgumentError. */
unsigned nb_timeslice_ms_read(VALUE slice_ms);

/* klass: NeverBlock::Scheduler. module: NeverBlock, for .uninterrupted. */
void nb_timeslice_define(VALUE klass, VALUE module);

#endif
