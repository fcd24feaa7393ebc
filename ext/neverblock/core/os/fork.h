/*
 * fork.h - a forked child finds the memory of native threads consistent: fork(2) waits until no
 * thread is between enter and leave.
 *
 * For threads that change lists which a child has to read, such as the I/O loop's connections,
 * whose descriptors a child closes. Any number of threads may be inside. Between enter and leave a
 * thread must not wait, take Ruby's lock, or fork. vfork(2) and posix_spawn(3) do not wait, as
 * their children exec.
 */
#ifndef NB_OS_FORK_H
#define NB_OS_FORK_H

void nb_fork_enter(void);
void nb_fork_leave(void);

#endif
