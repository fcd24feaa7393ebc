/*
 * test_lanes.c - a server in C with a lane: which requests go there, its own bounds of threads and
 * queue, what becomes of its requests when a worker ends or a client leaves, and rules that change
 * while requests come.
 */
#include "dispatch/lanes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/world.h"

enum { FIBERS = 0, LANE = 1 }; /* executors: one of fibers, behind it those of the lane */

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    world.lane_threads = 1;
    world.lane_queue = 10;
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void await_counted(nb_test_world *w, unsigned executor, nb_test_event event, unsigned count) {
    while (nb_test_world_counted(w, executor, event) < count)
        nb_test_world_settle(w);
}

static void open_with_route(nb_test_world *w, const char *pattern) {
    w->route = (nb_route){.lane = 1};
    nb_test_world_open_routed(w, 1, (const char *const[]){pattern, NULL});
}

static nb_test_client *ask(nb_test_world *w, const char *path) {
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_get(client, path));
    return client;
}

static void answered(nb_test_world *w, const char *path) { nb_test_world_expect(w, ask(w, path), 200, NULL); }

static void set_rule(nb_server *server, const char *pattern, uint16_t lane) {
    static nb_lane_rules rules;
    rules.count = rules.text_bytes = 0;
    assert_status(NB_OK, nb_lane_rules_add(&rules, 1 << NB_METHOD_GET, nb_slice_of(pattern, strlen(pattern)), lane));
    assert_status(NB_OK, nb_server_lane_rules(server, &rules));
}

/* As the watch of their process tells it. */
static void stalls(nb_test_world *w, const char *path) {
    nb_stalled_write(&w->channels[FIBERS]->board->stalled, "GET", path);
}

/* --- which go there --- */

static void requests_of_its_route_go_there_and_others_do_not(void **state) {
    nb_test_world *w = *state;
    open_with_route(w, "/hello");
    answered(w, "/hello");
    answered(w, "/status/200");
    assert_int_equal(1, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    assert_int_equal(1, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void what_the_application_says_holds_until_it_says_something_else(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    set_rule(w->server, "/\1/20\1", 1);
    answered(w, "/status/200");
    set_rule(w->server, "/hello", 1);
    answered(w, "/status/200");
    answered(w, "/hello");
    assert_int_equal(2, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    assert_int_equal(1, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED));
    nb_lane_rules unknown = {.count = 1, .each = {{.lane = 2}}};
    assert_status(NB_INVALID, nb_server_lane_rules(w->server, &unknown));
    nb_test_world_close(w);
}

static void a_route_that_says_fibers_goes_before_what_the_application_says(void **state) {
    nb_test_world *w = *state;
    w->route = (nb_route){.in_fibers = true};
    nb_test_world_open_routed(w, 1, (const char *const[]){"/hello", NULL});
    set_rule(w->server, "/\2", 1);
    answered(w, "/hello");
    answered(w, "/status/200");
    assert_int_equal(1, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED));
    assert_int_equal(1, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void requests_of_a_class_that_has_stalled_go_there(void **state) {
    nb_test_world *w = *state;
    w->lane_learns = true;
    nb_test_world_open(w, 1);
    for (unsigned i = 0; i < NB_LEARNED_AFTER; i++)
        stalls(w, "/status/201");
    stalls(w, "/hello");
    nb_test_client *client = nb_test_world_client(w);
    /* One that the lane has not asked for yet runs in fibers. */
    while (nb_test_world_counted(w, LANE, NB_TEST_RECEIVED) < 2) {
        assert_true(nb_test_get(client, "/status/200"));
        nb_test_world_expect(w, client, 200, NULL);
    }
    unsigned before = nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED);
    answered(w, "/hello");
    assert_int_equal(before + 1, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void without_a_lane_for_it_nothing_is_learned(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (unsigned i = 0; i < NB_LEARNED_AFTER; i++)
        stalls(w, "/hello");
    for (int i = 0; i < 5; i++)
        answered(w, "/hello");
    assert_int_equal(0, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static _Atomic bool over;

static void *change_rules(void *server) {
    while (!atomic_load(&over)) {
        set_rule(server, "/hello", 1);
        set_rule(server, "/\2", 0);
    }
    return NULL;
}

static void rules_may_change_while_requests_come_to_several_loops(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[8];
    pthread_t changer;
    w->config.io_threads = 2;
    nb_test_world_open(w, 1);
    atomic_store(&over, false);
    assert_int_equal(0, pthread_create(&changer, NULL, change_rules, w->server));
    for (int i = 0; i < 8; i++)
        clients[i] = nb_test_world_client(w);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 8; i++)
            assert_true(nb_test_get(clients[i], "/hello"));
        for (int i = 0; i < 8; i++)
            nb_test_world_expect(w, clients[i], 200, "hello");
    }
    atomic_store(&over, true);
    pthread_join(changer, NULL);
    assert_int_equal(400, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED) +
                              nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* --- bounds --- */

static void as_many_run_as_it_has_threads_as_many_wait_and_more_are_refused(void **state) {
    nb_test_world *w = *state;
    nb_test_client *held[2], *waits;
    w->lane_threads = 2;
    w->lane_queue = 1;
    open_with_route(w, "/block");
    for (unsigned i = 0; i < 2; i++)
        held[i] = ask(w, "/block");
    await_counted(w, LANE, NB_TEST_BLOCKED, 1);
    await_counted(w, LANE + 1, NB_TEST_BLOCKED, 1);
    waits = ask(w, "/block");
    nb_test_world_await_queue(w, 1);
    nb_test_world_expect(w, ask(w, "/block"), 503, NULL);
    answered(w, "/hello"); /* in fibers */
    assert_int_equal(1, nb_test_world_counted(w, FIBERS, NB_TEST_RECEIVED));
    for (unsigned i = 0; i < 2; i++) {
        nb_test_executor_unblock(w->executors[LANE + i]);
        nb_test_executor_unblock(w->executors[LANE + i]); /* either may have the one that waits */
    }
    for (unsigned i = 0; i < 2; i++)
        nb_test_world_expect(w, held[i], 200, NULL);
    nb_test_world_expect(w, waits, 200, NULL);
    assert_int_equal(3, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED) +
                            nb_test_world_counted(w, LANE + 1, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void a_full_queue_of_fibers_is_not_its_own(void **state) {
    nb_test_world *w = *state;
    w->config.queue_max = 0;
    w->options.credit = 1;
    open_with_route(w, "/hello");
    nb_test_client *held = ask(w, "/block");
    await_counted(w, FIBERS, NB_TEST_BLOCKED, 1);
    answered(w, "/hello");
    assert_int_equal(1, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_executor_unblock(w->executors[FIBERS]);
    nb_test_world_expect(w, held, 200, NULL);
    nb_test_world_close(w);
}

/* --- ends --- */

static void an_end_waits_for_what_it_runs_and_for_what_waits_for_it(void **state) {
    nb_test_world *w = *state;
    open_with_route(w, "/block");
    nb_test_client *held = ask(w, "/block");
    await_counted(w, LANE, NB_TEST_BLOCKED, 1);
    nb_test_client *waits = ask(w, "/block");
    nb_test_world_await_queue(w, 1);
    nb_server_drain(w->server);
    nb_test_executor_unblock(w->executors[LANE]);
    nb_test_executor_unblock(w->executors[LANE]);
    nb_test_world_expect(w, held, 200, NULL);
    nb_test_world_expect(w, waits, 200, NULL);
    nb_test_world_close(w);
}

static void one_that_waits_is_never_run_when_its_client_has_left(void **state) {
    nb_test_world *w = *state;
    open_with_route(w, "/block");
    nb_test_client *held = ask(w, "/block");
    await_counted(w, LANE, NB_TEST_BLOCKED, 1);
    nb_test_client *leaves = ask(w, "/block");
    nb_test_world_await_queue(w, 1);
    nb_test_client_reset(leaves);
    nb_test_world_await_queue(w, 0);
    nb_test_executor_unblock(w->executors[LANE]);
    nb_test_world_expect(w, held, 200, NULL);
    assert_int_equal(1, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void one_that_runs_is_told_that_its_client_has_left(void **state) {
    nb_test_world *w = *state;
    open_with_route(w, "/never");
    nb_test_client *leaves = ask(w, "/never");
    await_counted(w, LANE, NB_TEST_RECEIVED, 1);
    nb_test_client_reset(leaves);
    await_counted(w, LANE, NB_TEST_GONE, 1);
    assert_int_equal(0, nb_test_world_counted(w, FIBERS, NB_TEST_GONE));
    nb_test_world_close(w);
}

/* The lane checks by itself what a body of its own needs: room in its own rings. */
static void large_bodies_pass_both_ways(void **state) {
    nb_test_world *w = *state;
    open_with_route(w, "/*");
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_post(client, "/echo", 300000, true));
    nb_test_world_expect(w, client, 200, NULL);
    assert_true(nb_test_get(client, "/big/3000000"));
    nb_test_world_expect(w, client, 200, NULL);
    assert_int_equal(2, nb_test_world_counted(w, LANE, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(requests_of_its_route_go_there_and_others_do_not),
        CASE(what_the_application_says_holds_until_it_says_something_else),
        CASE(a_route_that_says_fibers_goes_before_what_the_application_says),
        CASE(requests_of_a_class_that_has_stalled_go_there),
        CASE(without_a_lane_for_it_nothing_is_learned),
        CASE(rules_may_change_while_requests_come_to_several_loops),
        CASE(as_many_run_as_it_has_threads_as_many_wait_and_more_are_refused),
        CASE(a_full_queue_of_fibers_is_not_its_own),
        CASE(an_end_waits_for_what_it_runs_and_for_what_waits_for_it),
        CASE(one_that_waits_is_never_run_when_its_client_has_left),
        CASE(one_that_runs_is_told_that_its_client_has_left),
        CASE(large_bodies_pass_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
