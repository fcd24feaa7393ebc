/*
 * module.h - what all files of the binding share: the module, the errors, the kept constants.
 */
#ifndef NB_BINDING_MODULE_H
#define NB_BINDING_MODULE_H

#include <ruby.h>

#include "base/status.h"

extern VALUE nb_module;
extern VALUE nb_error_class;       /* NeverBlock::Error */
extern VALUE nb_client_gone_class; /* NeverBlock::ClientGone */

/* Defines the module and the errors: the first thing that the extension does. */
void nb_module_define(void);

/* A frozen, interned string that lives for ever: for keys and constant values. */
VALUE nb_constant_string(const char *bytes, size_t size);

/* Raises what a status means: SystemCallError with errno for NB_SYSTEM, NoMemoryError, else
   NeverBlock::Error. The one place where statuses become exceptions. */
_Noreturn void nb_raise_status(nb_status status, const char *what);

/* Milliseconds that the process has collected for, by the processor's clock. With Ruby's lock. */
static inline size_t nb_gc_ms(void) { return rb_gc_stat(ID2SYM(rb_intern("time"))); }

#endif
