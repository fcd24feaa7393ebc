/*
 * engine_tls.h - TLSContext, and Engine#listener_tls.
 */
#ifndef NB_BINDING_ENGINE_TLS_H
#define NB_BINDING_ENGINE_TLS_H

#include <ruby.h>

/* Defines the class, and the methods of Engine. */
void nb_engine_tls_define(VALUE engine_class);

#endif
