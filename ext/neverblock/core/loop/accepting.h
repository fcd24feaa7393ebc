/*
 * accepting.h - accepts connections in bounded batches, and decides what happens at the limit of
 * connections or descriptors.
 *
 * The last descriptors of the process are left to files, request bodies and what the application
 * opens. A new descriptor with a high number (loop.descriptors_high) says that there are as many
 * connections as there may be for now. There, and at the limit of connections, the connection that
 * has been idle longest makes room for a newcomer. When none is idle, accepting pauses, and
 * newcomers wait in the kernel's backlog. When newcomers have had to wait for accept_timeout_ms,
 * those that find no place are told 503, until no one has had to wait for as long.
 *
 * Without any descriptor (EMFILE, ENFILE) accepting is tried again every 100 ms, and clients are
 * told 503 by means of the reserved descriptor (loop.reserve_fd).
 *
 * With several loops (loops.h) only the first listens. The limit counts the connections of all.
 * When the longest idle connection belongs to another loop, that loop is asked to end it.
 *
 * None of these rules hold for an admin listener. It has NB_ADMIN_CONNECTIONS_MAX connections of
 * its own, takes the reserved descriptor when there is no other, and stays open while the server
 * drains.
 *
 * Threads: all of it belongs to the loop's thread.
 */
#ifndef NB_LOOP_ACCEPTING_H
#define NB_LOOP_ACCEPTING_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop_state.h"

/* Accepts some of the waiting clients. True: more may wait. */
bool nb_listener_accept(nb_loop *loop, nb_listener *listener);
/* Accepts all that wait, before the listeners are closed. */
void nb_listeners_empty(nb_loop *loop);
/* Registers or unregisters all listeners with the poller. Admin listeners are never paused. */
void nb_listeners_pause(nb_loop *loop, bool pause);
/* Resumes listening where it may, after a connection ended or time has passed. */
void nb_listeners_resume_if_possible(nb_loop *loop);
/* Takes the connections that loop 0 has accepted for this one, and ends an idle connection if loop
   0 asks for room. */
void nb_listeners_take_arrivals(nb_loop *loop);
/* Wakes loop 0 if it waits for room and there may be some. At the end of a turn. */
void nb_listeners_tell_room(nb_loop *loop);
/* Frees descriptors that a new worker needs: closes unused files and the longest idle connections,
   at most *descriptors, which is reduced by as many. Accepting pauses for a moment, so that
   newcomers do not take them. */
void nb_listeners_give_way(nb_loop *loop, uint32_t *descriptors);
/* Closes the listeners for clients, or those for admin. */
void nb_listeners_close(nb_loop *loop, bool admin);

#endif
