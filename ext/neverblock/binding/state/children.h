/*
 * children.h - which fiber has scheduled which. Scheduler#run and #close inside a fiber of the loop
 * wait for the fibers that it has scheduled itself (hooks/fiber_hooks.c).
 */
#ifndef NB_BINDING_CHILDREN_H
#define NB_BINDING_CHILDREN_H

#include "binding/state/wait.h"

/* Lies on the stack of a fiber that was scheduled, while it runs. */
typedef struct nb_child {
    nb_list link;
    VALUE fiber;
    VALUE parent; /* the root fiber of the fiber that has scheduled it; nil: none of the loop's */
} nb_child;

/* NULL: a scheduler that is not its thread's */
void nb_child_begin(nb_scheduler *scheduler, nb_child *child);
void nb_child_end(nb_scheduler *scheduler, nb_child *child);

/* A wait for the end of a child of this parent. Lies on the stack of the fiber that waits. */
typedef struct nb_children_wait {
    nb_wait wait; /* first */
    nb_list link; /* in scheduler->awaiting */
    VALUE parent;
} nb_children_wait;

/* Initializes it, and lists it until its wait ends. */
void nb_children_wait_init(nb_children_wait *waiter, nb_scheduler *scheduler, VALUE parent);
bool nb_children_any(const nb_scheduler *scheduler, VALUE parent);

void nb_children_mark(const nb_scheduler *scheduler);
void nb_children_forget(nb_scheduler *scheduler); /* in a forked child */

#endif
