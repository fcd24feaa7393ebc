/*
 * mutex.h - what Ruby does not say of its mutexes, and what it leaves undone.
 *
 * Ruby 3.1 and 3.2: Mutex#unlock calls the hook unblock after it has given the mutex free
 * and before it has taken it out of the thread's list of held mutexes. Ruby's interrupt check after
 * the call may run another thread there; when that locks the mutex, both lists are mixed up, and
 * the process dies of "[BUG] invalid keeping_mutexes" when a thread ends. Bug #19480 (3.3 takes it
 * out first). Here the hook takes it out itself; Ruby then finds nothing to take out.
 *
 * Every Ruby: in the child of a fork Ruby gives free what other threads held, and not what other
 * fibers of the forking thread held (thread.c, terminate_atfork_i). Those fibers never run in the
 * child, so that it would wait for ever: Scheduler.unlock_abandoned.
 *
 * Every Ruby: a thread that ends unlocks what it holds. A fiber that ends does not, and who waits
 * for its mutex, then or later, would wait for ever: nb_mutexes_give_up.
 */
#ifndef NB_BINDING_MUTEX_H
#define NB_BINDING_MUTEX_H

#include <ruby.h>
#include <stdint.h>

/* The name of the fiber that has the mutex locked (nb_fiber_name). 0: none has, or this version of
   Ruby does not tell. */
uint64_t nb_mutex_holder(VALUE mutex);

/* The hook unblock was called for this blocker. */
void nb_mutex_unlocking(VALUE blocker);

/* A fiber waits for what has blocked it, from _begin until _end, which does not raise. */
void nb_mutex_wait_begin(VALUE blocker);
void nb_mutex_wait_end(VALUE blocker);

/* The running fiber ends: unlocks what it holds. What only threads wait for, or nobody yet, is
   found by the thread's list of held mutexes, if Ruby keeps it as mutex.c knows it. */
void nb_mutexes_give_up(void);

/* Scheduler.unlock_abandoned. */
void nb_mutex_define(VALUE klass);

#endif
