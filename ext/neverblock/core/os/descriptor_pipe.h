/*
 * descriptor_pipe.h - sends open descriptors from one process to another, in order, both ways: a
 * pair of UNIX sockets over which each descriptor travels with one byte (SCM_RIGHTS, unix(7)). The
 * system closes what was sent and never received when the last end is closed. Both ends are
 * CLOEXEC and non-blocking.
 */
#ifndef NB_OS_DESCRIPTOR_PIPE_H
#define NB_OS_DESCRIPTOR_PIPE_H

#include "base/status.h"

nb_status nb_descriptor_pipe_create(int ends[2]);
/* Sends fd, which also stays the caller's. NB_AGAIN: full, until the other side receives.
   NB_SYSTEM: the other end is closed. */
nb_status nb_descriptor_pipe_send(int end, int fd);
/* Receives the oldest descriptor, which the caller then owns. -1: there is none. */
int nb_descriptor_pipe_receive(int end);

#endif
