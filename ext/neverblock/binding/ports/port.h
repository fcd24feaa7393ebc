/*
 * port.h - an executor's end of one I/O loop's channel, and what goes into its response ring: room,
 * publication, the loop's doorbell.
 */
#ifndef NB_BINDING_PORT_H
#define NB_BINDING_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binding/ports/task_state.h"
#include "intake/channel.h"

struct nb_port {
    nb_executor *executor;
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
    nb_task **by_exchange; /* by the slot of the exchange id */
    uint32_t by_exchange_count;
    nb_task *room_first, *room_last; /* tasks waiting for room in the response ring */
    /* tasks with something to tell of their request's body, when there is room */
    nb_task *input_first;
    unsigned messages_taken; /* since the drain began */
    /* a fiber has the ring's first message, which is to be advanced over */
    bool in_hand;
    /* when the first part was published for which the loop was not rung; 0: none */
    int64_t unrung_since_ns;
    /* requests for which there was no fiber, to be answered when there is room */
    nb_exchange_id *refused;
    uint32_t refused_count;
    bool stop_received; /* nobody reads what is still written */
    bool ends;          /* no request will come any more */
};

/* Rings the loop for what was published and not announced. */
void nb_port_ring(nb_port *port);
/* Room for `bytes`; NULL: there is none, which the loop knows now. */
void *nb_port_reserve(nb_port *port, size_t bytes);
/* Makes what was written there visible; rings when the first part has waited long. */
void nb_port_publish(nb_port *port, size_t bytes);
/* Says that the ring was found full before it is looked at again: so the loop, which makes room and
   then looks, cannot miss it. */
void nb_port_announce_blocked(nb_port *port);

#endif
