/*
 * test_server_upload.c - request bodies that are passed on while their request runs (a route with
 * stream_input), over real sockets: the window, Expect, answers before the body's end, bodies that
 * cannot be had. Every connection here is a client of support/c_executor.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "support/world.h"

#define HEAD(path, fields) "POST " path " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"

static const char *const everything[] = {"/*", NULL};

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    world.route.stream_input = true;
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void open_streaming(nb_test_world *w, unsigned executors) {
    nb_test_world_open_routed(w, executors, everything);
}

static void expect_end(nb_test_client *c, nb_test_end end) {
    size_t dropped;
    assert_int_equal(end, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
}

/* --- whole bodies --- */

static void expect_count(nb_test_world *w, nb_test_client *c, size_t bytes) {
    char text[32];
    snprintf(text, sizeof text, "%zu good", bytes);
    nb_test_world_expect(w, c, 200, text);
    assert_true(w->response.keep_alive);
}

static void bodies_of_every_sort_arrive_whole_and_the_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    static const size_t sizes[] = {
        1, 16383, 16384, 16385, NB_INPUT_WINDOW_BYTES - 1, NB_INPUT_WINDOW_BYTES, NB_INPUT_WINDOW_BYTES + 1, 3000000};
    for (int guest = 0; guest < 2; guest++) {
        setup(state);
        w->options.guest = guest;
        open_streaming(w, 1);
        nb_test_client *c = nb_test_world_client(w);
        for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
            assert_true(nb_test_post(c, "/count", sizes[i / 2], i % 2));
            expect_count(w, c, sizes[i / 2]);
        }
        assert_true(nb_test_send_text(c, HEAD("/count", "Transfer-Encoding: chunked\r\n") "0\r\n\r\n"));
        expect_count(w, c, 0);
        assert_int_equal(1, nb_test_world_counters(w).accepted);
        nb_test_world_close(w);
    }
}

static void a_request_without_a_body_is_none_that_streams(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 0\r\n") HEAD("/count", "")));
    nb_test_world_expect(w, c, 200, "");
    nb_test_world_expect(w, c, 200, "");
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_WHOLE));
    nb_test_world_close(w);
}

static void a_route_that_does_not_stream_gets_bodies_whole(void **state) {
    nb_test_world *w = *state;
    w->route.stream_input = false;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_post(c, "/echo", 1000, true));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 1000));
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_INPUT));
    nb_test_world_close(w);
}

static void the_request_runs_as_soon_as_its_head_is_there(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 3\r\n")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_int_equal(0, nb_test_executor_input(w->executors[0]));
    for (unsigned i = 0; i < 3; i++) {
        char byte = nb_test_pattern(i);
        assert_true(nb_test_send(c, &byte, 1));
        nb_test_executor_await(w->executors[0], NB_TEST_INPUT, i + 1); /* each as it comes */
    }
    expect_count(w, c, 3);
    nb_test_world_close(w);
}

static void a_chunked_body_byte_by_byte_is_the_same_body(void **state) {
    nb_test_world *w = *state;
    char text[256];
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    int size = snprintf(
        text, sizeof text,
        HEAD("/count", "Transfer-Encoding: chunked\r\n") "1\r\n%c\r\n3;x=y\r\n%c%c%c\r\n0\r\nT: x\r\n\r\n",
        nb_test_pattern(0), nb_test_pattern(1), nb_test_pattern(2), nb_test_pattern(3));
    for (int i = 0; i < size; i++)
        assert_true(nb_test_send(c, text + i, 1));
    expect_count(w, c, 4);
    nb_test_world_close(w);
}

static void what_follows_a_body_is_the_next_request(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 2);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 20; i++) {
        assert_true(nb_test_send_text(
            c,
            HEAD("/count", "Content-Length: 1\r\n") "a" HEAD(
                "/count",
                "Transfer-Encoding: chunked\r\n") "1\r\na\r\n0\r\n\r\n" HEAD("/hello",
                                                                             "") "GET /hello HTTP/1.1\r\nHost: "
                                                                                 "test\r\nConnection: close\r\n\r\n"));
        expect_count(w, c, 1);
        expect_count(w, c, 1);
        nb_test_world_expect(w, c, 200, "hello");
        nb_test_world_expect(w, c, 200, "hello");
        expect_end(c, NB_TEST_END_FIN);
        c = nb_test_world_client(w);
    }
    nb_test_world_close(w);
}

/* --- the window --- */

typedef struct sender {
    nb_test_client *client;
    const char *path;
    size_t bytes;
    bool chunked, sent;
} sender;

static void *send_body(void *argument) {
    sender *s = argument;
    s->sent = nb_test_post(s->client, s->path, s->bytes, s->chunked);
    return NULL;
}

static void await_input(nb_test_executor *executor, uint64_t bytes) {
    while (nb_test_executor_input(executor) < bytes)
        nb_test_executor_await(executor, NB_TEST_INPUT, nb_test_executor_count(executor, NB_TEST_INPUT) + 1);
}

static void what_is_not_taken_holds_the_client_back(void **state) {
    nb_test_world *w = *state;
    for (int chunked = 0; chunked < 2; chunked++) {
        setup(state);
        open_streaming(w, 1);
        nb_test_client *c = nb_test_world_client(w);
        sender s = {c, "/slow", 30000000, chunked, false};
        pthread_t thread = nb_test_thread(send_body, &s);
        /* chunks' framing leaves the last bytes for later. */
        await_input(w->executors[0], NB_INPUT_WINDOW_BYTES - 64);
        for (int i = 0; i < 5; i++)
            nb_test_world_settle(w);
        assert_true(nb_test_executor_input(w->executors[0]) <= NB_INPUT_WINDOW_BYTES);
        nb_test_client *other = nb_test_world_client(w);
        nb_test_world_expect_hello(w, other);
        nb_test_executor_release(w->executors[0]);
        expect_count(w, c, s.bytes);
        nb_test_join(thread);
        assert_true(s.sent);
        nb_test_world_close(w);
    }
}

static void bodies_for_a_busy_executor_wait_and_lose_nothing(void **state) {
    nb_test_world *w = *state;
    enum { UPLOADS = 24 };
    pthread_t threads[UPLOADS];
    sender senders[UPLOADS];
    /* Most wait for an executor; most find its ring full. */
    for (uint32_t credit = 4; credit <= 64; credit *= 16) {
        setup(state);
        w->options.credit = credit;
        open_streaming(w, 1);
        nb_test_client *first = nb_test_world_client(w);
        nb_test_world_expect_hello(w, first); /* what it asked for is known */
        nb_test_executor_stall(w->executors[0], true);
        for (int i = 0; i < UPLOADS; i++) {
            senders[i] = (sender){nb_test_world_client(w), "/count", 200000, i % 2, false};
            threads[i] = nb_test_thread(send_body, &senders[i]);
        }
        /* Settle makes two itself. */
        for (unsigned own = 1; nb_test_world_counters(w).requests < UPLOADS + own; own += 2)
            nb_test_world_settle(w);
        nb_test_executor_stall(w->executors[0], false);
        for (int i = 0; i < UPLOADS; i++) {
            expect_count(w, senders[i].client, 200000);
            nb_test_join(threads[i]);
        }
        nb_test_world_close(w);
    }
}

/* --- Expect: 100-continue (RFC 9110 section 10.1.1) --- */

static void a_client_that_waits_is_told_to_go_on_when_the_application_reads(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/slow", "Content-Length: 3\r\nExpect: 100-continue\r\n")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_world_settle(w);
    assert_false(nb_test_readable(c, 0));
    nb_test_executor_release(w->executors[0]);
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    char body[] = {nb_test_pattern(0), nb_test_pattern(1), nb_test_pattern(2)};
    assert_true(nb_test_send(c, body, sizeof body));
    expect_count(w, c, 3);
    assert_int_equal(1, w->response.interim);
    nb_test_world_close(w);
}

static void it_is_not_told_when_the_answer_comes_without_reading_and_the_connection_ends(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/hello", "Content-Length: 3\r\nExpect: 100-continue\r\n")));
    nb_test_world_expect(w, c, 200, "hello");
    assert_int_equal(0, w->response.interim);
    assert_false(w->response.keep_alive);
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void one_that_does_not_wait_after_all_is_not_told(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 3\r\nExpect: 100-continue\r\n") "a"));
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 1);
    char rest[] = {nb_test_pattern(1), nb_test_pattern(2)};
    assert_true(nb_test_send(c, rest, sizeof rest));
    expect_count(w, c, 3);
    assert_int_equal(0, w->response.interim);
    nb_test_world_close(w);
}

static void one_that_waits_though_the_answer_has_begun_is_not_told_and_judged_when_the_application_reads(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/headfirst", "Content-Length: 1\r\nExpect: 100-continue\r\n")));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS)); /* the head tells it all */
    char byte = nb_test_pattern(0);
    assert_true(nb_test_send(c, &byte, 1));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 1));
    assert_int_equal(0, w->response.interim);
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);

    setup(state);
    w->config.body_timeout_ms = 60;
    open_streaming(w, 1);
    c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/headfirst", "Content-Length: 1\r\nExpect: 100-continue\r\n")));
    assert_false(nb_test_read(c, "POST", &w->response));
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(NB_GONE_TOO_SLOW, nb_test_executor_gone_reason(w->executors[0]));
    assert_int_equal(1, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

/* --- answers before the end of the body --- */

static void what_is_left_of_a_small_body_is_dropped_and_the_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int chunked = 0; chunked < 2; chunked++) {
        assert_true(nb_test_send_text(c, chunked ? HEAD("/hello", "Transfer-Encoding: chunked\r\n")
                                                 : HEAD("/hello", "Content-Length: 26\r\n")));
        nb_test_world_expect(w, c, 200, "hello");
        assert_true(w->response.keep_alive);
        assert_true(
            nb_test_send_text(c, chunked ? "15\r\nGET /bad HTTP/1.1\r\n\r\n\r\n0\r\n" : "GET /bad HTTP/1.1\r\nHost: "));
        nb_test_world_settle(w);
        assert_true(nb_test_send_text(c, chunked ? "\r\n" : "x"));
        assert_true(nb_test_get(c, "/big/5"));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 5));
    }
    assert_int_equal(4, nb_test_world_counters(w).requests - 2 * 2); /* and two of each settle */
    nb_test_world_close(w);
}

static void more_than_is_worth_reading_ends_the_connection_as_announced(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static char block[65536];
    assert_true(nb_test_send_text(c, HEAD("/hello", "Content-Length: 50000000\r\n")));
    /* No reset takes the answer away meanwhile. */
    assert_true(nb_test_send(c, block, sizeof block));
    nb_test_world_expect(w, c, 200, "hello");
    assert_false(w->response.keep_alive);
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void chunks_without_end_are_read_up_to_a_bound(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/hello", "Transfer-Encoding: chunked\r\n")));
    nb_test_world_expect(w, c, 200, "hello");
    assert_true(w->response.keep_alive);
    static char chunk[8 + 32768];
    memset(chunk, 'x', sizeof chunk);
    memcpy(chunk, "8000\r\n", 6);
    memcpy(chunk + 6 + 32768, "\r\n", 2);
    /* With its framing the last is past it. */
    for (unsigned i = 0; i < NB_INPUT_DROP_BYTES / 32768; i++)
        assert_true(nb_test_send(c, chunk, sizeof chunk));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS)); /* the end, though the body goes on */
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void an_answer_may_run_while_the_body_is_read(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int chunked = 0; chunked < 2; chunked++) {
        assert_true(nb_test_post(c, "/duplex", 400000, chunked));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 400000));
        assert_true(w->response.keep_alive);
    }
    nb_test_world_close(w);
}

/* --- bodies that cannot be had --- */

/* The application never answers by itself; what it says afterwards goes nowhere. */
static void expect_refused(nb_test_world *w, nb_test_client *c, int status, nb_gone_reason reason) {
    nb_test_world_expect(w, c, status, NULL);
    assert_false(w->response.keep_alive);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(reason, nb_test_executor_gone_reason(w->executors[0]));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void a_body_past_the_limit_is_413(void **state) {
    nb_test_world *w = *state;
    w->config.body_bytes_max = 1000;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_post(c, "/silent", 1000, true)); /* is not past it */
    nb_test_executor_await(w->executors[0], NB_TEST_WHOLE, 1);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "silent");
    nb_test_world_close(w);

    setup(state);
    w->config.body_bytes_max = 1000;
    open_streaming(w, 1);
    c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/silent", "Transfer-Encoding: chunked\r\n") "3e9\r\n"));
    expect_refused(w, c, 413, NB_GONE_TOO_LARGE);

    setup(state);
    w->config.body_bytes_max = 1000;
    open_streaming(w, 1);
    c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/silent", "Content-Length: 1001\r\n")));
    nb_test_world_expect(w, c, 413, NULL); /* before anything ran */
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void a_body_that_breaks_the_rules_is_400(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/silent", "Transfer-Encoding: chunked\r\n") "1\r\na\r\nHEAD "));
    expect_refused(w, c, 400, NB_GONE_INVALID);
}

static void a_body_that_stops_is_400_for_a_client_that_still_listens(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/silent", "Content-Length: 10\r\n") "abc"));
    nb_test_client_finish(c);
    expect_refused(w, c, 400, NB_GONE_SHORT);
}

static void a_body_that_stops_in_the_queue_reaches_nobody(void **state) {
    nb_test_world *w = *state;
    w->options.credit = 1;
    open_streaming(w, 1);
    nb_test_client *first = nb_test_world_client(w), *c = nb_test_world_client(w), *third = nb_test_world_client(w);
    assert_true(nb_test_get(first, "/block"));
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    assert_true(nb_test_send_text(third, HEAD("/count", "Content-Length: 1\r\n")));
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 10\r\n") "abc"));
    nb_test_world_settle(w);
    nb_test_client_reset(c);
    nb_test_world_settle(w);
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, first, 200, "blocked");
    assert_true(nb_test_send_text(third, "a"));
    expect_count(w, third, 1);
    nb_test_world_close(w);
}

static void a_body_that_comes_too_slowly_is_408_and_waiting_for_100_is_not_slow(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 60;
    open_streaming(w, 1);
    nb_test_client *waiting = nb_test_world_client(w); /* for 100 (Continue) */
    assert_true(nb_test_send_text(waiting, HEAD("/slow", "Content-Length: 1\r\nExpect: 100-continue\r\n")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    for (unsigned i = 1; i <= 3; i++) { /* each one's time begins after its would have */
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_send_text(c, HEAD("/silent", "Content-Length: 10\r\n") "abc"));
        nb_test_world_expect(w, c, 408, NULL);
        nb_test_executor_await(w->executors[0], NB_TEST_GONE, i);
        assert_int_equal(NB_GONE_TOO_SLOW, nb_test_executor_gone_reason(w->executors[0]));
    }
    assert_int_equal(3, nb_test_world_counters(w).timed_out);
    nb_test_executor_release(w->executors[0]);
    assert_true(nb_test_readable(waiting, NB_TEST_PATIENCE_MS)); /* 100, or 408 by now */
    nb_test_client_reset(waiting);
    nb_test_world_close(w);
}

static void an_answer_that_has_begun_is_cut_when_the_body_fails(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/duplex", "Transfer-Encoding: chunked\r\n") "1\r\na\r\n"));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS)); /* its head, at least */
    assert_true(nb_test_send_text(c, "x\r\n"));
    assert_false(nb_test_read(c, "POST", &w->response));
    assert_true(w->response.truncated);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(NB_GONE_INVALID, nb_test_executor_gone_reason(w->executors[0]));
    nb_test_world_close(w);
}

static void a_client_that_leaves_is_told_of(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 10\r\n") "a"));
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 1);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(NB_GONE_CLIENT, nb_test_executor_gone_reason(w->executors[0]));
    nb_test_world_close(w);
}

/* --- the server's end --- */

static void a_body_that_is_on_its_way_is_still_taken_while_the_server_drains(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    nb_test_client *c = nb_test_world_client(w), *early = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/count", "Content-Length: 2\r\n") "a"));
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 1);
    assert_true(nb_test_send_text(early, HEAD("/hello", "Content-Length: 2\r\n")));
    nb_test_world_expect(w, early, 200, "hello"); /* its rest is dropped */
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    char rest = nb_test_pattern(1);
    assert_true(nb_test_send(c, &rest, 1));
    nb_test_world_expect(w, c, 200, "2 good");
    assert_false(w->response.keep_alive);
    assert_true(nb_test_send_text(early, "ab"));
    expect_end(early, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void a_server_that_is_cut_leaves_nothing(void **state) {
    nb_test_world *w = *state;
    open_streaming(w, 1);
    for (int i = 0; i < 4; i++)
        assert_true(nb_test_send_text(nb_test_world_client(w), HEAD("/count", "Content-Length: 10\r\n") "a"));
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 4);
    nb_server_stop_now(w->server);
    nb_test_world_close(w);
}

/* --- memory --- */

static bool upload_once(nb_test_world *w, bool chunked) {
    nb_test_client c = nb_test_connect(w->port);
    bool good = nb_test_post(&c, "/count", 200000, chunked) && nb_test_read(&c, "POST", &w->response) &&
                w->response.status == 200 && nb_test_body_is(&w->response, "200000 good");
    nb_test_client_close(&c);
    return good;
}

static void the_server_goes_on_after_any_allocation_failed(void **state) {
    nb_test_world *w = *state;
    unsigned failed = 0;
    for (int guest = 0; guest < 2; guest++) {
        for (unsigned long n = 1; n <= 16; n++) {
            setup(state);
            w->options.guest = guest;
            open_streaming(w, 1);
            nb_alloc_fail_at(n);
            failed += !upload_once(w, n % 2);
            nb_alloc_fail_at(0);
            if (!upload_once(w, n % 2)) fail_msg("not served after allocation %lu failed", n);
            nb_test_world_close(w);
        }
    }
    assert_true(failed >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(bodies_of_every_sort_arrive_whole_and_the_connection_goes_on),
        CASE(a_request_without_a_body_is_none_that_streams),
        CASE(a_route_that_does_not_stream_gets_bodies_whole),
        CASE(the_request_runs_as_soon_as_its_head_is_there),
        CASE(a_chunked_body_byte_by_byte_is_the_same_body),
        CASE(what_follows_a_body_is_the_next_request),
        CASE(what_is_not_taken_holds_the_client_back),
        CASE(bodies_for_a_busy_executor_wait_and_lose_nothing),
        CASE(a_client_that_waits_is_told_to_go_on_when_the_application_reads),
        CASE(it_is_not_told_when_the_answer_comes_without_reading_and_the_connection_ends),
        CASE(one_that_does_not_wait_after_all_is_not_told),
        CASE(one_that_waits_though_the_answer_has_begun_is_not_told_and_judged_when_the_application_reads),
        CASE(what_is_left_of_a_small_body_is_dropped_and_the_connection_goes_on),
        CASE(more_than_is_worth_reading_ends_the_connection_as_announced),
        CASE(chunks_without_end_are_read_up_to_a_bound),
        CASE(an_answer_may_run_while_the_body_is_read),
        CASE(a_body_past_the_limit_is_413),
        CASE(a_body_that_breaks_the_rules_is_400),
        CASE(a_body_that_stops_is_400_for_a_client_that_still_listens),
        CASE(a_body_that_stops_in_the_queue_reaches_nobody),
        CASE(a_body_that_comes_too_slowly_is_408_and_waiting_for_100_is_not_slow),
        CASE(an_answer_that_has_begun_is_cut_when_the_body_fails),
        CASE(a_client_that_leaves_is_told_of),
        CASE(a_body_that_is_on_its_way_is_still_taken_while_the_server_drains),
        CASE(a_server_that_is_cut_leaves_nothing),
        CASE(the_server_goes_on_after_any_allocation_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
