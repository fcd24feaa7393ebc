/*
 * executor.h - NeverBlock::Executor: takes requests from its channel and runs each in a pooled
 * fiber: the application's call, the body, the clean-up.
 *
 * An executor is a source of its scheduler (state/source.h). Each turn it takes messages from its
 * rings, and switches to a task's fiber for each request. A fiber that has ended its request
 * without parking takes the next itself. Response parts go straight into the response ring. At the
 * end of each turn it asks for more requests (`wanted`).
 */
#ifndef NB_BINDING_EXECUTOR_H
#define NB_BINDING_EXECUTOR_H

#include <ruby.h>

void nb_executor_define(VALUE module);

#endif
