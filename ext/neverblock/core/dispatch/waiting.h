/*
 * waiting.h - the queue of one dispatch: requests that wait for an executor, in the order in which
 * they came. dispatch.h bounds it. All deadlines are equally far from the arrival, so the first of
 * the queue expires first, and only the first is looked at.
 *
 * Requests whose class every executor holds (intake/throttle.h) are set aside: they keep their
 * place in `all` and leave `due`, so that no turn looks at them however many they are. They return
 * to `due` when one such class is let in again.
 *
 * Threads: all of it belongs to the loop's thread.
 */
#ifndef NB_DISPATCH_WAITING_H
#define NB_DISPATCH_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/status.h"
#include "intake/throttle.h"
#include "intake/request.h"
#include "dispatch/exchange.h"

typedef struct nb_waiting {
    /* Links in the queue's lists; `due` is in none while the request is set aside. */
    nb_list all, due;
    nb_exchange *exchange;
    nb_request_message *message; /* owned */
    uint64_t request_class;      /* class of the request (throttle.h); 0: not computed yet */
} nb_waiting;

typedef struct nb_waiting_queue {
    nb_list all, due; /* `due`: the requests that may be handed, in the same order */
    uint32_t count;
    /* By slot: the class of which requests are set aside; 0: none. */
    uint64_t classes_aside[NB_THROTTLE_SLOTS];
    uint16_t places_aside;
} nb_waiting_queue;

/* Makes an empty queue, which must not be moved afterwards. */
void nb_waiting_init(nb_waiting_queue *queue);

/* NULL: the queue is empty. */
static inline nb_waiting *nb_waiting_first(const nb_waiting_queue *queue) {
    return nb_list_empty(&queue->all) ? NULL : NB_LIST_ENTRY(queue->all.next, nb_waiting, all);
}
static inline nb_waiting *nb_waiting_due_after(const nb_waiting_queue *queue, const nb_list *link) {
    return link->next == &queue->due ? NULL : NB_LIST_ENTRY(link->next, nb_waiting, due);
}
static inline nb_waiting *nb_waiting_first_due(const nb_waiting_queue *queue) {
    return nb_waiting_due_after(queue, &queue->due);
}
static inline nb_waiting *nb_waiting_next_due(const nb_waiting_queue *queue, const nb_waiting *waiting) {
    return nb_waiting_due_after(queue, &waiting->due);
}

/* Makes an entry, which owns the message. NULL: no memory, and the caller keeps the message. */
nb_waiting *nb_waiting_create(nb_request_message *message);
/* The same with a new, unset message of `bytes`. */
nb_waiting *nb_waiting_create_room(size_t bytes);
/* Frees an entry that is in no queue, with its message. */
void nb_waiting_destroy(nb_waiting *waiting);

/* Adds the entry for its exchange as the last or the first. */
void nb_waiting_append(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange);
void nb_waiting_prepend(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange);
/* Removes and frees the entry. Its message becomes the caller's. */
void nb_waiting_remove(nb_waiting_queue *queue, nb_waiting *waiting);
/* Removes and frees all entries, with their messages. */
void nb_waiting_clear(nb_waiting_queue *queue);

/* True: requests of this class are set aside. */
static inline bool nb_waiting_is_behind(const nb_waiting_queue *queue, uint64_t request_class) {
    return request_class && queue->classes_aside[nb_throttle_slot(request_class)] == request_class;
}
/* Sets the entry aside until its class is let in. False: its slot is used by another class that has
   requests aside. */
bool nb_waiting_set_aside(nb_waiting_queue *queue, nb_waiting *waiting);
/* True: some requests are set aside. */
static inline bool nb_waiting_any_aside(const nb_waiting_queue *queue) { return queue->places_aside > 0; }
/* All requests may be handed again, in their order. */
void nb_waiting_bring_back(nb_waiting_queue *queue);

#endif
