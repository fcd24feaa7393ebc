/*
 * test_server_streams.c - responses that last: what all of them may hold together, and the news of clients that left.
 */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "support/world.h"

#define REQUEST(line, fields) line " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

/* --- the budget --- */

enum { READERS = 48, BODY_BYTES = 12000000 };

static void slow_readers(nb_test_world *w, nb_test_client **clients, const char *path) {
    for (int i = 0; i < READERS; i++) {
        clients[i] = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
        assert_true(nb_test_get(clients[i], path));
    }
    nb_test_executor *e = w->executors[0];
    while (nb_test_executor_count(e, NB_TEST_PARKED) < READERS + nb_test_executor_count(e, NB_TEST_DRAINED))
        nb_test_world_settle(w);
}

static void assert_holds(nb_test_world *w, uint64_t least, uint64_t most) {
    while (nb_test_world_stats(w).response_bytes < least)
        nb_test_world_settle(w);
    for (int i = 0; i < 50; i++) {
        nb_test_world_settle(w);
        assert_in_range(nb_test_world_stats(w).response_bytes, 0, most);
    }
}

static void await_empty(nb_test_world *w) {
    while (nb_test_world_stats(w).response_bytes > 0)
        nb_test_world_settle(w);
}

static void many_slow_readers_hold_no_more_than_the_budget_and_others_are_served(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[READERS];
    w->config.response_bytes_max = 4000000;
    nb_test_world_open(w, 1);
    slow_readers(w, clients, "/chunked/12000000");
    assert_holds(w, 1000000, 4000000 + NB_RING_BYTES + READERS * NB_RESPONSE_FLOOR_BYTES);
    nb_test_client *other = nb_test_world_client(w);
    assert_true(nb_test_get(other, "/big/12000000"));
    nb_test_world_expect(w, other, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, BODY_BYTES));
    for (int i = 0; i < READERS; i++) {
        nb_test_world_expect(w, clients[i], 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, BODY_BYTES));
    }
    await_empty(w);
    nb_test_world_close(w);
}

static void what_slow_readers_held_is_free_again_when_they_have_gone(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[READERS];
    w->config.response_bytes_max = 1000000;
    nb_test_world_open(w, 1);
    slow_readers(w, clients, "/big/100000000");
    for (int i = 0; i < READERS; i++)
        nb_test_client_reset(clients[i]);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, READERS);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, READERS);
    await_empty(w);
    nb_test_world_close(w);
}

static void alone_a_response_holds_its_backlog_and_no_more(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, "/big/100000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_PARKED, 1);
    assert_holds(w, 1, w->config.response_backlog_bytes);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_world_close(w);
}

/* --- clients that leave --- */

/* Without keep-alive nothing more is read of the client, and still its end is seen. */
static void the_end_of_a_client_is_seen_also_where_nothing_more_is_read(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "Connection: close\r\n")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client_finish(c);
    nb_test_executor_await(w->executors[0], NB_TEST_LEFT, 1);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

static void what_follows_a_last_request_does_not_hide_it_for_ever(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "Connection: close\r\n") "and more"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_world_close(w);
}

static void an_executor_that_gets_its_request_later_is_told_then(void **state) {
    nb_test_world *w = *state;
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_executor_stall(w->executors[0], true);
    nb_test_client *first = nb_test_world_client(w), *second = nb_test_world_client(w);
    assert_true(nb_test_get(first, "/hello"));
    while (nb_test_world_stats(w).requests < 1)
        nb_test_world_settle(w);
    assert_true(nb_test_get(second, "/hello"));
    nb_test_client_finish(second);
    while (nb_test_world_stats(w).queue < 1)
        nb_test_world_settle(w);
    nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_executor_await(w->executors[0], NB_TEST_LEFT, 1);
    nb_test_world_expect(w, first, 200, "hello");
    nb_test_world_expect(w, second, 200, "hello");
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(many_slow_readers_hold_no_more_than_the_budget_and_others_are_served),
        CASE(what_slow_readers_held_is_free_again_when_they_have_gone),
        CASE(alone_a_response_holds_its_backlog_and_no_more),
        CASE(the_end_of_a_client_is_seen_also_where_nothing_more_is_read),
        CASE(what_follows_a_last_request_does_not_hide_it_for_ever),
        CASE(an_executor_that_gets_its_request_later_is_told_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
