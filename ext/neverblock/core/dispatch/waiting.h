/*
 * waiting.h - the requests that wait for an executor, in the order in which they came: the queue of a dispatch (dispatch.h), which bounds it.
 *
 * Those whose like is held by every executor (intake/throttle.h) are set aside: they keep their place in the queue and nobody looks at them, however many they
 * are, until one such like is let in again. The others are those that may go, in the same order.
 *
 * Owned by the loop's thread.
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
    nb_list all, due; /* in the queue's; `due` in none while it is set aside */
    nb_exchange *exchange;
    nb_request_message *message; /* owned */
    uint64_t request_class;      /* of the request (throttle.h); 0: nobody has asked yet */
} nb_waiting;

typedef struct nb_waiting_queue {
    nb_list all, due; /* `due`: those that may go */
    uint32_t count;
    uint64_t
        classes_aside[NB_THROTTLE_SLOTS]; /* of those that are set aside, by their place among the crowds; 0: none */
    uint16_t places_aside;
} nb_waiting_queue;

/* Nobody waits. It may not be moved. */
void nb_waiting_init(nb_waiting_queue *queue);

/* NULL: there is none. */
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

/* Owns the message from here on. NULL: there is no memory, and the message is the caller's still. */
nb_waiting *nb_waiting_create(nb_request_message *message);
/* The same with room for a message. */
nb_waiting *nb_waiting_create_room(size_t bytes);
/* With its message; in no queue. */
void nb_waiting_destroy(nb_waiting *waiting);

/* The exchange waits, as the last or the first. */
void nb_waiting_append(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange);
void nb_waiting_prepend(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange);
/* Out of the queue, and freed; its message is the caller's, who has it or frees it. */
void nb_waiting_remove(nb_waiting_queue *queue, nb_waiting *waiting);
/* All, with their messages. */
void nb_waiting_clear(nb_waiting_queue *queue);

/* Some of its like are set aside. */
static inline bool nb_waiting_is_behind(const nb_waiting_queue *queue, uint64_t request_class) {
    return request_class && queue->classes_aside[nb_throttle_slot(request_class)] == request_class;
}
/* It may not go until its like is let in. False: another like, whose place is the same, has some aside. */
bool nb_waiting_set_aside(nb_waiting_queue *queue, nb_waiting *waiting);
/* Some are. */
static inline bool nb_waiting_any_aside(const nb_waiting_queue *queue) { return queue->places_aside > 0; }
/* All may go. */
void nb_waiting_bring_back(nb_waiting_queue *queue);

#endif
