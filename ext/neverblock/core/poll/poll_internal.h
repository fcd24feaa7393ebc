/*
 * poll_internal.h - a backend of the poller, as a table of functions. Private to this folder.
 *
 * A backend's own struct begins with nb_poll. The functions keep the contract of poll.h. poll.c
 * sets `table` after `create`. Every table is defined on every system; `create` is NULL where the
 * system does not have the backend.
 */
#ifndef NB_POLL_POLL_INTERNAL_H
#define NB_POLL_POLL_INTERNAL_H

#include "poll/poll.h"

#define NB_POLL_BATCH 256u /* events taken from the kernel in one call, on the stack */

typedef struct nb_poll_table {
    const char *name;
    nb_status (*create)(nb_poll **poll);
    void (*destroy)(nb_poll *poll);
    nb_status (*add)(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
    nb_status (*change)(nb_poll *poll, int fd, uint32_t interest, uint64_t cookie);
    nb_status (*remove)(nb_poll *poll, int fd);
    nb_status (*wait)(nb_poll *poll, nb_poll_event *events, size_t max, int64_t timeout_ns, size_t *count);
    int (*descriptor)(const nb_poll *poll); /* NULL: none */
} nb_poll_table;

struct nb_poll {
    const nb_poll_table *table;
};

extern const nb_poll_table nb_poll_epoll_table;
extern const nb_poll_table nb_poll_kqueue_table;
extern const nb_poll_table nb_poll_poll_table;

/* A timeout in milliseconds, rounded up, so that a wait does not end before its time. -1: without a
   limit. */
int nb_poll_timeout_ms(int64_t timeout_ns);

#endif
