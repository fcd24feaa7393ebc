/*
 * process.h - the hook process_wait: the end of a child process, told by its pidfd in the poller
 * where the kernel has pidfds, else by a thread.
 */
#ifndef NB_BINDING_PROCESS_H
#define NB_BINDING_PROCESS_H

#include <ruby.h>

void nb_process_define(VALUE klass);

#endif
