/*
 * descriptor_pipe.h - open descriptors from one process to another, in order, both ways: a pair of UNIX sockets over
 * which each descriptor travels with one byte (SCM_RIGHTS, unix(7)). What was sent and never received is closed by the
 * system when the last end is closed. CLOEXEC, non-blocking.
 */
#ifndef NB_OS_DESCRIPTOR_PIPE_H
#define NB_OS_DESCRIPTOR_PIPE_H

#include "base/status.h"

nb_status nb_descriptor_pipe_create(int ends[2]);
/* fd stays the caller's as well. NB_AGAIN: full, until the other side receives; NB_SYSTEM: the other end is closed. */
nb_status nb_descriptor_pipe_send(int end, int fd);
/* The oldest one, now the caller's; -1 when there is none. */
int nb_descriptor_pipe_receive(int end);

#endif
