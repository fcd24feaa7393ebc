/*
 * executor.h - NeverBlock::Executor: takes requests from its channel and runs each in a pooled
 * fiber: application call, body, clean-up.
 *
 * An executor is a source of its scheduler (state/source.h). Each turn it takes what its rings hold
 * and switches to a task's fiber for each request; a fiber that ends its request without having
 * parked takes the next itself. Response parts go straight into the response ring. It asks for more
 * requests (`wanted`) each time its turn has ended.
 */
#ifndef NB_BINDING_EXECUTOR_H
#define NB_BINDING_EXECUTOR_H

#include <ruby.h>

void nb_executor_define(VALUE module);

#endif
