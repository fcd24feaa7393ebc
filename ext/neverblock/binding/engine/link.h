/*
 * link.h - the two ends of the link between a front and a worker process (intake/channel.h) as Ruby
 * objects. The front's engine makes NeverBlock::Channel, with a link for each executor of the
 * process; a link is one channel to each I/O loop. The worker makes NeverBlock::Link of the
 * descriptors of one link, and gives it to its Executor.
 *
 * All functions take the GVL.
 */
#ifndef NB_BINDING_LINK_H
#define NB_BINDING_LINK_H

#include <ruby.h>
#include <stdbool.h>

#include "intake/channel.h"

/* Defines both classes, and Engine#channel. */
void nb_link_define(VALUE module, VALUE engine_class);

bool nb_link_is(VALUE object);
/* The link of a Link; valid as long as the object. Raises NeverBlock::Error when it has an executor
   already, and in the child of a fork. */
nb_link *nb_link_of(VALUE link);
/* The Link has an executor from now on. */
void nb_link_use(VALUE link);
/* Does the Link belong to this process, and not to a parent? */
bool nb_link_is_here(VALUE link);

#endif
