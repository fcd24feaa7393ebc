/*
 * frames.h - may a fiber be left where it is? What its frames say.
 *
 * Code of ours, Ruby or C, is written for fibers that switch only where they wait: it is never
 * left, nor is what it calls of Ruby's own. A C function of a gem that has called Ruby may keep
 * something that belongs to the thread, or to the process: no slice ends above one
 * (docs/decisions/0011), unless its library is known to allow that. A wait above one that is known
 * to keep something holds the thread. The library is the shared object that the function's code
 * lies in.
 */
#ifndef NB_BINDING_FRAMES_H
#define NB_BINDING_FRAMES_H

#include <ruby.h>
#include <stdbool.h>

/* May the current fiber be left where it is, as far as its frames tell? */
typedef enum nb_place {
    NB_PLACE_FREE,
    NB_PLACE_STAYS,
    NB_PLACE_BETWEEN, /* two fibers: it may just be given something */
} nb_place;
nb_place nb_frames_place(void);
/* Does a function lie below the current fiber's frames above which no slice ends? */
bool nb_frames_below(void);
/* Does one that holds the thread? What those tell that have resumed the fiber is asked by
   nb_resume_pins. */
bool nb_frames_pin(void);
/* Is a library loaded whose functions hold the thread? Else nb_frames_pin is false. */
bool nb_frames_watched(void);

/* A function of ours that does what Ruby's own does: it is taken for Ruby's. Before any frame is
   looked at. */
#define NB_STAND_INS_MAX 8
void nb_frames_stand_in(const void *function);

/* Scheduler.home, .watch_frames. */
void nb_frames_define(VALUE klass);

#endif
