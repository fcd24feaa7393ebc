/*
 * timeslice_job.h - the postponed job that preempts a fiber. Ruby runs it on the thread that it
 * meets, with the GVL, between two instructions of Ruby code or where a C function lets interrupts
 * act.
 */
#ifndef NB_BINDING_TIMESLICE_JOB_H
#define NB_BINDING_TIMESLICE_JOB_H

#include <stdbool.h>

typedef void nb_timeslice_job(void *unused);

/* Sets the job. Once, with the GVL. */
void nb_timeslice_job_prepare(nb_timeslice_job *job);
/* Asks for the job. Any thread, with or without the GVL. */
void nb_timeslice_job_ask(void);
/* May an event hook follow the switches of fibers? Before Ruby 3.3 YJIT throws away all that it has
   compiled when a hook is added for an event that a TracePoint may have (vm_trace.c,
   update_global_event_hook). It does not compile it again, which costs more than preemptions that
   come later. */
bool nb_timeslice_job_may_follow(void);

#endif
