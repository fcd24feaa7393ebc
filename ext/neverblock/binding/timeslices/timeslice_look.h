/*
 * timeslice_look.h - the observer of time slices (base/process_watchdog.h).
 *
 * It sees only for how long the thread has run one fiber, or has waited for the GVL. From then on
 * it asks for the job at each granularity, sooner where the fiber could not be left.
 */
#ifndef NB_BINDING_TIMESLICE_LOOK_H
#define NB_BINDING_TIMESLICE_LOOK_H

#include <stdint.h>

/* owner: an nb_timeslices. The watchdog's thread. Returns when it wants to look again (monotonic
   ns); *fd: a descriptor that has it look sooner when it is readable. */
int64_t nb_timeslice_look(void *owner, int64_t now_ns, int *fd);

#endif
