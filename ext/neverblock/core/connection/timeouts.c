/*
 * timeouts.c - see timeouts.h.
 */
#include "connection/timeouts.h"

#include <stddef.h>

void nb_timeouts_init(nb_timeouts *timeouts) {
    for (int i = 0; i < NB_TIMEOUT_CLASSES; i++) {
        timeouts->heads[i].previous = timeouts->heads[i].next = &timeouts->heads[i];
        timeouts->length_ns[i] = 0;
    }
}

void nb_timeout_init(nb_timeout *timeout) { *timeout = (nb_timeout){NULL, NULL, 0, NB_TIMEOUT_NONE}; }

static void unlink_node(nb_timeout *timeout) {
    if (timeout->kind == NB_TIMEOUT_NONE) return;
    timeout->previous->next = timeout->next;
    timeout->next->previous = timeout->previous;
    timeout->kind = NB_TIMEOUT_NONE;
}

void nb_timeouts_set(nb_timeouts *timeouts, nb_timeout *timeout, nb_timeout_class kind, int64_t now_ns) {
    unlink_node(timeout);
    if (kind == NB_TIMEOUT_NONE) return;
    nb_timeout *head = &timeouts->heads[kind];
    timeout->deadline_ns = now_ns + timeouts->length_ns[kind];
    timeout->kind = kind;
    timeout->previous = head->previous;
    timeout->next = head;
    head->previous->next = timeout;
    head->previous = timeout;
}

nb_timeout *nb_timeouts_oldest(const nb_timeouts *timeouts, nb_timeout_class kind) {
    nb_timeout *first = timeouts->heads[kind].next;
    return first == &timeouts->heads[kind] ? NULL : first;
}

nb_timeout *nb_timeouts_after(const nb_timeouts *timeouts, const nb_timeout *timeout) {
    return timeout->next == &timeouts->heads[timeout->kind] ? NULL : timeout->next;
}

uint32_t nb_timeouts_count(const nb_timeouts *timeouts, nb_timeout_class kind) {
    uint32_t count = 0;
    const nb_timeout *head = &timeouts->heads[kind];
    for (const nb_timeout *at = head->next; at != head; at = at->next) {
        count++;
    }
    return count;
}

int64_t nb_timeouts_next_ns(const nb_timeouts *timeouts) {
    int64_t next_ns = INT64_MAX;
    for (int i = NB_TIMEOUT_NONE + 1; i < NB_TIMEOUT_CLASSES; i++) {
        nb_timeout *oldest = nb_timeouts_oldest(timeouts, (nb_timeout_class)i);
        if (oldest && oldest->deadline_ns < next_ns) next_ns = oldest->deadline_ns;
    }
    return next_ns;
}

nb_timeout *nb_timeouts_expire(nb_timeouts *timeouts, int64_t now_ns, nb_timeout_class *kind) {
    for (int i = NB_TIMEOUT_NONE + 1; i < NB_TIMEOUT_CLASSES; i++) {
        nb_timeout *oldest = nb_timeouts_oldest(timeouts, (nb_timeout_class)i);
        if (!oldest || oldest->deadline_ns > now_ns) continue;
        *kind = (nb_timeout_class)i;
        unlink_node(oldest);
        return oldest;
    }
    return NULL;
}
