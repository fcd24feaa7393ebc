/*
 * interrupt.h - raises into the running fiber from its own postponed job, as Thread#raise from
 * another thread would.
 *
 * Ruby swallows what is raised in a job (vm_trace.c, rb_postponed_job_flush), and Thread#raise at
 * the current thread raises at once. So a helper thread calls Thread#raise while the job waits for
 * that without Ruby's lock. Ruby raises it right after the job, where it looks for interrupts: in
 * the same fiber, as no other runs in between.
 */
#ifndef NB_BINDING_INTERRUPT_H
#define NB_BINDING_INTERRUPT_H

#include <ruby.h>
#include <stdbool.h>

void nb_interrupt_define(void);
/* Makes the helper thread if there is none; false: there is no thread to be had, and nothing is
   raised into a fiber that computes. */
bool nb_interrupt_prepare(void);
/* Ends it; not in a fiber that runs under a scheduler. */
void nb_interrupt_end(void);
/* In a postponed job, as the last that it does: has the array `raises` of raise's arguments raised
   in the current thread right after the job, or the thread killed (nil). False: it is not. */
bool nb_interrupt_self(VALUE raises);
/* Calls the function in a postponed job: each return of a method looks for interrupts, and may let
   another thread run that sends one. Ruby would swallow what is raised so, and leave the frame of the
   call behind. Qundef: the call was ended. What was sent is sent again; *unsent (NULL: nobody asks) is
   an exception that cannot be, else nil. That the call has found no memory, or no room on the stack,
   is not sent. Does not raise, and leaves $! as it was. */
VALUE nb_interrupt_call(VALUE (*function)(VALUE), VALUE argument, VALUE *unsent);

#endif
