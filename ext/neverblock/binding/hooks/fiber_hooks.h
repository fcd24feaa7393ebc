/*
 * fiber_hooks.h - the hooks that need no descriptor: fiber, kernel_sleep, block, unblock,
 * fiber_interrupt, yield, run and close; and yield_lock { }.
 */
#ifndef NB_BINDING_FIBER_HOOKS_H
#define NB_BINDING_FIBER_HOOKS_H

#include <ruby.h>

void nb_fiber_hooks_define(VALUE klass);

#endif
