/*
 * server_inside.h - looks into a server whose loops have ended. Includes server/server.c, so a
 * program takes it instead of the library's. For one file of a program.
 */
#ifndef NB_TEST_SERVER_INSIDE_H
#define NB_TEST_SERVER_INSIDE_H

#include "server/server.c"

#include "support/world.h"

static inline void nb_test_loop_is_empty(nb_loop *loop) {
    assert_int_equal(0, loop->connections.exchanges.live);
    assert_null(loop->connections.open);
    assert_null(loop->connections.dirty);
    assert_null(loop->connections.graveyard);
    assert_int_equal(0, nb_connections_count(&loop->connections));
    assert_int_equal(0, loop->dispatch.waiting.count);
    assert_int_equal(0, loop->pool.sending);
    assert_int_equal(0, loop->connections.spool.bytes);
    assert_int_equal(INT64_MAX, nb_timeouts_next_ns(&loop->connections.timeouts));
    for (uint16_t i = 0; i < loop->dispatch.count; i++)
        assert_null(loop->dispatch.channels[i].notices);
    for (uint32_t i = 0; i < loop->connections.exchanges.count; i++)
        assert_true(nb_send_queue_empty(&loop->connections.exchanges.slots[i]->send_queue));
}

/* For nb_test_world.inspect: no loop has a connection, an exchange, a request or bytes any more. */
static inline void nb_test_nothing_is_left(nb_server *server) {
    for (uint16_t i = 0; i < server->loops.count; i++)
        nb_test_loop_is_empty(&server->loops.each[i]);
    assert_int_equal(0, atomic_load(&server->loops.queues.waiting));
}

/* A cmocka setup: *state is the world of a front. It is looked into when all has ended. */
static inline int nb_test_front_setup(void **state) {
    (void)nb_test_world_setup(state);
    nb_test_world *world = *state;
    world->config.front = 1;
    world->inspect = nb_test_nothing_is_left;
    return 0;
}

#endif
