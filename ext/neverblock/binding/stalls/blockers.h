/*
 * blockers.h - NeverBlock::Blockers.at_site: calls the block here, or has it
 * called on another thread, as the place that asks has earned (base/call_sites.h).
 */
#ifndef NB_BINDING_BLOCKERS_H
#define NB_BINDING_BLOCKERS_H

#include <ruby.h>

void nb_blockers_define(VALUE module);

#endif
