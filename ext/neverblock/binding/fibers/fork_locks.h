/*
 * fork_locks.h - mutexes that fibers of a parent process hold. In the child of a fork Ruby gives
 * free what other threads held, and not what other fibers of the forking thread held (thread.c,
 * terminate_atfork_i). Those fibers never run in the child, so that it would wait for ever.
 */
#ifndef NB_BINDING_FORK_LOCKS_H
#define NB_BINDING_FORK_LOCKS_H

#include <ruby.h>

/* Scheduler.unlock_abandoned. */
void nb_fork_locks_define(VALUE klass);

#endif
