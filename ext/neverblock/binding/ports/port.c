/*
 * port.c - see port.h.
 */
#include "binding/ports/port.h"

#include <stdatomic.h>

#include "binding/ports/executor_state.h"

/* How long a published part may stay unannounced while more are made: one wake then serves
   several. */
#define UNRUNG_MAX_NS 50000

void nb_port_ring(nb_port *port) {
    if (port->unrung_since_ns == 0) return;
    port->unrung_since_ns = 0;
    nb_channel_ring_loop(port->channel);
}

void nb_port_announce_blocked(nb_port *port) {
    atomic_store_explicit(&port->channel->memory->executor_blocked, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

void *nb_port_reserve(nb_port *port, size_t bytes) {
    void *place = nb_ring_reserve(&port->responses, bytes);
    if (place) return place;
    nb_port_announce_blocked(port);
    return nb_ring_reserve(&port->responses, bytes);
}

void nb_port_publish(nb_port *port, size_t bytes) {
    nb_ring_commit(&port->responses, bytes);
    nb_ring_publish(&port->responses);
    int64_t now = nb_executor_switched_ns(port->executor);
    if (port->unrung_since_ns == 0) {
        port->unrung_since_ns = now ? now : 1;
    } else if (now - port->unrung_since_ns > UNRUNG_MAX_NS) {
        nb_port_ring(port);
    }
}
