/*
 * hijack.h - connections that an application takes over (Rack SPEC 3.1 and 2.2, "Hijacking"):
 * env["rack.hijack"], and the rack.hijack of a response.
 *
 * The application gets the client's own socket, a TCPSocket or UNIXSocket. Bytes that the server
 * had read before lie in its buffer (IO#ungetbyte): read, readpartial, read_nonblock, gets and
 * IO.select know of them. recv refuses them, and a poller of descriptors (nio4r) hears of them only
 * together with later ones. From then on the server neither reads, writes, times nor counts the
 * connection, and does not wait for it when it drains.
 */
#ifndef NB_BINDING_HIJACK_H
#define NB_BINDING_HIJACK_H

#include <ruby.h>

#include "binding/ports/running.h"
#include "binding/ports/task_state.h"

/* Makes the env["rack.hijack"] of a request. Raises NoMemoryError. */
VALUE nb_hijack_new(nb_request_name name);
/* The socket of the task's client. Parks the fiber until all that was sent before has left. The
   request is then over for the server: `task->ended` is set. Raises NeverBlock::ClientGone, and
   what is raised into the fiber meanwhile. */
VALUE nb_hijack_take(nb_task *task);
/* Closes a connection that has come for the task and is not wanted any more. In a child it stays
   open for the parent. */
void nb_hijack_drop(nb_task *task);
/* In a child: closes the connections that its parent's executor has, or is about to get, for
   requests. Their clients notice nothing. Later, when the executor may be garbage and its channel
   freed, it does nothing. */
void nb_hijack_abandon(nb_executor *executor);

void nb_hijack_define(VALUE module);

#endif
