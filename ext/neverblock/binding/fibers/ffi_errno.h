/*
 * ffi_errno.h - what FFI.errno answers.
 *
 * The gem ffi keeps the errno of the last call in a key of the thread, which all fibers of the
 * thread share. It is a root fiber's here, as $? is (fibers/root.h): a wait takes it when its fiber
 * is left, and gives it back when that goes on. Without ffi both do nothing.
 */
#ifndef NB_BINDING_FFI_ERRNO_H
#define NB_BINDING_FFI_ERRNO_H

#include <ruby.h>
#include <stdbool.h>

/* With Ruby's lock. What the thread has now; 0: ffi is not loaded. Its method looks for interrupts:
   where one is raised, *tag is that of rb_protect, else 0. */
int nb_ffi_errno_take(int *tag);
/* The same in a postponed job. False: an interrupt came, which is raised after the job, so that the
   fiber may not be left; *unsent is as nb_interrupt_call gives it. Does not raise. */
bool nb_ffi_errno_take_in_job(int *error, VALUE *unsent);
/* With Ruby's lock. Gives it back to the thread; C's own errno stays. Does not raise. */
void nb_ffi_errno_give(int error);

/* Scheduler.watch_ffi. */
void nb_ffi_errno_define(VALUE klass);

#endif
