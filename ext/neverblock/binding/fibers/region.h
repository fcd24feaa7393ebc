/*
 * region.h - blocks in which a fiber is to be left alone: regions and shield blocks.
 *
 * In a region no time slice ends: NB.uninterrupted, and Thread.handle_interrupt that puts
 * interrupts off. In a shield block nothing is raised into the fiber's waits.
 *
 * Each fiber owns the record of those that it is in: fiber-locals, which the end of a block sets to
 * what they were at its begin. What a fiber enters or leaves changes nothing in another one,
 * however they take turns, and a fiber that nobody goes on with takes its record away with it.
 *
 * A fiber that one in a block has resumed is to be left alone as well. The scheduler owns the sum
 * of the blocks of all that have resumed the running fiber, directly or not: `resumed_in`.
 * Fiber#resume adds to it and sets it back (fibers/resume.h). A wait keeps it as it keeps the
 * record of the resumes (state/wait.h).
 */
#ifndef NB_BINDING_REGION_H
#define NB_BINDING_REGION_H

#include "binding/state/state.h"

/* Is the running fiber in a region of its own, or was it resumed in one? */
bool nb_region_now(const nb_scheduler *scheduler);
/* Is it in masks of its own, and in nothing else? They let some classes in. */
bool nb_region_masks_only(const nb_scheduler *scheduler);
/* Is it in a shield block of its own, or was it resumed in one? */
bool nb_region_shields(const nb_scheduler *scheduler);

/* The mode of the running fiber's innermost shield block, or nil. */
VALUE nb_region_shield(void);
void nb_region_set_shield(VALUE mode);

/* Defines methods of klass, NeverBlock::Scheduler, and module.uninterrupted, of NeverBlock. */
void nb_region_define(VALUE klass, VALUE module);

#endif
