/*
 * timeslice_lock.h - Ruby's lock, kept from an executor by another thread.
 */
#ifndef NB_BINDING_TIMESLICE_LOCK_H
#define NB_BINDING_TIMESLICE_LOCK_H

/* In the job, on a thread that has no slices: gives the lock up for one that waits for it, for a
   moment at most. */
void nb_timeslice_hand_off_lock(void);

#endif
