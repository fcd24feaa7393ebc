/*
 * interrupt.h - raises into the running fiber from its own postponed job, as Thread#raise from
 * another thread would.
 *
 * Ruby swallows what is raised in a job (vm_trace.c, rb_postponed_job_flush), and Thread#raise at
 * the current thread raises at once. So a helper thread calls Thread#raise, and the job waits for
 * that without the GVL. Ruby raises it right after the job, where it looks for interrupts: in the
 * same fiber, as no other runs in between.
 */
#ifndef NB_BINDING_INTERRUPT_H
#define NB_BINDING_INTERRUPT_H

#include <ruby.h>
#include <stdbool.h>

void nb_interrupt_define(void);
/* Starts the helper thread, unless it runs. GVL. False: there is no thread to be had, and nothing
   is raised into a fiber that computes. */
bool nb_interrupt_prepare(void);
/* Ends the helper thread, and waits for that. GVL; not in a fiber that runs under a scheduler. */
void nb_interrupt_end(void);
/* Can it raise now? GVL. */
bool nb_interrupt_ready(void);
/* Raises in the current thread right after the running job: to be called as the last of that job.
   raises: an Array of raise's arguments; nil: kills the thread. False: nothing is raised. */
bool nb_interrupt_self(VALUE raises);
/* Calls the function in a postponed job. Each return of a method looks for interrupts, and may let
   another thread run that sends one; Ruby would swallow that, and leave the frame of the call
   behind. Qundef: an interrupt has ended the call, and is sent again; *unsent (or NULL) is an
   exception that cannot be sent, else nil. NoMemoryError and SystemStackError of the call itself
   are dropped. Does not raise, and leaves $! as it was. */
VALUE nb_interrupt_call(VALUE (*function)(VALUE), VALUE argument, VALUE *unsent);

#endif
