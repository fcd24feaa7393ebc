/*
 * engine_algorithms.h - the ways to send files: Engine.algorithms, Engine.add_algorithm.
 */
#ifndef NB_BINDING_ENGINE_ALGORITHMS_H
#define NB_BINDING_ENGINE_ALGORITHMS_H

#include <ruby.h>

void nb_engine_algorithms_define(VALUE engine_class);

#endif
