/*
 * poll_poll.c - the poller on poll(2), for systems that have nothing better. The cost of a wait
 * grows with the number of descriptors. The array of entries has no holes; `places` has the entry
 * of each descriptor.
 */
#include "poll/poll_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/alloc.h"

typedef struct poll_poller {
    nb_poll base;
    struct pollfd *entries; /* .fd is ~fd after a oneshot event: poll(2) skips that */
    uint64_t *cookies;
    uint32_t *interests;
    size_t count, capacity;
    size_t *places; /* by descriptor: its entry counted from 1, 0 when it is not in */
    size_t places_size;
    /* where the next search for events begins, so that all descriptors have their turn */
    size_t first;
} poll_poller;

static nb_status poll_create_poller(nb_poll **poll) {
    poll_poller *self = nb_alloc_zero(1, sizeof *self);
    if (self == NULL) return NB_NO_MEMORY;
    *poll = &self->base;
    return NB_OK;
}

static void poll_destroy(nb_poll *poll) {
    poll_poller *self = (poll_poller *)poll;
    nb_free(self->entries);
    nb_free(self->cookies);
    nb_free(self->interests);
    nb_free(self->places);
    nb_free(self);
}

/* Grows one array. When memory is out for one, others may be larger; `capacity` is unchanged. */
static nb_status grow(void *array, size_t element_bytes, size_t capacity) {
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = nb_realloc(old, capacity * element_bytes);
    if (grown == NULL) return NB_NO_MEMORY;
    memcpy(array, &grown, sizeof grown);
    return NB_OK;
}

static nb_status make_room(poll_poller *self) {
    if (self->count < self->capacity) return NB_OK;
    size_t capacity = self->capacity == 0 ? 16 : self->capacity * 2;
    nb_status status = grow(&self->entries, sizeof *self->entries, capacity);
    if (status == NB_OK) status = grow(&self->cookies, sizeof *self->cookies, capacity);
    if (status == NB_OK) status = grow(&self->interests, sizeof *self->interests, capacity);
    if (status == NB_OK) self->capacity = capacity;
    return status;
}

static nb_status make_place(poll_poller *self, size_t fd) {
    if (fd < self->places_size) return NB_OK;
    size_t size = self->places_size == 0 ? 64 : self->places_size;
    while (size <= fd)
        size *= 2;
    nb_status status = grow(&self->places, sizeof *self->places, size);
    if (status != NB_OK) return status;
    memset(self->places + self->places_size, 0, (size - self->places_size) * sizeof *self->places);
    self->places_size = size;
    return NB_OK;
}

static size_t place_of(const poll_poller *self, int fd) {
    return fd >= 0 && (size_t)fd < self->places_size ? self->places[fd] : 0;
}

static void fill(poll_poller *self, size_t entry, int fd, uint32_t interest, uint64_t cookie) {
    short mask = 0;
    if (interest & NB_POLL_READ) mask |= POLLIN;
    if (interest & NB_POLL_WRITE) mask |= POLLOUT;
    if (interest & NB_POLL_PRIORITY) mask |= POLLPRI;
    self->entries[entry] = (struct pollfd){.fd = fd, .events = mask};
    self->cookies[entry] = cookie;
    self->interests[entry] = interest;
}

static nb_status poll_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    poll_poller *self = (poll_poller *)poll;
    if (fcntl(fd, F_GETFD) < 0) return NB_SYSTEM;
    if (place_of(self, fd) != 0) return NB_EXISTS;
    nb_status status = make_room(self);
    if (status == NB_OK) status = make_place(self, (size_t)fd);
    if (status != NB_OK) return status;
    fill(self, self->count, fd, interest, cookie);
    self->places[fd] = ++self->count;
    return NB_OK;
}

static nb_status poll_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    poll_poller *self = (poll_poller *)poll;
    size_t place = place_of(self, fd);
    if (place == 0) return NB_NOT_FOUND;
    fill(self, place - 1, fd, interest, cookie);
    return NB_OK;
}

static nb_status poll_remove(nb_poll *poll, int fd) {
    poll_poller *self = (poll_poller *)poll;
    size_t place = place_of(self, fd);
    if (place == 0) return NB_NOT_FOUND;
    size_t hole = place - 1, last = --self->count;
    self->places[fd] = 0;
    if (hole == last) return NB_OK;
    self->entries[hole] = self->entries[last];
    self->cookies[hole] = self->cookies[last];
    self->interests[hole] = self->interests[last];
    int moved = self->entries[hole].fd;
    self->places[moved >= 0 ? moved : ~moved] = hole + 1;
    return NB_OK;
}

static uint32_t from_poll(short mask) {
    uint32_t events = 0;
    if (mask & POLLIN) events |= NB_POLL_READ;
    if (mask & POLLOUT) events |= NB_POLL_WRITE;
    if (mask & POLLPRI) events |= NB_POLL_PRIORITY;
    if (mask & POLLHUP) events |= NB_POLL_HANGUP;
    if (mask & (POLLERR | POLLNVAL)) events |= NB_POLL_ERROR;
    return events;
}

/* POLLNVAL, of a descriptor that was closed and not removed, is reported once: its interest is 0
   then, as after a oneshot event. */
static void tell(poll_poller *self, size_t entry, nb_poll_event *event) {
    struct pollfd *ready = &self->entries[entry];
    *event = (nb_poll_event){.cookie = self->cookies[entry], .events = from_poll(ready->revents)};
    if ((self->interests[entry] & NB_POLL_ONESHOT) || (ready->revents & POLLNVAL)) ready->fd = ~ready->fd;
}

static nb_status poll_wait(nb_poll *poll_, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count) {
    poll_poller *self = (poll_poller *)poll_;
    int ready = poll(self->entries, (nfds_t)self->count, nb_poll_timeout_ms(timeout_ns));
    if (ready < 0 && errno != EINTR) return NB_SYSTEM;
    size_t told = 0, entry = self->first < self->count ? self->first : 0;
    for (size_t seen = 0; ready > 0 && seen < self->count && told < max; seen++) {
        if (self->entries[entry].fd >= 0 && self->entries[entry].revents != 0) tell(self, entry, &events[told++]);
        if (++entry == self->count) entry = 0;
    }
    self->first = entry;
    *count = told;
    return NB_OK;
}

const nb_poll_table nb_poll_poll_table = {
    .name = "poll",
    .create = poll_create_poller,
    .destroy = poll_destroy,
    .add = poll_add,
    .change = poll_change,
    .remove = poll_remove,
    .wait = poll_wait,
};
