/*
 * engine.h - NeverBlock::Engine: the native server (core/server/server.h) as a Ruby object.
 */
#ifndef NB_BINDING_ENGINE_H
#define NB_BINDING_ENGINE_H

#include <ruby.h>

#include "server/server.h"

void nb_engine_define(VALUE module);
/* Of engine_algorithms.c. */
void nb_engine_define_algorithms(VALUE class);
/* Engine's folders (engine_files.c). */
void nb_engine_files_define(VALUE class);
/* Engine's reports of downloads (engine_reports.c). */
void nb_engine_reports_define(VALUE class);

/* The server behind `engine`; raises NeverBlock::Error when it is closed or was inherited by a fork. */
nb_server *nb_engine_server(VALUE engine);
/* For an executor about to run: as nb_engine_server, raises also before start. The engine is not closed until nb_engine_leave. */
nb_server *nb_engine_enter(VALUE engine);
void nb_engine_leave(VALUE engine);
/* True while the server's memory exists: an executor that outlives its engine must not touch its channel. */
bool nb_engine_alive(VALUE engine);

/* Raises what a status means: SystemCallError with errno for NB_SYSTEM, NoMemoryError, else NeverBlock::Error. The one
 * place where statuses become exceptions. */
_Noreturn void nb_raise_status(nb_status status, const char *what);

#endif
