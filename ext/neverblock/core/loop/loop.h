/*
 * loop.h - the life of an I/O loop, and its turn: take what came, do what is due, then sleep until
 * there is more.
 *
 * Threads: only the loop's thread calls these functions, but for nb_loop_init and nb_loop_deinit,
 * which are called while it does not run.
 */
#ifndef NB_LOOP_LOOP_H
#define NB_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop_state.h"
#include "loop/loops.h"

/* Initialises one loop of `all`. Loop 0 is initialised first and ends last. On failure nothing is
   left to free. */
nb_status nb_loop_init(nb_loop *loop, const nb_server_config *config, nb_loops *all, uint16_t number,
                       const nb_connections_events *events);
void nb_loop_deinit(nb_loop *loop);
/* Watches the guest's own poller, so that a guest that runs turns sees its own events (lease.h). */
nb_status nb_loop_watch_guest(nb_loop *loop, int fd);
/* Runs the calls that other threads have queued. */
void nb_loop_run_calls(nb_loop *loop);
/* While no channel serves, requests are refused with this Retry-After in seconds, also those that
   wait. 0: they wait. */
void nb_loop_set_unavailable(nb_loop *loop, uint32_t seconds);
/* Runs one turn. False: the loop has ended. */
bool nb_loop_turn(nb_loop *loop);

#endif
