/*
 * messages.h - what an executor takes from its ports' request rings: requests, which it starts, and what becomes of those that run.
 */
#ifndef NB_EXECUTOR_MESSAGES_H
#define NB_EXECUTOR_MESSAGES_H

#include "binding/ports/port.h"

void nb_executor_messages_define(void);

/* Takes what has come, of requests as many as a turn begins with (executor/entry.h), and sends what there is room for now. False: this is the child of a fork now; the other requests are run by the parent. */
bool nb_port_drain(nb_port *port);
/* Something has come, or what waits for room has some. */
bool nb_port_has_something(nb_port *port);

#endif
