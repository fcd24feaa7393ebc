/*
 * frames.h - what the frames of a fiber say: may the fiber be left where it is, or is it pinned to
 * its thread?
 *
 * Code of ours, in Ruby or C, is written for fibers that switch only where they wait: a fiber is
 * never left in it, nor in what it calls of Ruby's own. A C function of a gem that has called Ruby
 * may keep something that belongs to the thread or the process: no fiber is preempted above one
 * (docs/decisions/0011), unless its library is known to allow that. A library that is known to keep
 * something pins the fiber above it: waits there keep the thread. The library is the shared object
 * that the function's code lies in.
 */
#ifndef NB_BINDING_FRAMES_H
#define NB_BINDING_FRAMES_H

#include <ruby.h>
#include <stdbool.h>

/* May the current fiber be left where it is, as far as its frames tell? */
typedef enum nb_place {
    NB_PLACE_FREE,
    NB_PLACE_STAYS,
    NB_PLACE_BETWEEN, /* between two fibers: it may have been given a value that it has not taken */
    NB_PLACE_OURS,    /* it stays while code of ours runs that the application has called */
} nb_place;
nb_place nb_frames_place(void);
/* Does a function lie below the current fiber's frames that forbids preemption? */
bool nb_frames_below(void);
/* Does one lie there that pins the fiber? nb_resume_pins also asks the fibers that have resumed
   it. */
bool nb_frames_pin(void);
/* Is a library loaded whose functions pin? Else nb_frames_pin is false. */
bool nb_frames_watched(void);

/* Is this a file of this library's? */
bool nb_frames_ours(VALUE path);

/* Treats a function of ours as Ruby's own, as it does what that does. Before any frame is looked
   at. */
#define NB_STAND_INS_MAX 8
void nb_frames_stand_in(const void *function);

/* Scheduler.home, .watch_frames. */
void nb_frames_define(VALUE klass);

#endif
