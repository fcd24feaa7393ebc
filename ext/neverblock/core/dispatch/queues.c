/*
 * queues.c - see queues.h.
 */
#include "dispatch/queues.h"

#include "os/clock.h"

/* A request may be overtaken by this much. Waiting for less would cost more, as its loop may have
   to be woken. */
#define OVERTAKE_NS (1 * NB_NS_PER_MS)

void nb_queues_publish(nb_queues *queues, uint16_t number, int64_t oldest_ns) {
    atomic_store_explicit(&queues->places[number].oldest_ns, oldest_ns, memory_order_relaxed);
}

bool nb_queues_give_way(const nb_queues *queues, uint16_t number, int64_t arrived_ns) {
    for (uint16_t i = 0; i < queues->count; i++) {
        int64_t oldest_ns = atomic_load_explicit(&queues->places[i].oldest_ns, memory_order_relaxed);
        if (i != number && oldest_ns && arrived_ns - oldest_ns > OVERTAKE_NS) return true;
    }
    return false;
}

void nb_queues_wake_others(nb_queues *queues, uint16_t number) {
    for (uint16_t i = 0; i < queues->count; i++) {
        nb_queue_place *place = &queues->places[i];
        if (i != number && nb_doorbell_ring_needed(&place->bell)) nb_wake_signal(place->wake);
    }
}
