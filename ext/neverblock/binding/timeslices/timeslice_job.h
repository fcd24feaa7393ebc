/*
 * timeslice_job.h - the postponed job that ends a slice: Ruby runs it in the thread it meets, its lock
 * held, between two instructions of Ruby code or where a C function lets interrupts act.
 */
#ifndef NB_BINDING_TIMESLICE_JOB_H
#define NB_BINDING_TIMESLICE_JOB_H

#include <stdbool.h>

typedef void nb_timeslice_job(void *unused);

/* The job that is asked for from now on. Once. */
void nb_timeslice_job_prepare(nb_timeslice_job *job);
/* Any thread, with or without Ruby's lock. */
void nb_timeslice_job_ask(void);
/* May the switches of fibers be followed by an event hook? YJIT before Ruby 3.3 throws away all
   that it has compiled when a hook is added for any event a TracePoint may have (vm_trace.c,
   update_global_event_hook), and does not compile it again: that is dearer than ends of slices that
   come later. */
bool nb_timeslice_job_may_follow(void);

#endif
