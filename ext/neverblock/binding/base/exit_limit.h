/*
 * exit_limit.h - NeverBlock::ExitLimit.begin(seconds, status): ends this process after that time,
 * unless it has ended by then. Ruby waits without a limit for its threads when it ends (thread.c,
 * rb_thread_terminate_all). A thread in a call of C that nothing can interrupt keeps the process.
 */
#ifndef NB_BINDING_EXIT_LIMIT_H
#define NB_BINDING_EXIT_LIMIT_H

#include <ruby.h>

void nb_exit_limit_define(VALUE module);

#endif
