/*
 * module.h - what the files of the binding share: the module, the errors, the kept constants.
 */
#ifndef NB_BINDING_NEVERBLOCK_H
#define NB_BINDING_NEVERBLOCK_H

#include <ruby.h>

extern VALUE nb_module;
extern VALUE nb_error_class;       /* NeverBlock::Error */
extern VALUE nb_client_gone_class; /* NeverBlock::ClientGone */

/* A frozen, interned string that lives for ever: for keys and constant values. */
VALUE nb_constant_string(const char *bytes, size_t size);

/* Milliseconds that the process has collected for, by the processor's clock. With Ruby's lock. */
static inline size_t nb_gc_ms(void) { return rb_gc_stat(ID2SYM(rb_intern("time"))); }

#endif
