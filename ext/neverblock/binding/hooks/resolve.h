/*
 * resolve.h - the hook address_resolve: host names by the process's shared resolver
 * (core/os/resolver.h), which is made at the first question and anew in a forked child. What its
 * cache knows is answered at once; else the fiber parks until a thread has asked.
 */
#ifndef NB_BINDING_RESOLVE_H
#define NB_BINDING_RESOLVE_H

#include <ruby.h>
#include <stdbool.h>

#include "os/resolver.h"

/* What this process has asked of its resolver; and whether it has asked anything since the figures
   were last taken. */
nb_resolver_figures nb_resolve_figures(void);
bool nb_resolve_asked(void);

void nb_resolve_define(VALUE klass);

#endif
