/*
 * test_admin_totals.c - totals of the admin pages never go back: not when a process ends, and not
 * while a reader comes between two things that are counted.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/tally.h"
#include "support/admin_page.h"
#include "support/http2_client.h"
#include "support/server_inside.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_admin_setup)

/* --- processes --- */

/* Opens the world as a front with a lane of one thread. */
static void open_front_with_lane(nb_test_world *w) {
    uint16_t lane;
    w->config.front = 1;
    nb_test_alarm(40);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_lane_add(w->server, 1, 1, &lane));
    assert_status(NB_OK, nb_server_listen_admin_tcp(w->server, "127.0.0.1", 0, &w->admin_port));
    assert_status(NB_OK, nb_server_start(w->server));
}

static nb_channel *serve_process(nb_test_world *w, uint16_t number) {
    nb_channel *channel;
    assert_status(NB_OK, nb_server_channel_create(w->server, 0, &channel));
    assert_status(NB_OK, nb_server_channel_serve(w->server, channel, number, 1000 + number));
    return channel;
}

static void end_process(nb_test_world *w, nb_channel *channel) {
    nb_channel_report report;
    nb_server_channel_end(w->server, channel, &report);
}

static void stall(nb_board *board, const char *culprit, uint64_t count) {
    nb_tally_count(&board->stalls, nb_tally_row_of(&board->stalls, 0, culprit), count, 0);
}

static void what_a_process_has_counted_stays_when_it_ends(void **state) {
    nb_test_world *w = *state;
    open_front_with_lane(w);
    nb_channel *first = serve_process(w, 1), *second = serve_process(w, 2);
    nb_board *fibers = first->board, *lane = first->link->lanes->board;
    stall(fibers, "app.rb:1", 1);
    stall(lane, "app.rb:2", 10);
    atomic_store(&fibers->figures.gc_major, 3);
    atomic_store(&lane->figures.gc_major, 3);
    for (int round = 0; round < 2; round++) {
        (void)page(w, "/metrics", 200);
        assert_true(shows(w, "culprit=\"app.rb:1\"} 1\n"));
        assert_true(shows(w, "culprit=\"app.rb:2\"} 10\n"));
        assert_true(shows(w, "gc_runs_total{kind=\"major\"} 3\n"));
        if (round == 0) end_process(w, first);
    }
    end_process(w, second);
    nb_test_world_close(w);
}

/* Two processes blame more lines than have rows. */
static void a_culprit_keeps_the_row_that_it_was_told_with(void **state) {
    nb_test_world *w = *state;
    char name[32];
    open_front_with_lane(w);
    nb_channel *first = serve_process(w, 1), *second = serve_process(w, 2);
    for (unsigned i = 0; i < NB_TALLY_ROWS; i++) {
        snprintf(name, sizeof name, "a.rb:%u", i);
        stall(first->board, name, 1);
        snprintf(name, sizeof name, "b.rb:%u", i);
        stall(second->board, name, 100);
    }
    for (int round = 0; round < 3; round++) {
        (void)page(w, "/metrics", 200);
        for (unsigned i = 0; i < NB_TALLY_ROWS; i++) {
            snprintf(name, sizeof name, "\"a.rb:%u\"} 1\n", i);
            assert_true(shows(w, name));
        }
        assert_true(shows(w, "stalls_total{kind=\"other\",culprit=\"other\"} 3200\n"));
        if (round < 2) end_process(w, round == 0 ? second : first);
    }
    nb_test_world_close(w);
}

/* --- protocols --- */

static void expect_protocols(nb_test_world *w, const char *family, unsigned http1, unsigned http2) {
    char text[160];
    snprintf(text, sizeof text, "neverblock_%s{protocol=\"http/1.1\"} %u\nneverblock_%s{protocol=\"h2\"} %u\n", family,
             http1, family, http2);
    (void)page(w, "/metrics", 200);
    if (!shows(w, text)) fail_msg("not %s in %s", text, strstr(w->response.body, "# HELP neverblock_protocol"));
}

/* What a client speaks is known with its first request. */
static void a_connection_counts_when_it_is_known_what_it_speaks(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *silent = nb_test_world_client(w), *partial = nb_test_world_client(w);
    assert_true(nb_test_send_text(partial, "GET /hel"));
    nb_test_client_close(partial);
    nb_test_client *client = nb_test_world_client(w), *wrong = nb_test_world_client(w);
    nb_test_world_settle(w); /* by a connection of its own */
    expect_protocols(w, "protocol_connections_total", 1, 0);
    nb_test_world_expect_hello(w, client);
    nb_test_world_expect_hello(w, client);
    assert_true(nb_test_send_text(wrong, "GET\r\n\r\n"));
    nb_test_world_expect(w, wrong, 400, NULL);
    expect_protocols(w, "protocol_connections_total", 3, 0);
    expect_protocols(w, "protocol_requests_total", 4, 0);
#ifdef NB_HAVE_HTTP2
    static nb_test_h2 h2;
    nb_test_h2_begin(&h2, silent, false);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    expect_protocols(w, "protocol_connections_total", 3, 1);
    expect_protocols(w, "protocol_requests_total", 4, 1);
    nb_test_h2_end(&h2);
#else
    (void)silent;
#endif
    nb_test_world_close(w);
}

/* A loop has counted one of two things, and not yet the other. */
static void a_reader_between_two_counts_sees_no_total_go_back(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_client(w);
    nb_test_world_expect_hello(w, client);
    assert_true(nb_test_get(client, "/status/500"));
    nb_test_world_expect(w, client, 500, NULL);
    nb_counters *counters = &w->server->loops.each[0].counters;
    for (int round = 0; round < 2; round++) {
        expect_protocols(w, "protocol_requests_total", 2, (unsigned)round);
        assert_true(shows(w, "\nneverblock_request_errors_total 1\n"));
        atomic_fetch_add(&counters->http2_requests, 1);
        atomic_fetch_add(&counters->shed, 1);
    }
    nb_test_world_close(w);
}

static void what_is_shed_is_no_error(void **state) {
    nb_test_world *w = *state;
    w->config.queue_max = 1;
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_client *held = nb_test_world_client(w), *waits = nb_test_world_client(w), *shed = nb_test_world_client(w);
    assert_true(nb_test_get(held, "/block"));
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    assert_true(nb_test_get(waits, "/hello"));
    nb_test_world_await_queue(w, 1);
    assert_true(nb_test_get(shed, "/hello"));
    nb_test_world_expect(w, shed, 503, NULL);
    (void)page(w, "/metrics", 200);
    assert_true(shows(w, "\nneverblock_requests_shed_total 1\n"));
    assert_true(shows(w, "\nneverblock_request_errors_total 0\n"));
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, waits, 200, "hello");
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_a_process_has_counted_stays_when_it_ends),
        CASE(a_culprit_keeps_the_row_that_it_was_told_with),
        CASE(a_connection_counts_when_it_is_known_what_it_speaks),
        CASE(a_reader_between_two_counts_sees_no_total_go_back),
        CASE(what_is_shed_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
