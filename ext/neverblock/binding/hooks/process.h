/*
 * process.h - the hook process_wait: the end of a child process, by its pidfd in the poller where
 * the kernel has them, else by a thread.
 */
#ifndef NB_BINDING_PROCESS_H
#define NB_BINDING_PROCESS_H

#include <ruby.h>

void nb_process_define(VALUE klass);

#endif
