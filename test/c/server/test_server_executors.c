/*
 * test_server_executors.c - a server in C with executors that stall, fill their rings, run the
 * loop's turns (the lease), or end: which executor gets which request, and that no request is left
 * waiting.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "os/clock.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

/* --- who gets a request --- */

static void what_a_stalled_executor_has_not_begun_with_is_run_by_the_other(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[40];
    nb_test_world_open(w, 2);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < 40; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hello"));
    }
    for (int i = 0; i < 40; i++)
        nb_test_world_expect(w, clients[i], 200, "hello");
    nb_test_executor_stall(w->executors[0], false);
    assert_int_equal(40, nb_test_world_counted(w, 1, NB_TEST_RECEIVED));
    nb_test_executor_stall(w->executors[1], true);
    assert_true(nb_test_get(clients[0], "/hello")); /* behind those that it passes over */
    nb_test_world_expect(w, clients[0], 200, "hello");
    assert_int_equal(1, nb_test_world_counted(w, 0, NB_TEST_RECEIVED));
    nb_test_executor_stall(w->executors[1], false);
    nb_test_world_close(w);
}

static void what_no_executor_asked_for_waits_and_goes_to_the_first_that_does(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[30];
    nb_test_world_open(w, 2);
    unsigned credit = w->channels[0]->board->credit_slow;
    nb_test_executor_stall(w->executors[0], true);
    nb_test_executor_stall(w->executors[1], true);
    for (int i = 0; i < 30; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hello"));
    }
    while (nb_test_world_counters(w).queue < 30 - 2 * credit)
        nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[1], false);
    for (int i = 0; i < 30; i++)
        nb_test_world_expect(w, clients[i], 200, "hello");
    assert_int_equal(30, nb_test_world_counted(w, 1, NB_TEST_RECEIVED));
    nb_test_executor_stall(w->executors[0], false);
    nb_test_world_close(w);
}

static void past_the_queues_bound_requests_are_refused_and_connections_go_on(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[6];
    w->config.queue_max = 2;
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < 6; i++) {
        clients[i] = nb_test_world_client(w);
        bool sent = i % 2 ? nb_test_post(clients[i], "/hello", 70000, true) : nb_test_get(clients[i], "/hello");
        assert_true(sent);
        if (i >= 3) nb_test_world_expect(w, clients[i], 503, NULL);
        if (i >= 3) assert_true(w->response.keep_alive);
        if (i < 3)
            while (nb_test_world_counters(w).requests < (uint64_t)i + 1)
                nb_test_world_settle(w);
        if (i == 1)
            while (nb_test_world_counters(w).queue < 1)
                nb_test_world_settle(w);
    }
    assert_int_equal(3, nb_test_world_counters(w).shed);
    nb_test_executor_stall(w->executors[0], false);
    for (int i = 0; i < 3; i++)
        nb_test_world_expect(w, clients[i], 200, "hello");
    for (int i = 3; i < 6; i++)
        nb_test_world_expect_hello(w, clients[i]);
    nb_test_world_close(w);
}

static void a_waiting_request_whose_client_went_is_never_given_to_an_executor(void **state) {
    nb_test_world *w = *state;
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_executor_stall(w->executors[0], true);
    nb_test_client *first = nb_test_world_client(w), *second = nb_test_world_client(w),
                   *third = nb_test_world_client(w);
    assert_true(nb_test_get(first, "/hello"));
    while (nb_test_world_counters(w).requests < 1)
        nb_test_world_settle(w);
    assert_true(nb_test_post(second, "/hello", 200000, false));
    while (nb_test_world_counters(w).queue < 1)
        nb_test_world_settle(w);
    assert_true(nb_test_get(third, "/hello"));
    while (nb_test_world_counters(w).queue < 2)
        nb_test_world_settle(w);
    nb_test_client_reset(second);
    while (nb_test_world_counters(w).spool_bytes > 0)
        nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_world_expect(w, first, 200, "hello");
    nb_test_world_expect(w, third, 200, "hello");
    assert_int_equal(2, nb_test_world_counted(w, 0, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* Each stands behind a live one, or at the front, when its client goes. */
static void what_is_queued_goes_at_once_with_its_client(void **state) {
    nb_test_world *w = *state;
    nb_test_client *live[3], *goes[3];
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < 3; i++)
        live[i] = nb_test_world_client(w);
    assert_true(nb_test_get(live[0], "/hello")); /* the executor's */
    while (nb_test_world_counters(w).requests < 1)
        nb_test_world_settle(w);
    while (nb_test_world_counters(w).connections != 3) {
    }
    unsigned descriptors = nb_test_descriptors();
    for (unsigned i = 0; i < 3; i++) {
        goes[i] = nb_test_world_client(w);
        assert_true(nb_test_post(goes[i], "/hello", 200000, i % 2));
        while (nb_test_world_counters(w).queue < 2 * i + 1)
            nb_test_world_settle(w);
        if (i < 2) assert_true(nb_test_get(live[i + 1], "/hello"));
        while (i < 2 && nb_test_world_counters(w).queue < 2 * i + 2)
            nb_test_world_settle(w);
    }
    assert_true(nb_test_world_counters(w).spool_bytes >= 3 * 200000);
    while (nb_test_world_counters(w).connections != 6) {
    }
    /* Two ends of a connection and a file each. */
    assert_int_equal(descriptors + 3 * 3, nb_test_descriptors());
    for (int i = 0; i < 3; i++)
        nb_test_client_reset(goes[i]);
    while (nb_test_world_counters(w).connections != 3) {
    }
    nb_test_world_settle(w);
    while (nb_test_world_counters(w).connections != 3) {
    }
    assert_int_equal(0, nb_test_world_counters(w).spool_bytes);
    assert_int_equal(2, nb_test_world_counters(w).queue);
    assert_int_equal(descriptors, nb_test_descriptors());
    nb_test_executor_stall(w->executors[0], false);
    for (int i = 0; i < 3; i++)
        nb_test_world_expect(w, live[i], 200, "hello");
    assert_int_equal(3, nb_test_world_counted(w, 0, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* --- full rings --- */

static void a_full_request_ring_makes_requests_wait_and_loses_no_notice(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[30];
    w->options.credit = 64;
    nb_test_world_open(w, 1);
    nb_test_client *goes = nb_test_world_client(w), *reads = nb_test_world_client(w);
    assert_true(nb_test_get(goes, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_true(nb_test_get(reads, "/big/60000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_PARKED, 1);
    nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < 30; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_post(clients[i], "/echo", 60000, i % 2));
    }
    while (nb_test_world_counters(w).queue == 0)
        nb_test_world_settle(w);
    nb_test_client_reset(goes);
    nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_world_expect(w, reads, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 60000000));
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    for (int i = 0; i < 30; i++) {
        nb_test_world_expect(w, clients[i], 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 60000));
    }
    nb_test_world_close(w);
}

static void many_lumps(nb_test_world *w, bool guest) {
    nb_test_client *clients[12];
    w->options.guest = guest;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 12; i++)
        clients[i] = nb_test_world_client(w);
    for (int round = 0; round < 5 || (nb_test_world_counted(w, 0, NB_TEST_FULL) == 0 && round < 100); round++) {
        nb_test_executor_stall(w->executors[0], true);
        for (int i = 0; i < 12; i++)
            assert_true(nb_test_get(clients[i], "/lump/400000"));
        nb_test_world_settle(w);
        nb_test_executor_stall(w->executors[0], false);
        for (int i = 0; i < 12; i++) {
            nb_test_world_expect(w, clients[i], 200, NULL);
            assert_true(nb_test_is_pattern(&w->response, 400000));
        }
    }
    assert_true(nb_test_world_counted(w, 0, NB_TEST_FULL) > 0);
    nb_test_world_close(w);
}

static void writers_that_found_the_response_ring_full_go_on_when_there_is_room(void **state) {
    many_lumps(*state, false);
}

/* The guest makes the room itself, so no one else wakes it for that. */
static void a_guest_whose_response_ring_was_full_goes_on_when_its_own_turn_made_room(void **state) {
    many_lumps(*state, true);
}

/* --- the lease --- */

static void an_executor_alone_runs_the_turns_itself(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 300; i++)
        nb_test_world_expect_hello(w, c);
    assert_true(nb_test_world_counted(w, 0, NB_TEST_GUEST) > 0);
    assert_true(nb_test_post(c, "/echo", 1000000, false));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 1000000));
    nb_test_world_close(w);
}

static void of_two_executors_none_is_a_guest(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 2);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    assert_int_equal(0, nb_test_world_counted(w, 0, NB_TEST_GUEST) + nb_test_world_counted(w, 1, NB_TEST_GUEST));
    nb_test_world_close(w);
}

/* The poll backend is no descriptor, and no second thread may touch it. */
static void with_a_poller_that_belongs_to_one_thread_there_is_no_guest(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    w->config.poller = "poll";
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 20; i++)
        nb_test_world_expect_hello(w, c);
    assert_int_equal(0, nb_test_world_counted(w, 0, NB_TEST_GUEST));
    nb_test_world_close(w);
}

static void while_the_guest_is_busy_the_host_runs_the_loop_and_gives_it_back(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *busy = nb_test_world_client(w), *other = nb_test_world_client(w);
    for (unsigned round = 1; round <= 20; round++) {
        assert_true(nb_test_get(busy, "/block"));
        nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, round);
        for (int i = 0; i < 3; i++) {
            assert_true(nb_test_send_text(other, "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n"));
            nb_test_world_expect(w, other, 200, "200 OK\n");
        }
        assert_true(nb_test_get(other, "/hello"));
        nb_test_executor_unblock(w->executors[0]);
        nb_test_world_expect(w, busy, 200, "blocked");
        nb_test_world_expect(w, other, 200, "hello");
        unsigned turns = nb_test_world_counted(w, 0, NB_TEST_GUEST);
        /* it becomes the guest again */
        while (nb_test_world_counted(w, 0, NB_TEST_GUEST) == turns) {
            nb_test_world_expect_hello(w, other);
        }
    }
    nb_test_world_close(w);
}

/* After ten quiet looks (10 ms) the host sleeps until the guest returns the lease. Only time brings
   that about. */
static void a_host_in_deep_standby_takes_over_a_guest_that_becomes_busy(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *busy = nb_test_world_client(w), *other = nb_test_world_client(w);
    for (unsigned round = 1; round <= 5; round++) {
        assert_false(nb_test_readable(other, 40));
        assert_true(nb_test_get(busy, "/block"));
        nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, round);
        assert_true(nb_test_send_text(other, "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n"));
        nb_test_world_expect(w, other, 200, "200 OK\n");
        nb_test_executor_unblock(w->executors[0]);
        nb_test_world_expect(w, busy, 200, "blocked");
    }
    nb_test_world_close(w);
}

static void a_guest_is_called_for_what_its_own_poller_has(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (unsigned i = 1; i <= 200; i++) {
        assert_true(nb_test_get(c, "/hold"));
        nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, i);
        nb_test_executor_release(w->executors[0]);
        nb_test_world_expect(w, c, 200, "held");
    }
    nb_test_world_close(w);
}

static void timeouts_pass_in_the_guests_turn_too(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    w->config.header_timeout_ms = 50;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET / HTTP/1.1\r\n"));
    nb_test_world_expect(w, c, 408, NULL);
    nb_test_world_close(w);
}

static void a_guest_that_dies_leaves_the_loop_to_the_host(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    nb_test_executor_kill(w->executors[0]);
    for (int i = 0; i < 100; i++) {
        assert_true(nb_test_send_text(c, "OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n"));
        nb_test_world_expect(w, c, 200, "200 OK\n");
    }
    nb_test_world_close(w);
}

static void stopping_now_reaches_a_guest_that_sits_in_the_poller(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    nb_server_stop_now(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL)); /* it was idle */
    w->ended = true;
    nb_test_world_close(w);
}

/* --- load --- */

typedef struct load {
    nb_test_world *world;
    unsigned requests, seed;
    _Atomic unsigned wrong;
} load;

static void *run_load(void *argument) {
    static const char *const paths[] = {"/hello", "/big/30000",   "/chunked/90000", "/file/50000",
                                        "/echo",  "/lump/300000", "/fields/500"};
    load *l = argument;
    nb_test_response response = {0};
    nb_test_client client = nb_test_connect(l->world->port);
    nb_test_random random = {l->seed};
    for (unsigned done = 0; done < l->requests;) {
        unsigned depth = (unsigned)nb_test_random_below(&random, 6) + 1;
        bool sent = true;
        for (unsigned i = 0; i < depth && sent; i++) {
            uint64_t kind = nb_test_random_below(&random, 10);
            sent = kind < 7 ? nb_test_get(&client, paths[kind])
                            : nb_test_post(&client, "/echo", (size_t)nb_test_random_below(&random, 90000), kind == 8);
        }
        for (unsigned i = 0; i < depth; i++) {
            bool read = sent && nb_test_read(&client, "GET", &response);
            if (!read || response.status != 200) atomic_fetch_add(&l->wrong, 1);
            if (!read) break;
        }
        done += depth;
    }
    nb_test_client_close(&client);
    free(response.body);
    return NULL;
}

static void *read_stats(void *argument) {
    load *l = argument;
    uint64_t most = 0;
    for (unsigned i = 0; i < 20000; i++) {
        nb_server_counters stats = nb_test_world_counters(l->world);
        if (stats.requests < most || stats.connections > 100) atomic_fetch_add(&l->wrong, 1);
        most = stats.requests;
    }
    return NULL;
}

static void serve_load(nb_test_world *w, unsigned executors) {
    enum { THREADS = 4 };
    load loads[THREADS];
    pthread_t threads[THREADS + 1];
    nb_test_world_open(w, executors);
    for (unsigned i = 0; i < THREADS; i++) {
        loads[i] = (load){.world = w, .requests = 500, .seed = i + 1};
        threads[i] = nb_test_thread(run_load, &loads[i]);
    }
    load reader = {.world = w};
    threads[THREADS] = nb_test_thread(read_stats, &reader);
    for (unsigned i = 0; i <= THREADS; i++)
        nb_test_join(threads[i]);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(0, loads[i].wrong);
    assert_int_equal(0, reader.wrong);
    assert_true(nb_test_world_counters(w).responses >= THREADS * 500);
    nb_test_world_close(w);
}

static void two_executors_serve_two_thousand_requests(void **state) { serve_load(*state, 2); }

static void four_executors_serve_two_thousand_requests(void **state) { serve_load(*state, 4); }

static void a_guest_and_its_host_serve_two_thousand_requests(void **state) {
    nb_test_world *w = *state;
    w->options.guest = true;
    serve_load(w, 1);
}

static void *drain(void *argument) {
    nb_server_drain(argument);
    return NULL;
}

static void a_drain_from_another_thread_under_load_ends_it_all(void **state) {
    nb_test_world *w = *state;
    load loads[2];
    pthread_t threads[2];
    nb_test_world_open(w, 2);
    for (unsigned i = 0; i < 2; i++) {
        loads[i] = (load){.world = w, .requests = 400, .seed = i + 40};
        threads[i] = nb_test_thread(run_load, &loads[i]);
    }
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 20);
    nb_test_join(nb_test_thread(drain, w->server));
    for (unsigned i = 0; i < 2; i++)
        nb_test_join(threads[i]);
    nb_server_join(w->server);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_a_stalled_executor_has_not_begun_with_is_run_by_the_other),
        CASE(what_no_executor_asked_for_waits_and_goes_to_the_first_that_does),
        CASE(past_the_queues_bound_requests_are_refused_and_connections_go_on),
        CASE(a_waiting_request_whose_client_went_is_never_given_to_an_executor),
        CASE(what_is_queued_goes_at_once_with_its_client),
        CASE(a_full_request_ring_makes_requests_wait_and_loses_no_notice),
        CASE(writers_that_found_the_response_ring_full_go_on_when_there_is_room),
        CASE(a_guest_whose_response_ring_was_full_goes_on_when_its_own_turn_made_room),
        CASE(an_executor_alone_runs_the_turns_itself),
        CASE(of_two_executors_none_is_a_guest),
        CASE(with_a_poller_that_belongs_to_one_thread_there_is_no_guest),
        CASE(while_the_guest_is_busy_the_host_runs_the_loop_and_gives_it_back),
        CASE(a_host_in_deep_standby_takes_over_a_guest_that_becomes_busy),
        CASE(a_guest_is_called_for_what_its_own_poller_has),
        CASE(timeouts_pass_in_the_guests_turn_too),
        CASE(a_guest_that_dies_leaves_the_loop_to_the_host),
        CASE(stopping_now_reaches_a_guest_that_sits_in_the_poller),
        CASE(two_executors_serve_two_thousand_requests),
        CASE(four_executors_serve_two_thousand_requests),
        CASE(a_guest_and_its_host_serve_two_thousand_requests),
        CASE(a_drain_from_another_thread_under_load_ends_it_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
