/*
 * engine.h - NeverBlock::Engine: the native server (server/server.h) as a Ruby object.
 *
 * An engine belongs to the process that made it. All functions take the GVL.
 */
#ifndef NB_BINDING_ENGINE_H
#define NB_BINDING_ENGINE_H

#include <ruby.h>

#include "server/server.h"

/* Defines the class and returns it: the other files of this folder add their methods. */
VALUE nb_engine_define(VALUE module);

/* The value of an Integer from 0 to `max`. Raises TypeError for anything else, as a Float would be
   cut to an integer, and ArgumentError when it is out of range. name: what the error calls the
   value. */
uint64_t nb_engine_number(VALUE value, uint64_t max, const char *name);

/* The server of an Engine. Raises NeverBlock::Error when it is closed, or in the child of a
   fork. */
nb_server *nb_engine_server(VALUE engine);
/* The same for an executor that is about to run; raises also before start. The engine is not closed
   before nb_engine_leave. */
nb_server *nb_engine_enter(VALUE engine);
void nb_engine_leave(VALUE engine);
/* Does the server's memory exist? An executor that outlives its engine must not touch its
   channel. */
bool nb_engine_alive(VALUE engine);

#endif
