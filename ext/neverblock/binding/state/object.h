/*
 * object.h - NeverBlock::Scheduler as a Ruby object: from VALUE to nb_scheduler, its poller, and
 * what becomes of it in the child of a fork.
 */
#ifndef NB_BINDING_OBJECT_H
#define NB_BINDING_OBJECT_H

#include "base/status.h"
#include "binding/state/state.h"

/* Cookies of the poller that are no descriptor's. */
#define NB_COOKIE_WAKE UINT64_MAX
#define NB_COOKIE_SOURCE (UINT64_MAX - 1)

extern VALUE nb_scheduler_class;

nb_scheduler *nb_scheduler_get(VALUE self); /* raises TypeError; after a fork it is a fresh one */
/* The scheduler of the current thread, if it is ours and not a parent's, or ours beneath it; else
   NULL. */
nb_scheduler *nb_scheduler_of_thread(void);
/* The scheduler that is above this one; nil: none. */
void nb_scheduler_set_above(nb_scheduler *scheduler, VALUE above);
/* The next scheduler of the process; after NULL the first; NULL: there is no other. Also a
   parent's, and those of threads that are gone; none that is garbage, as the fibers' stacks may be
   gone before it is. *held keeps it meanwhile: what is done with it may collect. */
nb_scheduler *nb_scheduler_next(const nb_scheduler *scheduler, volatile VALUE *held);

/* Makes poller and wake if they are not there; raises. */
void nb_scheduler_open(nb_scheduler *scheduler);
/* The source's descriptor, in an open poller. */
nb_status nb_scheduler_watch_source(nb_scheduler *scheduler);
/* Closes poller and wake; they are made again when needed. */
void nb_scheduler_release(nb_scheduler *scheduler);
/* Closes poller and wake. Fibers that are left will not run again: where no loop runs, no
   descriptor leads to them any more. */
void nb_scheduler_drop(nb_scheduler *scheduler);
/* In a child process: forgets the parent's waits, source and descriptors. */
void nb_scheduler_forget(nb_scheduler *scheduler);

/* The class, to which the folders above add their methods. */
VALUE nb_object_define(VALUE module);

#endif
