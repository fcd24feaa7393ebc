/*
 * loop.h - the life of an I/O loop, and the turn that moves it: what came, what is due, then sleep until there is more. Only
 * the loop's thread calls what is here, but for nb_loop_init and nb_loop_deinit, which are called while it does not run.
 */
#ifndef NB_LOOP_LOOP_H
#define NB_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop_state.h"
#include "loop/loops.h"

/* One of `all`, whose first is made first and ends last. */
nb_status nb_loop_init(nb_loop *loop, const nb_server_config *config, nb_loops *all, uint16_t number,
                       const nb_connections_events *events);
void nb_loop_deinit(nb_loop *loop);
/* Adds the guest's own poller to the loop's, so that a guest that runs turns sees its own events. */
nb_status nb_loop_watch_guest(nb_loop *loop, int fd);
/* Does what other threads have asked for; under calls_lock only their list. */
void nb_loop_run_calls(nb_loop *loop);
/* From now on, while no channel serves, requests are refused, those that wait too. 0: they wait. */
void nb_loop_set_unavailable(nb_loop *loop, uint32_t seconds);
/* One turn: what came, what is due, then sleep until there is more. False: the loop has ended. */
bool nb_loop_turn(nb_loop *loop);

#endif
