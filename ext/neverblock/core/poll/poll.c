/*
 * poll.c - chooses a backend of the poller by name, and calls it by its table.
 */
#include "poll/poll_internal.h"

#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "os/clock.h"

/* The best first. */
static const nb_poll_table *const backends[] = {
    &nb_poll_epoll_table,
    &nb_poll_kqueue_table,
    &nb_poll_poll_table,
};

static const nb_poll_table *find(const char *name) {
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (backends[i]->create == NULL) continue;
        if (name == NULL || strcmp(name, backends[i]->name) == 0) return backends[i];
    }
    return NULL;
}

nb_status nb_poll_create(const char *backend, nb_poll **poll) {
    const nb_poll_table *found = find(backend);
    if (found == NULL) return NB_UNSUPPORTED;
    nb_poll *created;
    nb_status status = found->create(&created);
    if (status != NB_OK) return status;
    created->table = found;
    *poll = created;
    return NB_OK;
}

void nb_poll_destroy(nb_poll *poll) {
    if (poll != NULL) poll->table->destroy(poll);
}

int nb_poll_descriptor(const nb_poll *poll) { return poll->table->descriptor ? poll->table->descriptor(poll) : -1; }

const char *nb_poll_backend(const nb_poll *poll) { return poll->table->name; }

nb_status nb_poll_add(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    return poll->table->add(poll, fd, interest, cookie);
}

nb_status nb_poll_change(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie) {
    return poll->table->change(poll, fd, interest, cookie);
}

nb_status nb_poll_remove(nb_poll *poll, int fd) { return poll->table->remove(poll, fd); }

nb_status nb_poll_wait(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count) {
    NB_ASSERT(max > 0);
    return poll->table->wait(poll, events, max, timeout_ns, count);
}

int nb_poll_timeout_ms(int64_t timeout_ns) {
    if (timeout_ns < 0) return -1;
    if (timeout_ns > (INT_MAX - 1) * NB_NS_PER_MS) return INT_MAX;
    return (int)((timeout_ns + NB_NS_PER_MS - 1) / NB_NS_PER_MS);
}
