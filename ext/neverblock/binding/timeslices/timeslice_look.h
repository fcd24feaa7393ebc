/*
 * timeslice_look.h - what the watchdog looks at (base/watchdog.h).
 *
 * It only sees for how long the thread has run one fiber, or has waited for Ruby's lock, and asks
 * for the job again each millisecond from then on; sooner where the fiber could not be left.
 */
#ifndef NB_BINDING_TIMESLICE_LOOK_H
#define NB_BINDING_TIMESLICE_LOOK_H

#include <stdint.h>

/* owner: an nb_timeslices. When it wants to look again; *fd: or sooner, when this is readable. The
   watchdog's thread. */
int64_t nb_timeslice_look(void *owner, int64_t now_ns, int *fd);

#endif
