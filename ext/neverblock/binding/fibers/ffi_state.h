/*
 * ffi_state.h - what the gem ffi keeps for the thread, which all fibers of the thread share: the
 * errno of the last call (FFI.errno), and the calls that are under way, innermost first.
 *
 * The errno is a root fiber's here, as $? is (fibers/root.h). The chain of calls is the fiber's: a
 * callback hands an exception to the innermost call, and a call that ends makes the one before it
 * the innermost. A wait takes both when its fiber is left, and gives them back when that goes on.
 * Without ffi all do nothing.
 */
#ifndef NB_BINDING_FFI_STATE_H
#define NB_BINDING_FFI_STATE_H

#include "binding/state/wait.h"

/* With Ruby's lock. The thread's errno now, an Integer; 0: ffi is not loaded. Raises what an
   interrupt brings, as its method looks for interrupts. */
VALUE nb_ffi_state_error(VALUE unused);
/* With Ruby's lock. The thread has no call under way from now on. error: as nb_ffi_state_error
   answers. */
nb_ffi_state nb_ffi_state_leave(int error);
/* nb_ffi_state_leave with the thread's errno. Other threads may run meanwhile. *tag: that of
   rb_protect where something was raised, and nothing was left; else 0. */
nb_ffi_state nb_ffi_state_take(int *tag);
/* With Ruby's lock. Gives both back to the thread; C's own errno stays. Does not raise. */
void nb_ffi_state_give(nb_ffi_state state);

/* Scheduler.watch_ffi. */
void nb_ffi_state_define(VALUE klass);

#endif
