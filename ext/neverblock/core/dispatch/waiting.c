/*
 * waiting.c - see waiting.h.
 */
#include "dispatch/waiting.h"

#include <string.h>

#include "base/alloc.h"

nb_waiting *nb_waiting_create(nb_request_message *message) {
    nb_waiting *waiting = nb_alloc_zero(1, sizeof(*waiting));
    if (waiting) waiting->message = message;
    return waiting;
}

nb_waiting *nb_waiting_create_room(size_t bytes) {
    nb_request_message *message = nb_alloc(bytes);
    nb_waiting *waiting = message ? nb_waiting_create(message) : NULL;
    if (!waiting) nb_free(message);
    return waiting;
}

void nb_waiting_destroy(nb_waiting *waiting) {
    nb_free(waiting->message);
    nb_free(waiting);
}

void nb_waiting_init(nb_waiting_queue *queue) {
    *queue = (nb_waiting_queue){0};
    nb_list_init(&queue->all);
    nb_list_init(&queue->due);
}

static void join(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    waiting->exchange = exchange;
    exchange->waiting = waiting;
    queue->count++;
}

void nb_waiting_append(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    join(queue, waiting, exchange);
    nb_list_append(&queue->all, &waiting->all);
    nb_list_append(&queue->due, &waiting->due);
}

void nb_waiting_prepend(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    join(queue, waiting, exchange);
    nb_list_prepend(&queue->all, &waiting->all);
    nb_list_prepend(&queue->due, &waiting->due);
}

void nb_waiting_remove(nb_waiting_queue *queue, nb_waiting *waiting) {
    nb_list_remove(&waiting->all);
    nb_list_remove(&waiting->due);
    waiting->exchange->waiting = NULL;
    queue->count--;
    nb_free(waiting);
}

void nb_waiting_clear(nb_waiting_queue *queue) {
    nb_waiting *waiting;
    while ((waiting = nb_waiting_first(queue))) {
        nb_list_remove(&waiting->all);
        nb_request_message_free(waiting->message);
        nb_free(waiting);
    }
    nb_waiting_init(queue);
}

bool nb_waiting_set_aside(nb_waiting_queue *queue, nb_waiting *waiting) {
    uint64_t *aside = &queue->classes_aside[nb_throttle_slot(waiting->request_class)];
    if (*aside && *aside != waiting->request_class) return false;
    if (*aside == 0) queue->places_aside++;
    *aside = waiting->request_class;
    nb_list_remove(&waiting->due);
    return true;
}

void nb_waiting_bring_back(nb_waiting_queue *queue) {
    if (!nb_waiting_any_aside(queue)) return;
    memset(queue->classes_aside, 0, sizeof(queue->classes_aside));
    queue->places_aside = 0;
    for (nb_list *link = queue->all.next; link != &queue->all; link = link->next) {
        nb_waiting *waiting = NB_LIST_ENTRY(link, nb_waiting, all);
        nb_list_remove(&waiting->due);
        nb_list_append(&queue->due, &waiting->due);
    }
}
