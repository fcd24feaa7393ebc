/*
 * link.h - the two ends of what lies between a front and a worker process (intake/channel.h) as Ruby objects: NeverBlock::Channel, made by the
 * front's engine, with a link, that is a channel to each I/O loop, for each executor of the process, and NeverBlock::Link, which the worker makes of the
 * descriptors of one and gives to its Executor.
 */
#ifndef NB_BINDING_LINK_H
#define NB_BINDING_LINK_H

#include <ruby.h>
#include <stdbool.h>

#include "intake/channel.h"

/* Also defines Engine#channel. */
void nb_link_define(VALUE module, VALUE engine_class);

bool nb_link_is(VALUE object);
/* Raises NeverBlock::Error when an executor has it already, or in the child of a fork. It lives as long as the Link. */
nb_link *nb_link_of(VALUE link);

#endif
