/*
 * late.h - what ends a block of a fiber's work from outside, and the alarm by which it comes
 * (scheduler/limit.h). Data only.
 */
#ifndef NB_BINDING_LATE_H
#define NB_BINDING_LATE_H

#include <ruby.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/timer.h"

typedef struct nb_scheduler nb_scheduler;

/* A timer and what it does when it is due (in the loop fiber; must not raise). */
typedef struct nb_alarm nb_alarm;
struct nb_alarm {
    nb_timer timer;
    void (*fire)(nb_scheduler *scheduler, nb_alarm *alarm);
};

/* Raised in the wait that its fiber is in; where there is none, listed as expired until the fiber's
   next wait. */
typedef struct nb_late {
    nb_list link;  /* in the scheduler's list of those that have expired */
    nb_list block; /* in its list of blocks, which keeps the fiber alive */
    VALUE fiber;
    VALUE raises; /* an array of raise's arguments */
    /* uses of sockets up to this index were before the block (nb_socket_use) */
    uint64_t since;
    /* a limit: not raised while the fiber already deals with an error of this class */
    bool once;
    /* due before a mask began (Scheduler#after_mask): raised by waits and slices alone */
    bool at_waits;
} nb_late;

#endif
