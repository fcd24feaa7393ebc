/*
 * engine.h - NeverBlock::Engine: the native server (core/server/server.h) as a Ruby object.
 */
#ifndef NB_BINDING_ENGINE_H
#define NB_BINDING_ENGINE_H

#include <ruby.h>

#include "server/server.h"

/* Engine: the class, to which the other files of this room add their methods. */
VALUE nb_engine_define(VALUE module);

/* An integer of 0 to `max`, of which an error says `name`. A Float is none: 1.5 would be taken for port 1. */
uint64_t nb_engine_number(VALUE value, uint64_t max, const char *name);

/* The server behind `engine`; raises NeverBlock::Error when it is closed or was inherited by a fork. */
nb_server *nb_engine_server(VALUE engine);
/* For an executor about to run: as nb_engine_server, raises also before start. The engine is not closed until nb_engine_leave. */
nb_server *nb_engine_enter(VALUE engine);
void nb_engine_leave(VALUE engine);
/* True while the server's memory exists: an executor that outlives its engine must not touch its channel. */
bool nb_engine_alive(VALUE engine);

#endif
