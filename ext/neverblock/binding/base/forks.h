/*
 * forks.h - the number of forks that this process descends from. An object that was made at another
 * number is its parent's: its threads do not run here, and its descriptors are shared with the
 * parent.
 */
#ifndef NB_BINDING_FORKS_H
#define NB_BINDING_FORKS_H

extern unsigned nb_fork_generation;

void nb_forks_define(void);

#endif
