/*
 * waiting.c - see waiting.h.
 */
#include "server/waiting.h"

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

/* Between these two; NULL: it is the first, the last. */
static void insert(nb_waiting_queue *queue, nb_waiting *previous, nb_waiting *waiting, nb_waiting *next) {
    waiting->previous = previous;
    waiting->next = next;
    *(previous ? &previous->next : &queue->first) = waiting;
    *(next ? &next->previous : &queue->last) = waiting;
}

static void insert_due(nb_waiting_queue *queue, nb_waiting *previous, nb_waiting *waiting, nb_waiting *next) {
    waiting->aside = false;
    waiting->previous_due = previous;
    waiting->next_due = next;
    *(previous ? &previous->next_due : &queue->first_due) = waiting;
    *(next ? &next->previous_due : &queue->last_due) = waiting;
}

static void remove_due(nb_waiting_queue *queue, nb_waiting *waiting) {
    *(waiting->previous_due ? &waiting->previous_due->next_due : &queue->first_due) = waiting->next_due;
    *(waiting->next_due ? &waiting->next_due->previous_due : &queue->last_due) = waiting->previous_due;
}

static void join(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    waiting->exchange = exchange;
    exchange->waiting = waiting;
    queue->count++;
}

void nb_waiting_append(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    join(queue, waiting, exchange);
    insert(queue, queue->last, waiting, NULL);
    insert_due(queue, queue->last_due, waiting, NULL);
}

void nb_waiting_prepend(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    join(queue, waiting, exchange);
    insert(queue, NULL, waiting, queue->first);
    insert_due(queue, NULL, waiting, queue->first_due);
}

void nb_waiting_remove(nb_waiting_queue *queue, nb_waiting *waiting) {
    *(waiting->previous ? &waiting->previous->next : &queue->first) = waiting->next;
    *(waiting->next ? &waiting->next->previous : &queue->last) = waiting->previous;
    if (!waiting->aside) remove_due(queue, waiting);
    waiting->exchange->waiting = NULL;
    queue->count--;
    nb_free(waiting);
}

void nb_waiting_clear(nb_waiting_queue *queue) {
    while (queue->first) {
        nb_waiting *waiting = queue->first;
        queue->first = waiting->next;
        nb_request_message_free(waiting->message);
        nb_free(waiting);
    }
    *queue = (nb_waiting_queue){0};
}

void nb_waiting_set_aside(nb_waiting_queue *queue, nb_waiting *waiting) {
    uint16_t place = nb_crowds_place(waiting->like);
    if (queue->likes_aside[place] == 0) queue->places_aside++;
    queue->likes_aside[place] = waiting->like;
    remove_due(queue, waiting);
    waiting->aside = true;
}

void nb_waiting_bring_back(nb_waiting_queue *queue) {
    if (!nb_waiting_any_aside(queue)) return;
    memset(queue->likes_aside, 0, sizeof(queue->likes_aside));
    queue->places_aside = 0;
    queue->first_due = queue->last_due = NULL;
    for (nb_waiting *waiting = queue->first; waiting; waiting = waiting->next)
        insert_due(queue, queue->last_due, waiting, NULL);
}
