/*
 * pools.h - NeverBlock::Pool::Gauge: what a pool of this process tells those who look at the server
 * (intake/pool_gauges.h). Ruby's side is lib/neverblock/pool/gauge.rb.
 *
 * A gauge may be made before the process serves, and is shown while it does. What it is told
 * meanwhile costs a comparison. A server without an admin address shows none.
 */
#ifndef NB_BINDING_POOLS_H
#define NB_BINDING_POOLS_H

#include <ruby.h>

#include "binding/ports/executor_state.h"

/* The executor runs from now on: if it is the first of its process, all gauges are shown on its
   link. And not any more. GVL. */
void nb_pools_begin(nb_executor *executor);
void nb_pools_end(nb_executor *executor);

void nb_pools_define(VALUE module);

#endif
