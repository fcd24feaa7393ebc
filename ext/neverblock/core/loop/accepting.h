/*
 * accepting.h - connections are accepted in bounded batches, and what to do when the limit of connections or of
 * descriptors is reached.
 *
 * Connections leave the last descriptors of the process to files, request bodies and what the application opens: whose number is high
 * (loop.descriptors_high) says that there are as many connections as there may be for now. There, as at the limit of connections, the one that
 * has been idle longest makes room for a newcomer; when none is idle, accepting pauses and newcomers wait in the kernel's backlog. When
 * somebody or other has waited so for accept_timeout_ms, who finds no place is told 503, until nobody has had to wait for as long.
 *
 * Without any descriptor (EMFILE, ENFILE: others have taken them) it is tried again every 100 ms, and clients are told 503 by means of the
 * spare descriptor. Owned by the loop's thread.
 *
 * Where there are several loops (loops.h) only the first listens. The limit is that of all together; a connection that
 * has been idle longest with another loop is ended there, on request.
 *
 * An admin listener keeps none of these rules: it has NB_ADMIN_CONNECTIONS_MAX of its own, takes the spare descriptor
 * when there is no other, and stays open while the server drains.
 */
#ifndef NB_LOOP_ACCEPTING_H
#define NB_LOOP_ACCEPTING_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop_state.h"

void nb_listener_accept(nb_loop *loop, nb_listener *listener);
/* Registers or unregisters all listeners with the poller. */
void nb_listeners_pause(nb_loop *loop, bool pause);
/* A connection ended, or time has passed: accepts again where it may. */
void nb_listeners_resume_if_possible(nb_loop *loop);
/* Takes what the first loop has accepted for this one, and ends an idle connection if that one asks for room. */
void nb_listeners_take_arrivals(nb_loop *loop);
/* The first loop learns that there may be room. At the turn's end. */
void nb_listeners_tell_room(nb_loop *loop);
/* Descriptors that a new worker needs: files that nobody uses and the connections that have been idle longest are closed, as many as `descriptors` says, which is less by that
   afterwards; and nobody is accepted for a moment who would take them. */
void nb_listeners_give_way(nb_loop *loop, uint32_t *descriptors);
/* Closes those for clients, or those for admin. */
void nb_listeners_close(nb_loop *loop, bool admin);

#endif
