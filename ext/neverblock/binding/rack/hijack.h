/*
 * hijack.h - connections that an application takes over (Rack SPEC 3.1, "Hijacking"; Rack 2.2 likewise): env["rack.hijack"], and the
 * rack.hijack of a response.
 *
 * What the application gets is the client's own socket, a TCPSocket or UNIXSocket. Bytes that the server had read before stand in its
 * buffer (IO#ungetbyte): read, readpartial, read_nonblock, gets and IO.select know of them; recv refuses them, and a poller of
 * descriptors (nio4r) hears of them only together with later ones. From then on the server neither reads, writes, times nor counts it,
 * and does not wait for it when it drains.
 */
#ifndef NB_BINDING_HIJACK_H
#define NB_BINDING_HIJACK_H

#include <ruby.h>

#include "binding/ports/task_state.h"

/* A new env["rack.hijack"] of the request. */
VALUE nb_hijack_new(nb_exchange_id exchange);
/* The socket of the task's client. Parks the fiber until all that was to be sent before has left. The request is then over for the server:
   the task's `ended` is set. Raises NeverBlock::ClientGone, and what is raised into the fiber meanwhile. */
VALUE nb_hijack_take(nb_task *task);
/* Closes a connection that came and was not wanted any more. */
void nb_hijack_drop(nb_task *task);

void nb_hijack_define(VALUE module);

#endif
