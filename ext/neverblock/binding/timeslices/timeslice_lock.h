/*
 * timeslice_lock.h - hands the GVL off to an executor that another thread of Ruby keeps from it.
 */
#ifndef NB_BINDING_TIMESLICE_LOCK_H
#define NB_BINDING_TIMESLICE_LOCK_H

/* In the job, on a thread without time slices: releases the GVL for a thread that waits for it, for
   NB_HANDOFF_NS at most. */
void nb_timeslice_hand_off_gvl(void);

#endif
