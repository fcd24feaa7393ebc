/*
 * port.h - what goes from an executor into its ports' response rings, besides what tasks themselves send (executor.h): room, publication, the
 * loop's doorbell, and waits for room.
 */
#ifndef NB_EXECUTOR_PARTS_H
#define NB_EXECUTOR_PARTS_H

#include "binding/ports/executor.h"

/* Rings the loop for what was published and not announced. */
void nb_port_ring(nb_port *port);
/* Room for `bytes`; NULL: there is none, which the loop knows now. */
void *nb_port_reserve(nb_port *port, size_t bytes);
/* Makes what was written there visible; rings when the first part has waited long. */
void nb_port_publish(nb_port *port, size_t bytes);
/* What nb_executor_tell_taken had no room for. */
void nb_port_tell_taken(nb_port *port);

#endif
