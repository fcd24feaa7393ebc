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

/* With Ruby's lock. What the thread has now, an Integer; 0: ffi is not loaded. Raises what an
   interrupt brings, as its method looks for interrupts. */
VALUE nb_ffi_errno_ask(VALUE unused);
/* The same for C. *tag: that of rb_protect where something was raised, else 0. */
int nb_ffi_errno_take(int *tag);
/* With Ruby's lock. Gives it back to the thread; C's own errno stays. Does not raise. */
void nb_ffi_errno_give(int error);

/* Scheduler.watch_ffi. */
void nb_ffi_errno_define(VALUE klass);

#endif
