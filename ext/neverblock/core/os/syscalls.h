/*
 * syscalls.h - which of the newer system calls that we use are missing: the kernel does not have
 * them, or a filter (seccomp, in containers) refuses them. Each is tried with arguments that have
 * no effect. Any thread.
 */
#ifndef NB_OS_SYSCALLS_H
#define NB_OS_SYSCALLS_H

#include <stddef.h>

enum { NB_SYSCALLS_MAX = 8 };

/* Fills `names`, which has room for NB_SYSCALLS_MAX, with constant text. Returns how many; 0 on
   systems other than Linux. */
size_t nb_syscalls_refused(const char **names);

#endif
