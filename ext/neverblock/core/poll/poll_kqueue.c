/*
 * poll_kqueue.c - the poller on kqueue(2). A kqueue has two filters (knotes) for a descriptor,
 * one for reading and one for writing. A table by descriptor joins both into the one event, the one
 * cookie and the one oneshot of poll.h.
 */
#include "poll/poll_internal.h"

#if defined(__has_include)
#if __has_include(<sys/event.h>)
#define HAVE_KQUEUE 1
#endif
#endif

#ifdef HAVE_KQUEUE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"

#define BOTH ((uint32_t)(NB_POLL_READ | NB_POLL_WRITE))
#define MODES ((uint32_t)(NB_POLL_ONESHOT | NB_POLL_EDGE))
/* Three years. BSD kernels refuse more seconds (EINVAL). */
#define TIMEOUT_MAX_NS (100000000 * NB_NS_PER_S)

typedef struct entry {
    uint64_t cookie;
    uint64_t turn;  /* the last wait that has reported it */
    size_t told_at; /* where among the events of that wait */
    uint32_t interest;
    uint32_t filters; /* NB_POLL_READ, NB_POLL_WRITE: knotes the kernel has */
    bool in;
} entry;

typedef struct kqueue_poller {
    nb_poll base;
    int fd;
    entry *entries; /* by descriptor */
    size_t size;
    uint64_t turn;
} kqueue_poller;

static nb_status kqueue_create_poller(nb_poll **poll) {
    kqueue_poller *self = nb_alloc_zero(1, sizeof *self);
    if (self == NULL) return NB_NO_MEMORY;
    self->fd = kqueue();
    if (self->fd < 0) {
        int error = errno;
        nb_free(self);
        errno = error;
        return NB_SYSTEM;
    }
    (void)fcntl(self->fd, F_SETFD, FD_CLOEXEC);
    *poll = &self->base;
    return NB_OK;
}

static void kqueue_destroy(nb_poll *poll) {
    kqueue_poller *self = (kqueue_poller *)poll;
    close(self->fd);
    nb_free(self->entries);
    nb_free(self);
}

static nb_status make_place(kqueue_poller *self, size_t fd) {
    if (fd < self->size) return NB_OK;
    size_t size = self->size == 0 ? 64 : self->size;
    while (size <= fd)
        size *= 2;
    entry *entries = nb_realloc(self->entries, size * sizeof *entries);
    if (entries == NULL) return NB_NO_MEMORY;
    memset(entries + self->size, 0, (size - self->size) * sizeof *entries);
    self->entries = entries;
    self->size = size;
    return NB_OK;
}

static entry *find(kqueue_poller *self, int fd) {
    if (fd < 0 || (size_t)fd >= self->size || !self->entries[fd].in) return NULL;
    return &self->entries[fd];
}

static int submit(kqueue_poller *self, int fd, uint32_t filter, uint16_t flags) {
    struct kevent change;
    EV_SET(&change, (uintptr_t)fd, filter == NB_POLL_READ ? EVFILT_READ : EVFILT_WRITE, flags, 0, 0, NULL);
    int result;
    do {
        result = kevent(self->fd, &change, 1, NULL, 0, NULL);
    } while (result < 0 && errno == EINTR);
    return result;
}

/* ENOENT and EBADF say that the knote is gone: it fired as a oneshot, or its descriptor was
   closed. */
static void drop(kqueue_poller *self, int fd, uint32_t filters) {
    int error = errno;
    entry *it = &self->entries[fd];
    for (uint32_t filter = NB_POLL_READ; filter <= NB_POLL_WRITE; filter <<= 1) {
        if (it->filters & filters & filter) (void)submit(self, fd, filter, EV_DELETE);
    }
    it->filters &= ~filters;
    errno = error;
}

static uint16_t mode_flags(uint32_t interest) {
    if (interest & NB_POLL_ONESHOT) return EV_ADD | EV_ONESHOT;
    return (interest & NB_POLL_EDGE) ? EV_ADD | EV_CLEAR : EV_ADD;
}

/* On some systems EV_ADD does not change EV_CLEAR or EV_ONESHOT of a knote that exists. So a knote
   of other modes is dropped first. */
static nb_status apply(kqueue_poller *self, int fd, uint32_t interest) {
    entry *it = &self->entries[fd];
    uint32_t filters = interest & NB_POLL_PRIORITY ? interest | NB_POLL_READ : interest;
    drop(self, fd, (it->interest ^ interest) & MODES ? BOTH : BOTH & ~filters);
    for (uint32_t filter = NB_POLL_READ; filter <= NB_POLL_WRITE; filter <<= 1) {
        if (!(filters & filter)) continue;
        if (submit(self, fd, filter, mode_flags(interest)) < 0) {
            drop(self, fd, BOTH);
            return NB_SYSTEM;
        }
        it->filters |= filter;
    }
    it->interest = interest;
    return NB_OK;
}

static nb_status kqueue_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    kqueue_poller *self = (kqueue_poller *)poll;
    if (fcntl(fd, F_GETFD) < 0) return NB_SYSTEM;
    if (find(self, fd) != NULL) return NB_EXISTS;
    nb_status status = make_place(self, (size_t)fd);
    if (status != NB_OK) return status;
    self->entries[fd] = (entry){.cookie = cookie, .interest = interest};
    status = apply(self, fd, interest);
    if (status == NB_OK) self->entries[fd].in = true;
    return status;
}

static nb_status kqueue_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    kqueue_poller *self = (kqueue_poller *)poll;
    entry *it = find(self, fd);
    if (it == NULL) return NB_NOT_FOUND;
    it->cookie = cookie;
    return apply(self, fd, interest);
}

static nb_status kqueue_remove(nb_poll *poll, int fd) {
    kqueue_poller *self = (kqueue_poller *)poll;
    entry *it = find(self, fd);
    if (it == NULL) return NB_NOT_FOUND;
    drop(self, fd, BOTH);
    it->in = false;
    return NB_OK;
}

/* EV_EOF says that one direction is closed. poll(2) tells whether both are. */
static uint32_t end_events(int fd, uint32_t socket_error) {
    struct pollfd probe = {.fd = fd, .events = 0};
    uint32_t events = socket_error != 0 ? NB_POLL_ERROR : 0;
    if (poll(&probe, 1, 0) <= 0) return events;
    if (probe.revents & POLLHUP) events |= NB_POLL_HANGUP;
    if (probe.revents & (POLLERR | POLLNVAL)) events |= NB_POLL_ERROR;
    return events;
}

static uint32_t from_kevent(const struct kevent *got) {
    uint32_t events = got->filter == EVFILT_READ ? NB_POLL_READ : NB_POLL_WRITE;
    if (got->flags & EV_EOF) events |= end_events((int)got->ident, got->fflags);
    return events;
}

/* Adds what a filter has reported to the event of its descriptor. Returns the number of events. */
static size_t tell(kqueue_poller *self, const struct kevent *got, nb_poll_event *events, size_t told) {
    entry *it = find(self, (int)got->ident);
    if (it == NULL || (got->flags & EV_ERROR)) return told;
    if (it->turn != self->turn) {
        it->turn = self->turn;
        it->told_at = told;
        events[told++] = (nb_poll_event){.cookie = it->cookie};
    }
    events[it->told_at].events |= from_kevent(got);
    if (got->filter == EVFILT_READ) events[it->told_at].events |= it->interest & NB_POLL_PRIORITY;
    if (it->interest & NB_POLL_ONESHOT)
        it->filters &= ~(got->filter == EVFILT_READ ? (uint32_t)NB_POLL_READ : NB_POLL_WRITE);
    return told;
}

/* The kernel has dropped the EV_ONESHOT knote that fired. poll.h says that the other ends, too. */
static void end_oneshots(kqueue_poller *self, const struct kevent *got, size_t count) {
    for (size_t i = 0; i < count; i++) {
        entry *it = find(self, (int)got[i].ident);
        if (it != NULL && (it->interest & NB_POLL_ONESHOT)) drop(self, (int)got[i].ident, BOTH);
    }
}

static nb_status kqueue_wait(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count) {
    kqueue_poller *self = (kqueue_poller *)poll;
    struct kevent got[NB_POLL_BATCH];
    int64_t bounded_ns = timeout_ns < TIMEOUT_MAX_NS ? timeout_ns : TIMEOUT_MAX_NS;
    struct timespec timeout = {(time_t)(bounded_ns / NB_NS_PER_S), (long)(bounded_ns % NB_NS_PER_S)};
    int limit = (int)(max < NB_POLL_BATCH ? max : NB_POLL_BATCH);
    int ready = kevent(self->fd, NULL, 0, got, limit, timeout_ns < 0 ? NULL : &timeout);
    if (ready < 0 && errno != EINTR) return NB_SYSTEM;
    size_t told = 0;
    self->turn++;
    for (int i = 0; i < ready; i++)
        told = tell(self, &got[i], events, told);
    if (ready > 0) end_oneshots(self, got, (size_t)ready);
    *count = told;
    return NB_OK;
}

static int kqueue_descriptor(const nb_poll *poll) { return ((const kqueue_poller *)poll)->fd; }

const nb_poll_table nb_poll_kqueue_table = {
    .name = "kqueue",
    .create = kqueue_create_poller,
    .destroy = kqueue_destroy,
    .add = kqueue_add,
    .change = kqueue_change,
    .remove = kqueue_remove,
    .wait = kqueue_wait,
    .descriptor = kqueue_descriptor,
};

#else
const nb_poll_table nb_poll_kqueue_table = {.name = "kqueue"};
#endif
