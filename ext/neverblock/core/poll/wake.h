/*
 * wake.h - the descriptor that a sleeping thread polls: an eventfd on Linux, a pipe elsewhere.
 * CLOEXEC, non-blocking.
 *
 * The sleeper registers nb_wake_fd for reading, and calls nb_wake_clear when it fired.
 *
 * Threads: nb_wake_signal may be called from any thread and from a signal handler. It does not
 * block: when the counter or the pipe is full, the sleeper is being woken already.
 */
#ifndef NB_POLL_WAKE_H
#define NB_POLL_WAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct nb_wake {
    int read_fd, write_fd; /* the same descriptor for an eventfd; -1 when closed */
} nb_wake;

nb_status nb_wake_init(nb_wake *wake);
void nb_wake_deinit(nb_wake *wake);
/* False: its descriptor was closed. */
bool nb_wake_signal(const nb_wake *wake);
void nb_wake_clear(const nb_wake *wake);
/* Waits for a signal, at most timeout_ns (negative: without a limit), and clears it. For a thread
   that polls nothing else. */
void nb_wake_wait(const nb_wake *wake, int64_t timeout_ns);
/* The same, or until one of watched[1] to watched[count - 1] is ready; its `revents` says so.
   watched[0] is the wake's. Without ppoll(2) the timeout is rounded up to milliseconds. */
void nb_wake_wait_beside(const nb_wake *wake, struct pollfd *watched, size_t count, int64_t timeout_ns);

#endif
