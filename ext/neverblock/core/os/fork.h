/*
 * fork.h - so that a forked child finds the memory of native threads whole: fork(2) waits until no thread is between enter and leave.
 *
 * For threads that others do not know of and that change lists a child has to read (the server's, to close what is in
 * them). Shared by any number of them; what lies between must not wait, take Ruby's lock or fork. vfork(2) and
 * posix_spawn(3) do not wait: their children exec.
 */
#ifndef NB_OS_FORK_H
#define NB_OS_FORK_H

void nb_fork_enter(void);
void nb_fork_leave(void);

#endif
