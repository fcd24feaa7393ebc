/*
 * wake.h - the descriptor that a sleeping thread polls: an eventfd on Linux, a pipe elsewhere.
 * CLOEXEC, non-blocking.
 *
 * The sleeper registers nb_wake_fd for reading, and calls nb_wake_clear when it fired.
 *
 * Threads: nb_wake_signal may be called from any thread and from a signal handler. It never blocks: a
 * full counter or pipe already means awake.
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
/* False: somebody has closed its descriptor. */
bool nb_wake_signal(const nb_wake *wake);
void nb_wake_clear(const nb_wake *wake);
/* Waits for a signal, at most timeout_ns (negative: for ever), and clears it. For a thread that has nothing else to
 * poll. */
void nb_wake_wait(const nb_wake *wake, int64_t timeout_ns);
/* The same, or until one of watched[1] to watched[count - 1] is ready, which `revents` tells of. watched[0] is left for
 * the wake. The timeout holds to the nanosecond where ppoll exists, else it is rounded up to milliseconds. */
void nb_wake_wait_beside(const nb_wake *wake, struct pollfd *watched, size_t count, int64_t timeout_ns);

#endif
