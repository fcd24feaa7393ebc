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

static void append_due(nb_waiting_queue *queue, nb_waiting *waiting) {
    waiting->aside = false;
    waiting->previous_due = queue->last_due;
    waiting->next_due = NULL;
    *(queue->last_due ? &queue->last_due->next_due : &queue->first_due) = waiting;
    queue->last_due = waiting;
}

static void remove_due(nb_waiting_queue *queue, nb_waiting *waiting) {
    *(waiting->previous_due ? &waiting->previous_due->next_due : &queue->first_due) = waiting->next_due;
    *(waiting->next_due ? &waiting->next_due->previous_due : &queue->last_due) = waiting->previous_due;
}

void nb_waiting_append(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    waiting->exchange = exchange;
    exchange->waiting = waiting;
    waiting->previous = queue->last;
    waiting->next = NULL;
    *(queue->last ? &queue->last->next : &queue->first) = waiting;
    queue->last = waiting;
    append_due(queue, waiting);
    queue->count++;
}

void nb_waiting_prepend(nb_waiting_queue *queue, nb_waiting *waiting, nb_exchange *exchange) {
    waiting->exchange = exchange;
    exchange->waiting = waiting;
    waiting->previous = NULL;
    waiting->next = queue->first;
    *(queue->first ? &queue->first->previous : &queue->last) = waiting;
    queue->first = waiting;
    waiting->aside = false;
    waiting->previous_due = NULL;
    waiting->next_due = queue->first_due;
    *(queue->first_due ? &queue->first_due->previous_due : &queue->last_due) = waiting;
    queue->first_due = waiting;
    queue->count++;
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
        append_due(queue, waiting);
}
