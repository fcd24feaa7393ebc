/*
 * protect.h - what to do with an error that rb_protect has caught and that goes no further.
 *
 * When Ruby raises SystemStackError or NoMemoryError it marks the fiber (raised_flag). A marked
 * fiber handles no interrupts and does not check its machine stack (thread.c,
 * rb_threadptr_execute_interrupts; vm_eval.c, stack_check). Ruby's interpreter takes the mark away
 * when it catches the error (vm.c, vm_exec); rb_protect leaves it. A marked fiber has no time
 * slices and no limits, and its next stack overflow goes past a rescue (signal.c,
 * check_stack_overflow).
 */
#ifndef NB_BINDING_PROTECT_H
#define NB_BINDING_PROTECT_H

#include <ruby.h>
#include <stdbool.h>

/* Does Ruby mark the fiber with this error? No for what ends a thread or goes to a `catch`. */
bool nb_protect_marks(VALUE error);

/* Drops the error that rb_protect has just caught: takes the mark away, and sets $! to `before`.
   GVL; in the fiber that has called rb_protect. Does not raise. */
void nb_protect_drop(VALUE before);

void nb_protect_define(void);

#endif
