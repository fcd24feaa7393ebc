/*
 * poll.h - readiness of many descriptors: epoll (Linux), kqueue (macOS, BSD, libkqueue), poll
 * (everywhere), behind one contract.
 *
 * Each descriptor is in a poller at most once, with an interest and a cookie of the caller's. The
 * interest is NB_POLL_READ, NB_POLL_WRITE, NB_POLL_PRIORITY, several of them, or 0. Events are
 * level-triggered: an event comes again until its cause is gone. With NB_POLL_ONESHOT the interest is
 * 0 after one event, until nb_poll_change. With NB_POLL_EDGE only news is told (epoll, kqueue; poll
 * treats it as level-triggered). NB_POLL_HANGUP and NB_POLL_ERROR are told whatever the interest,
 * except after a oneshot event and, with kqueue, an interest of 0.
 *
 * A descriptor must be removed before it is closed. epoll and kqueue forgive that; poll does not.
 *
 * Threads: a poller belongs to one.
 */
#ifndef NB_POLL_POLL_H
#define NB_POLL_POLL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    NB_POLL_READ = 1,
    NB_POLL_WRITE = 2,
    NB_POLL_HANGUP = 4, /* told only: both directions are over */
    NB_POLL_ERROR = 8,  /* told only: a socket error is pending */
    NB_POLL_ONESHOT = 16,
    NB_POLL_EDGE = 32,
    NB_POLL_PRIORITY = 64, /* urgent data of a socket; kqueue tells it whenever there is any to read */
};

typedef struct nb_poll_event {
    uint64_t cookie;
    uint32_t events;
} nb_poll_event;

typedef struct nb_poll nb_poll;

/* backend: "epoll", "kqueue", "poll", or NULL for the best here. NB_UNSUPPORTED: not built in. */
nb_status nb_poll_create(const char *backend, nb_poll **poll);
void nb_poll_destroy(nb_poll *poll); /* NULL is fine; descriptors are not closed */
const char *nb_poll_backend(const nb_poll *poll);
/* A descriptor that is readable while an event waits, so that one poller can watch another; -1 where the backend has
 * none (poll). */
int nb_poll_descriptor(const nb_poll *poll);

/* NB_EXISTS: fd is in already. NB_NOT_FOUND (change, remove): it is not in. NB_SYSTEM: errno (EBADF, EPERM, ENOMEM...).
 */
nb_status nb_poll_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
nb_status nb_poll_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
nb_status nb_poll_remove(nb_poll *poll, int fd);

/* Up to `max` events into `events`, their number into *count; waits at most timeout_ns (0: not at all, negative: for
   ever). NB_OK with *count 0: the time is over, or a signal came. Sub-millisecond timeouts hold where epoll_pwait2
   exists. */
nb_status nb_poll_wait(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count);

#endif
