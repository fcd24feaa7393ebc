/*
 * blockers.h - NeverBlock::Blockers.at_call_site: calls the block on this thread, or has it called
 * on another, as the call site has earned (base/call_sites.h).
 */
#ifndef NB_BINDING_BLOCKERS_H
#define NB_BINDING_BLOCKERS_H

#include <ruby.h>

void nb_blockers_define(VALUE module);

#endif
