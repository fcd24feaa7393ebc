/*
 * test_server_streams.c - responses that last: what all of them may hold together, and notices of
 * clients that left.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "support/world.h"

#define REQUEST(line, fields) line " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

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
    while (nb_test_world_counters(w).response_bytes < least)
        nb_test_world_settle(w);
    for (int i = 0; i < 50; i++) {
        nb_test_world_settle(w);
        assert_in_range(nb_test_world_counters(w).response_bytes, 0, most);
    }
}

static void await_empty(nb_test_world *w) {
    while (nb_test_world_counters(w).response_bytes > 0)
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

/* Past UNREAD_BYTES of answers no request begins. */
enum { PIPELINED = 400, ANSWER_BYTES = 60000, UNREAD_BYTES = 262144 };

/* Until all that have begun are answered. Their number. */
static unsigned await_still(nb_test_world *w) {
    unsigned answered;
    uint64_t own = 0;
    do {
        answered = nb_test_executor_count(w->executors[0], NB_TEST_ANSWERED);
        nb_test_world_settle(w);
        own += 2;
    } while (answered == 0 || nb_test_world_counters(w).requests - own != answered);
    return answered;
}

static void answers_that_nobody_reads_hold_the_pipeline_and_all_come_when_they_are_read(void **state) {
    nb_test_world *w = *state;
    static char requests[PIPELINED * 64];
    size_t size = 0;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    for (int i = 0; i < PIPELINED; i++)
        size += (size_t)sprintf(requests + size, "GET /lump/%d HTTP/1.1\r\nHost:a\r\n\r\n", ANSWER_BYTES + i);
    assert_true(size <= NB_READ_BUFFER_BYTES); /* it is not by not reading that fewer begin */
    assert_true(nb_test_send(c, requests, size));
    assert_true(await_still(w) < PIPELINED);
    assert_in_range(nb_test_world_counters(w).response_bytes, 1,
                    UNREAD_BYTES + NB_PIPELINE_MAX * NB_RESPONSE_SLICE_BYTES);
    for (unsigned i = 0; i < PIPELINED; i++) {
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, ANSWER_BYTES + i));
    }
    nb_test_world_expect_hello(w, c);
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
    while (nb_test_world_counters(w).requests < 1)
        nb_test_world_settle(w);
    assert_true(nb_test_get(second, "/hello"));
    nb_test_client_finish(second);
    while (nb_test_world_counters(w).queue < 1)
        nb_test_world_settle(w);
    nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_executor_await(w->executors[0], NB_TEST_LEFT, 1);
    nb_test_world_expect(w, first, 200, "hello");
    nb_test_world_expect(w, second, 200, "hello");
    nb_test_world_close(w);
}

/* --- hijack --- */

static nb_test_client taken(nb_test_world *w, unsigned count, const char *read_before) {
    char bytes[65536];
    size_t size;
    nb_test_executor_await(w->executors[0], NB_TEST_HIJACKED, count);
    nb_test_client ours = {.fd = nb_test_executor_taken(w->executors[0], bytes, &size)};
    assert_int_equal(strlen(read_before), size);
    assert_memory_equal(read_before, bytes, size);
    return ours;
}

static void expect_text(nb_test_client *c, const char *text) {
    char got[256];
    size_t size = 0;
    while (size < strlen(text) && nb_test_readable(c, NB_TEST_PATIENCE_MS)) {
        ssize_t more = recv(c->fd, got + size, strlen(text) - size, 0);
        if (more <= 0) break;
        size += (size_t)more;
    }
    assert_int_equal(strlen(text), size);
    assert_memory_equal(text, got, size);
}

static void assert_left_the_server(nb_test_world *w) {
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    while (nb_test_world_counters(w).connections > 1) /* the one that settle asks by */
        nb_test_world_settle(w);
    assert_int_equal(1, nb_test_world_counters(w).hijacked);
}

static void a_hijacked_connection_is_the_executors_with_what_was_read_of_it(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(
        c, REQUEST("GET /hello", "") REQUEST("GET /hijack", "Connection: upgrade\r\nUpgrade: any\r\n") "\1\2 no HTTP"));
    nb_test_client ours = taken(w, 1, "\1\2 no HTTP");
    nb_test_world_expect(w, c, 200, "hello");
    assert_true(nb_test_send_text(c, "later"));
    expect_text(&ours, "later");
    assert_true(nb_test_send_text(&ours, "answer"));
    expect_text(c, "answer");
    assert_left_the_server(w);
    nb_test_client_close(&ours);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

static void the_head_of_a_partial_hijack_leaves_before_the_connection(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hijackhead", "Connection: upgrade\r\nUpgrade: any\r\n")));
    nb_test_client ours = taken(w, 1, "");
    assert_true(nb_test_send_text(&ours, "then this"));
    nb_test_client_close(&ours);
    char got[512] = "";
    for (size_t size = 0; nb_test_readable(c, NB_TEST_PATIENCE_MS);) {
        ssize_t more = recv(c->fd, got + size, sizeof got - 1 - size, 0);
        if (more <= 0) break;
        size += (size_t)more;
    }
    assert_ptr_equal(got, strstr(got, "HTTP/1.1 101 Switching Protocols\r\n"));
    assert_non_null(strstr(got, "\r\nConnection: Upgrade\r\n"));
    assert_null(strstr(got, "Transfer-Encoding"));
    assert_non_null(strstr(got, "\r\n\r\nthen this"));
    assert_left_the_server(w);
    nb_test_world_close(w);
}

static void requests_behind_a_hijacked_one_are_given_up(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("GET /hijack", "")
                                         REQUEST("GET /never", "") "GET /unfin"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_HIJACKED));
    nb_test_executor_release(w->executors[0]);
    nb_test_client ours = taken(w, 1, "GET /unfin");
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 3);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_client_close(&ours);
    nb_test_world_close(w);
}

static void a_hijack_whose_client_goes_first_is_told_so(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /never", "") REQUEST("GET /hijack", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_world_settle(w);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 2);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 2);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_HIJACKED));
    nb_test_world_close(w);
}

/* The connection waits in the exchange, and is the executor's when there is room. */
static void a_hijacked_connection_waits_for_room_in_the_ring(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[30];
    w->options.credit = 64;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_send_text(c, REQUEST("GET /lump/12000000", "") REQUEST("GET /hijack", "") "GET /unfin"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_world_settle(w);
    nb_test_executor_stall(w->executors[0], true);
    for (int i = 0; i < 30; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_post(clients[i], "/echo", 60000, i % 2));
    }
    while (nb_test_world_counters(w).queue == 0)
        nb_test_world_settle(w);
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 12000000));
    while (nb_test_world_counters(w).hijacked == 0)
        nb_test_world_settle(w);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_HIJACKED));
    nb_test_executor_stall(w->executors[0], false);
    nb_test_client ours = taken(w, 1, "GET /unfin");
    nb_test_client_close(&ours);
    for (int i = 0; i < 30; i++) {
        nb_test_world_expect(w, clients[i], 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 60000));
    }
    nb_test_world_close(w);
}

static void a_server_that_drains_does_not_wait_for_a_hijacked_connection(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hijack"));
    nb_test_client ours = taken(w, 1, "");
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    w->before.descriptors++; /* ours outlives the server */
    nb_test_world_close(w);
    nb_test_client_close(&ours);
}

static void a_hijack_that_waits_when_the_server_stops_is_told_that_the_client_is_gone(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /never", "") REQUEST("GET /hijack", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_server_stop_now(w->server);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 2);
    nb_test_executor_await(w->executors[0], NB_TEST_STOPPED, 1);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_HIJACKED));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(many_slow_readers_hold_no_more_than_the_budget_and_others_are_served),
        CASE(what_slow_readers_held_is_free_again_when_they_have_gone),
        CASE(alone_a_response_holds_its_backlog_and_no_more),
        CASE(answers_that_nobody_reads_hold_the_pipeline_and_all_come_when_they_are_read),
        CASE(the_end_of_a_client_is_seen_also_where_nothing_more_is_read),
        CASE(what_follows_a_last_request_does_not_hide_it_for_ever),
        CASE(a_hijacked_connection_is_the_executors_with_what_was_read_of_it),
        CASE(the_head_of_a_partial_hijack_leaves_before_the_connection),
        CASE(requests_behind_a_hijacked_one_are_given_up),
        CASE(a_hijack_whose_client_goes_first_is_told_so),
        CASE(a_hijacked_connection_waits_for_room_in_the_ring),
        CASE(a_server_that_drains_does_not_wait_for_a_hijacked_connection),
        CASE(a_hijack_that_waits_when_the_server_stops_is_told_that_the_client_is_gone),
        CASE(an_executor_that_gets_its_request_later_is_told_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
