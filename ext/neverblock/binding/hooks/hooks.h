/*
 * hooks.h - NeverBlock::Scheduler with all its methods: those of the folders below, and the hooks.
 */
#ifndef NB_BINDING_HOOKS_H
#define NB_BINDING_HOOKS_H

#include <ruby.h>

void nb_hooks_define(VALUE module);

#endif
