/*
 * cursor.h - what lib/neverblock/compat/enumerator cannot do in Ruby. Ruby before 3.3 alone.
 */
#ifndef NB_BINDING_CURSOR_H
#define NB_BINDING_CURSOR_H

#include <ruby.h>

/* Scheduler.on_clean_stack { ... } -> Proc, for Fiber.new: clears the stack, then calls the block
   and returns nil. Ruby gives a new fiber the stack of an earlier one as that has left it. A parked
   fiber is marked with all that lies between its base and its stack pointer (gc.c,
   mark_locations_array), also where its frames have written nothing. The fiber of an Enumerator
   that is left half way lies 5 KB deep. What it is marked with may be an Enumerator of another
   request, whose fiber keeps that of a third: thousands of them stayed.
   Scheduler.stop_iteration(result) -> StopIteration, as at an Enumerator's end. Only C can set its
   result. */
void nb_cursor_define(VALUE klass);

#endif
