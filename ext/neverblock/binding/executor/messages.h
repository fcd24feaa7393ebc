/*
 * messages.h - what an executor takes from its ports' request rings: requests, which it starts, and
 * news of those that run. The executor's thread, in the loop fiber.
 */
#ifndef NB_EXECUTOR_MESSAGES_H
#define NB_EXECUTOR_MESSAGES_H

#include "binding/ports/port.h"

void nb_executor_messages_define(void);

/* Takes what has come, as many requests as a turn begins with (executor/entry.h), and sends what
   there is room for now. False: this is the child of a fork now, and the parent runs the other
   requests. */
bool nb_port_drain(nb_port *port);
/* Has something come, or is there room for what waits for it? */
bool nb_port_has_something(nb_port *port);

#endif
