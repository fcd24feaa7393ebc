/*
 * forks.h - the number of forks that this process descends from. What remembers the number of its
 * making, and finds another, is in the child of a fork: its threads are not there, and its
 * descriptors are the parent's.
 */
#ifndef NB_BINDING_FORKS_H
#define NB_BINDING_FORKS_H

extern unsigned nb_fork_generation;

void nb_forks_define(void);

#endif
