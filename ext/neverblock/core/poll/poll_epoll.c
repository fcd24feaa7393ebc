/*
 * poll_epoll.c - the poller on epoll(7). The kernel's event carries the cookie, so this
 * file keeps nothing for each descriptor.
 */
#include "poll/poll_internal.h"

#if defined(__linux__)

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* the same number on every architecture, Linux 5.11 */
#endif

typedef struct epoll_poller {
    nb_poll base;
    int fd;
} epoll_poller;

/* The kernel's struct __kernel_timespec: 64 bits also where time_t has 32. */
typedef struct kernel_timespec {
    int64_t seconds;
    long long nanoseconds;
} kernel_timespec;

static atomic_bool pwait2_missing;

static nb_status epoll_create_poller(nb_poll **poll) {
    epoll_poller *self = nb_alloc_zero(1, sizeof *self);
    if (self == NULL) return NB_NO_MEMORY;
    self->fd = epoll_create1(EPOLL_CLOEXEC);
    if (self->fd < 0) {
        int error = errno;
        nb_free(self);
        errno = error;
        return NB_SYSTEM;
    }
    *poll = &self->base;
    return NB_OK;
}

static void epoll_destroy(nb_poll *poll) {
    epoll_poller *self = (epoll_poller *)poll;
    close(self->fd);
    nb_free(self);
}

static uint32_t to_epoll(uint32_t interest) {
    uint32_t mask = 0;
    if (interest & NB_POLL_READ) mask |= EPOLLIN;
    if (interest & NB_POLL_WRITE) mask |= EPOLLOUT;
    if (interest & NB_POLL_PRIORITY) mask |= EPOLLPRI;
    if (interest & NB_POLL_ONESHOT) mask |= EPOLLONESHOT;
    if (interest & NB_POLL_EDGE) mask |= EPOLLET;
    return mask;
}

static uint32_t from_epoll(uint32_t mask) {
    uint32_t events = 0;
    if (mask & EPOLLIN) events |= NB_POLL_READ;
    if (mask & EPOLLOUT) events |= NB_POLL_WRITE;
    if (mask & EPOLLPRI) events |= NB_POLL_PRIORITY;
    if (mask & EPOLLHUP) events |= NB_POLL_HANGUP;
    if (mask & EPOLLERR) events |= NB_POLL_ERROR;
    return events;
}

static nb_status control(nb_poll *poll, int operation, int fd, uint32_t interest, uint64_t cookie) {
    struct epoll_event event = {.events = to_epoll(interest), .data.u64 = cookie};
    if (epoll_ctl(((epoll_poller *)poll)->fd, operation, fd, &event) == 0) return NB_OK;
    if (errno == EEXIST) return NB_EXISTS;
    if (errno == ENOENT) return NB_NOT_FOUND;
    return NB_SYSTEM;
}

static nb_status epoll_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    return control(poll, EPOLL_CTL_ADD, fd, interest, cookie);
}

static nb_status epoll_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    return control(poll, EPOLL_CTL_MOD, fd, interest, cookie);
}

static nb_status epoll_remove(nb_poll *poll, int fd) { return control(poll, EPOLL_CTL_DEL, fd, 0, 0); }

/* An old kernel answers ENOSYS, an old container filter EPERM. epoll_pwait2(2) itself answers
   neither. */
static int wait_precisely(int fd, struct epoll_event *got, int max, int64_t timeout_ns) {
    kernel_timespec timeout = {timeout_ns / NB_NS_PER_S, timeout_ns % NB_NS_PER_S};
    int count = (int)syscall(SYS_epoll_pwait2, fd, got, max, &timeout, NULL, 0);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
    atomic_store_explicit(&pwait2_missing, true, memory_order_relaxed);
    return epoll_wait(fd, got, max, nb_poll_timeout_ms(timeout_ns));
}

static int wait_kernel(int fd, struct epoll_event *got, int max, int64_t timeout_ns) {
    if (timeout_ns <= 0 || atomic_load_explicit(&pwait2_missing, memory_order_relaxed)) {
        return epoll_wait(fd, got, max, nb_poll_timeout_ms(timeout_ns));
    }
    return wait_precisely(fd, got, max, timeout_ns);
}

static nb_status epoll_wait_events(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns,
                                   size_t *count) {
    struct epoll_event got[NB_POLL_BATCH];
    int limit = (int)(max < NB_POLL_BATCH ? max : NB_POLL_BATCH);
    int ready = wait_kernel(((epoll_poller *)poll)->fd, got, limit, timeout_ns);
    if (ready < 0 && errno != EINTR) return NB_SYSTEM;
    size_t told = ready > 0 ? (size_t)ready : 0;
    for (size_t i = 0; i < told; i++) {
        events[i] = (nb_poll_event){.cookie = got[i].data.u64, .events = from_epoll(got[i].events)};
    }
    *count = told;
    return NB_OK;
}

static int epoll_descriptor(const nb_poll *poll) { return ((const epoll_poller *)poll)->fd; }

const nb_poll_table nb_poll_epoll_table = {
    .name = "epoll",
    .create = epoll_create_poller,
    .destroy = epoll_destroy,
    .add = epoll_add,
    .change = epoll_change,
    .remove = epoll_remove,
    .wait = epoll_wait_events,
    .descriptor = epoll_descriptor,
};

#else
const nb_poll_table nb_poll_epoll_table = {.name = "epoll"};
#endif
