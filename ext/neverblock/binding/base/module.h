/*
 * module.h - what all files of the binding share: the module NeverBlock, its errors, and constant
 * strings.
 */
#ifndef NB_BINDING_MODULE_H
#define NB_BINDING_MODULE_H

#include <ruby.h>

#include "base/status.h"

extern VALUE nb_module;
extern VALUE nb_error_class;             /* NeverBlock::Error */
extern VALUE nb_client_gone_class;       /* NeverBlock::ClientGone */
extern VALUE nb_request_cancelled_class; /* NeverBlock::RequestCancelled */

/* Defines the module and the errors. To be called before any other definition. */
void nb_module_define(void);

/* A frozen, interned string that is never collected: for keys and constant values. */
VALUE nb_constant_string(const char *bytes, size_t size);

/* Raises the exception of a status: SystemCallError with errno for NB_SYSTEM, NoMemoryError, else
   NeverBlock::Error. The one place where a status becomes an exception. what: begins the
   message. */
_Noreturn void nb_raise_status(nb_status status, const char *what);

/* Milliseconds that the process has spent in garbage collections, by the processor's clock. GVL. */
static inline size_t nb_gc_ms(void) { return rb_gc_stat(ID2SYM(rb_intern("time"))); }

#endif
