/*
 * beneath.h - a scheduler beneath another one (Async's), which has the loop's turns run
 * (lib/neverblock/scheduler/async.rb).
 *
 * The scheduler above is the one that Ruby knows for the thread. Its fibers are fibers of this
 * loop. In a wait of its own (NB_WAIT_TRANSFER) a fiber waits for a wake, or for somebody who goes
 * to it. All waits of this scheduler work beside that.
 */
#ifndef NB_BINDING_BENEATH_H
#define NB_BINDING_BENEATH_H

#include <ruby.h>

/* Scheduler#host, #turn, #served?, #transfer, #wake, #go_to, #raise_to, #rouse. */
void nb_beneath_define(VALUE klass);

#endif
