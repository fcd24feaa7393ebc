/*
 * syscalls.h - which of the newer system calls that we use a kernel does not have, or a filter of calls (seccomp, in containers) refuses.
 * Any thread. Each is tried with arguments that can do nothing.
 */
#ifndef NB_OS_SYSCALLS_H
#define NB_OS_SYSCALLS_H

#include <stddef.h>

enum { NB_SYSCALLS_MAX = 8 };

/* Fills names, room for NB_SYSCALLS_MAX, with constant text. Returns how many; none where the system is not Linux. */
size_t nb_syscalls_refused(const char **names);

#endif
