/*
 * root.h - the root fiber of a fiber: the fiber that the loop has switched to. Fibers that it
 * resumes, and that those resume, stand above it (nb_root_now, state/state.h).
 *
 * Ruby gives a thread one $? and one set of thread variables. A root fiber is to a request what a
 * thread is elsewhere, so both are the root fiber's here. An Enumerator's fiber shares them with
 * the request that uses it, and no other request does. A wait keeps root fiber and $? while its
 * fiber is parked.
 */
#ifndef NB_BINDING_ROOT_H
#define NB_BINDING_ROOT_H

#include <ruby.h>

/* Gives the thread this $?: a Process::Status, or nil. Does not raise, and takes no interrupt. */
void nb_root_set_status(VALUE status);
/* $? of the running fiber is nil from now on. */
void nb_root_forget_status(void);

/* Scheduler.root, .act_for, .locals. */
void nb_root_define(VALUE klass);

#endif
