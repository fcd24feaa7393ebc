/*
 * poll.h - readiness of many descriptors, by epoll(7) on Linux, kqueue(2) on macOS, BSD and
 * libkqueue, and poll(2) everywhere.
 *
 * Each descriptor is in a poller at most once, with an interest and a cookie of the caller's. The
 * interest is NB_POLL_READ, NB_POLL_WRITE, NB_POLL_PRIORITY, several of them, or 0. Events are
 * level-triggered: an event comes again until its cause is gone. With NB_POLL_ONESHOT the interest
 * is 0 after one event, until nb_poll_change. NB_POLL_EDGE is edge-triggered with epoll and
 * kqueue; poll treats it as level-triggered. NB_POLL_HANGUP and NB_POLL_ERROR come whatever the
 * interest is, except after a oneshot event and, with kqueue, with an interest of 0.
 *
 * A descriptor must be removed before it is closed: poll(2) would report it as invalid.
 *
 * Threads: a poller is used by one thread.
 */
#ifndef NB_POLL_POLL_H
#define NB_POLL_POLL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    NB_POLL_READ = 1,
    NB_POLL_WRITE = 2,
    NB_POLL_HANGUP = 4, /* in events only: both directions are closed */
    NB_POLL_ERROR = 8,  /* in events only: a socket error is pending */
    NB_POLL_ONESHOT = 16,
    NB_POLL_EDGE = 32,
    /* urgent data of a socket; kqueue reports it with any data */
    NB_POLL_PRIORITY = 64,
};

typedef struct nb_poll_event {
    uint64_t cookie;
    uint32_t events;
} nb_poll_event;

typedef struct nb_poll nb_poll;

/* backend: "epoll", "kqueue", "poll", or NULL: the best that this system has. NB_UNSUPPORTED: this
   system does not have it. */
nb_status nb_poll_create(const char *backend, nb_poll **poll);
void nb_poll_destroy(nb_poll *poll); /* NULL is fine; descriptors are not closed */
const char *nb_poll_backend(const nb_poll *poll);
/* A descriptor that is readable while an event waits, so that one poller can watch another. -1:
   the backend has none (poll). */
int nb_poll_descriptor(const nb_poll *poll);

/* NB_EXISTS (add): fd is in the poller. NB_NOT_FOUND (change, remove): it is not. NB_SYSTEM: see
   errno (EBADF, EPERM, ENOMEM...). */
nb_status nb_poll_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
nb_status nb_poll_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
nb_status nb_poll_remove(nb_poll *poll, int fd);

/* Writes up to `max` events into `events`, and their number into *count. Waits at most timeout_ns
   (0: does not wait; negative: without a limit). NB_OK with *count 0: the time is over, or a signal
   came. Timeouts are rounded up to milliseconds where the system has no finer call. */
nb_status nb_poll_wait(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count);

#endif
