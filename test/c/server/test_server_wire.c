/*
 * test_server_wire.c - a server in C over real sockets: requests, their order, bodies, refusals,
 * and how connections go on or end. Executors are those of support/c_executor.h. Time itself is
 * test_server_time.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/world.h"

#define REQUEST(line, fields) line " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static void expect_end(nb_test_client *client, nb_test_end end) {
    size_t dropped;
    assert_int_equal(end, nb_test_read_end(client, &dropped));
    assert_int_equal(0, dropped);
}

/* --- one request after another (RFC 9112 section 9.3) --- */

static void a_connection_serves_one_request_after_another(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 50; i++) {
        nb_test_world_expect_hello(w, c);
        assert_true(w->response.keep_alive);
    }
    assert_int_equal(1, nb_test_world_counters(w).accepted);
    assert_int_equal(50, nb_test_world_counters(w).responses);
    nb_test_world_close(w);
}

static void a_request_byte_by_byte_is_the_same_request(void **state) {
    nb_test_world *w = *state;
    static const char request[] = REQUEST("POST /echo", "Content-Length: 5\r\n") "abcde";
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof request - 1; i++)
        assert_true(nb_test_send(c, request + i, 1));
    nb_test_world_expect(w, c, 200, "abcde");
    nb_test_world_close(w);
}

static void close_is_announced_and_done_when_either_side_asks(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hello", "Connection: close\r\n")));
    nb_test_world_expect(w, c, 200, "hello");
    assert_false(w->response.keep_alive);
    expect_end(c, NB_TEST_END_FIN);
    c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/close"));
    nb_test_world_expect(w, c, 200, "hello");
    assert_false(w->response.keep_alive);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void http_1_0_ends_unless_it_asks_to_go_on(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    nb_test_world_expect(w, c, 200, "hello");
    assert_non_null(strstr(w->response.head, "Connection: keep-alive"));
    assert_true(nb_test_send_text(c, "GET /chunked/1000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    nb_test_world_expect(w, c, 200,
                         /* A body of unknown length ends with the connection (RFC 9112 section
                            6.3). */
                         NULL);
    assert_true(nb_test_is_pattern(&w->response, 1000));
    assert_false(w->response.chunked);
    nb_test_world_close(w);
}

/* --- pipelining (RFC 9112 section 9.3.2) --- */

static void answers_keep_the_order_of_requests_when_executors_do_not(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int round = 0; round < 20; round++) {
        assert_true(nb_test_send_text(c,
                                      REQUEST("GET /late", "") REQUEST("GET /late", "") REQUEST("GET /big/100000", "")
                                          REQUEST("GET /chunked/70000", "") REQUEST("GET /hello", "")));
        nb_test_world_expect(w, c, 200, "late");
        nb_test_world_expect(w, c, 200, "late");
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 100000));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 70000));
        nb_test_world_expect(w, c, 200, "hello");
    }
    nb_test_world_close(w);
}

static void the_servers_own_answers_keep_their_place(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("OPTIONS *", "")
                                         REQUEST("GET /hello", "") "BAD\r\n\r\n"));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_world_settle(w);
    assert_false(nb_test_readable(c, 0));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_expect(w, c, 200, "200 OK\n");
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_expect(w, c, 400, NULL);
    assert_false(w->response.keep_alive);
    nb_test_world_close(w);
}

static void an_unsafe_request_waits_for_the_ones_before_it_and_holds_those_behind(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("POST /hold", "") REQUEST("GET /hello", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_world_settle(w);
    assert_int_equal(1, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_world_settle(w);
    assert_int_equal(2, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_close(w);
}

static void no_more_than_the_pipelines_depth_is_with_executors(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (unsigned i = 0; i < NB_PIPELINE_MAX + 10; i++)
        assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, NB_PIPELINE_MAX);
    nb_test_world_settle(w);
    assert_int_equal(NB_PIPELINE_MAX, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_executor_release(w->executors[0]);
    for (unsigned i = 0; i < NB_PIPELINE_MAX; i++)
        nb_test_world_expect(w, c, 200, "held");
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, NB_PIPELINE_MAX + 10);
    nb_test_executor_release(w->executors[0]);
    for (unsigned i = 0; i < 10; i++)
        nb_test_world_expect(w, c, 200, "held");
    nb_test_world_close(w);
}

/* The stack of the loop's thread is 8 MB, under ASan frames are large: recursion for each request
   would end it. */
static void thousands_of_requests_the_server_answers_itself_cost_no_stack(void **state) {
    enum { REQUESTS = 12000 };
    static const char one[] = REQUEST("OPTIONS *", "");
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    char *all = malloc(REQUESTS * (sizeof one - 1) + 1);
    assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    for (size_t i = 0; i < REQUESTS; i++)
        memcpy(all + i * (sizeof one - 1), one, sizeof one - 1);
    unsigned answered = 0;
    for (size_t step = 0; step < 20; step++) {
        size_t bytes = REQUESTS / 20 * (sizeof one - 1);
        assert_true(nb_test_send(c, all + step * bytes, bytes));
        if (step == 0) {
            nb_test_executor_release(w->executors[0]);
            nb_test_world_expect(w, c, 200, "held");
        }
        for (; answered < (step + 1) * (REQUESTS / 20); answered++)
            nb_test_world_expect(w, c, 200, "200 OK\n");
    }
    free(all);
    nb_test_world_close(w);
}

/* --- half-closed clients, clients that go --- */

static void a_client_that_finished_sending_is_answered(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("GET /hello", "") "GET /unfin"));
    nb_test_client_finish(c);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_executor_await(w->executors[0], NB_TEST_LEFT, 1);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_expect(w, c, 200, "hello");
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void a_body_that_ends_early_is_refused(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("POST /echo", "Content-Length: 10\r\n") "abcde"));
    nb_test_client_finish(c);
    nb_test_world_expect(w, c, 400, NULL);
    expect_end(c, NB_TEST_END_FIN);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void a_connection_that_says_nothing_ends_without_an_answer(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET / HT"));
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void the_executor_is_told_when_its_client_is_gone(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /never", "") REQUEST("GET /never", "") REQUEST("GET /late", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 3);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 3);
    nb_test_world_settle(w);
    assert_int_equal(3, nb_test_world_counters(w).aborted);
    nb_test_world_close(w);
}

static void parts_for_a_client_that_is_gone_are_dropped_files_closed(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    static const char *const paths[] = {"/file/100000", "/big/200000", "/chunked/200000", "/hello", "/abort"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        nb_test_client *c = nb_test_world_client(w);
        nb_test_executor_stall(w->executors[0], true);
        assert_true(nb_test_get(c, paths[i]));
        nb_test_world_settle(w);
        nb_test_client_reset(c);
        nb_test_world_settle(w);
        nb_test_executor_stall(w->executors[0], false);
        nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, (unsigned)i + 1);
    }
    nb_test_world_settle(w);
    assert_int_equal(5, nb_test_world_counters(w).aborted);
    nb_test_world_close(w);
}

/* The client goes while the descriptor lies in the ring: the loop's thread is the one that is slow
   here. */
static void a_file_sent_to_a_client_that_goes_meanwhile_is_closed(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 50; i++) {
        nb_test_client c = nb_test_connect(w->port);
        assert_true(c.fd >= 0);
        assert_true(nb_test_get(&c, "/file/3000000"));
        nb_test_client_reset(&c);
    }
    nb_test_world_settle(w);
    nb_test_world_close(w);
}

/* --- bodies --- */

static void bodies_of_every_size_come_back(void **state) {
    static const size_t sizes[] = {0,     1,     4095,   4096,   4097,   16384,  65535,
                                   65536, 65537, 131071, 131072, 131073, 300000, 1500000};
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int chunked = 0; chunked < 2; chunked++) {
            assert_true(nb_test_post(c, "/echo", sizes[i], chunked));
            nb_test_world_expect(w, c, 200, NULL);
            if (!nb_test_is_pattern(&w->response, sizes[i])) fail_msg("%zu bytes, chunked %d", sizes[i], chunked);
        }
    }
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_world_counters(w).spool_bytes);
    nb_test_world_close(w);
}

static void bodies_are_followed_by_the_next_request_wherever_they_end(void **state) {
    static const size_t sizes[] = {1, 16000, 65535, 65536, 65537, 131072, 200000};
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int chunked = 0; chunked < 2; chunked++) {
            assert_true(nb_test_post(c, "/hello", sizes[i], chunked));
            assert_true(nb_test_send_text(c, REQUEST("GET /late", "") REQUEST("GET /hello", "")));
            nb_test_world_expect(w, c, 200, "hello");
            nb_test_world_expect(w, c, 200, "late");
            nb_test_world_expect(w, c, 200, "hello");
        }
    }
    nb_test_world_close(w);
}

static void a_body_over_the_limit_is_refused_before_or_while_it_comes(void **state) {
    nb_test_world *w = *state;
    w->config.body_bytes_max = 100000;
    nb_test_world_open(w, 1);
    for (int chunked = 0; chunked < 2; chunked++) {
        nb_test_client *c = nb_test_world_client(w);
        (void)nb_test_post(c, "/echo", 100001, chunked);
        nb_test_world_expect(w, c, 413, NULL);
        assert_false(w->response.keep_alive);
        c = nb_test_world_client(w);
        assert_true(nb_test_post(c, "/echo", 100000, chunked));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 100000));
    }
    assert_int_equal(2, nb_test_world_counters(w).requests_refused);
    nb_test_world_close(w);
}

static void the_spools_budget_is_shared_and_given_back(void **state) {
    nb_test_world *w = *state;
    w->config.spool_bytes_max = 300000;
    nb_test_world_open(w, 1);
    nb_test_client *first = nb_test_world_client(w), *second = nb_test_world_client(w),
                   *third = nb_test_world_client(w);
    nb_test_executor_stall(w->executors[0], true);
    assert_true(nb_test_post(first, "/echo", 200000, false));
    nb_test_world_settle(w);
    while (nb_test_world_counters(w).spool_bytes < 200000)
        nb_test_world_settle(w);
    (void)nb_test_post(second, "/echo", 200000, true);
    nb_test_world_expect(w, second, 503, NULL);
    assert_non_null(strstr(w->response.head, "Retry-After: 1"));
    assert_false(w->response.keep_alive);
    assert_int_equal(200000, nb_test_world_counters(w).spool_bytes);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_world_expect(w, first, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 200000));
    assert_true(nb_test_post(third, "/echo", 300000, false));
    nb_test_world_expect(w, third, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 300000));
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_world_counters(w).spool_bytes);
    nb_test_world_close(w);
}

static void a_spooled_body_whose_client_goes_gives_its_budget_back(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("POST /echo", "Content-Length: 1000000\r\n")));
    char *half = calloc(1, 500000);
    assert_true(nb_test_send(c, half, 500000));
    free(half);
    while (nb_test_world_counters(w).spool_bytes < 400000)
        nb_test_world_settle(w);
    nb_test_client_reset(c);
    while (nb_test_world_counters(w).spool_bytes > 0)
        nb_test_world_settle(w);
    /* and one that lies in the executor's ring, unread; one whose last bytes were still being
       written never came so far: */
    while (nb_test_executor_count(w->executors[0], NB_TEST_ANSWERED) == 0) {
        c = nb_test_world_client(w);
        nb_test_executor_stall(w->executors[0], true);
        assert_true(nb_test_post(c, "/echo", 200000, false));
        while (nb_test_world_counters(w).spool_bytes < 200000)
            nb_test_world_settle(w);
        nb_test_client_reset(c);
        nb_test_world_settle(w);
        nb_test_executor_stall(w->executors[0], false);
        while (nb_test_world_counters(w).spool_bytes > 0)
            nb_test_world_settle(w);
    }
    nb_test_world_close(w);
}

static void a_spool_that_cannot_be_written_is_503(void **state) {
    nb_test_world *w = *state;
    w->config.spool_directory = "/nonexistent/directory";
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    (void)nb_test_post(c, "/echo", 200000, false);
    nb_test_world_expect(w, c, 503, NULL);
    c = nb_test_world_client(w);
    assert_true(nb_test_post(c, "/echo", 65536, false));
    nb_test_world_expect(w, c, 200, NULL);
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_world_counters(w).spool_bytes);
    nb_test_world_close(w);
}

/* --- RFC 9110 section 10.1.1, 9.3.2, 9.3.7, 15.3.5, 15.4.5 --- */

static void a_client_that_waits_for_100_gets_it_once(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("POST /echo", "Content-Length: 5\r\nExpect: 100-continue\r\n")));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    assert_true(nb_test_send_text(c, "abcde"));
    nb_test_world_expect(w, c, 200, "abcde");
    assert_int_equal(1, w->response.interim);
    assert_true(nb_test_send_text(c, REQUEST("POST /echo", "Content-Length: 5\r\nExpect: 100-continue\r\n") "abcde"));
    nb_test_world_expect(w, c, 200, "abcde");
    assert_int_equal(0, w->response.interim);
    assert_true(nb_test_send_text(c, REQUEST("GET /hello", "Expect: 100-continue\r\n")));
    nb_test_world_expect(w, c, 200, "hello");
    assert_int_equal(0, w->response.interim);
    assert_true(nb_test_send_text(c, REQUEST("POST /echo", "Content-Length: 200000000\r\nExpect: 100-continue\r\n")));
    nb_test_world_expect(w, c, 413, NULL);
    assert_int_equal(0, w->response.interim);
    nb_test_world_close(w);
}

static void options_of_the_server_are_answered_without_the_application(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("OPTIONS *", "")));
    nb_test_world_expect(w, c, 200, "200 OK\n");
    assert_non_null(strstr(w->response.head, "Allow: GET"));
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* The target * with a body: the body is the request's, not the next one. */
static void options_of_the_server_with_a_body_do_not_take_it_for_a_request(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("OPTIONS *", "Content-Length: 5\r\n") "abcde" REQUEST("GET /hello", "")));
    nb_test_world_expect(w, c, 200, NULL);
    nb_test_world_expect(w, c, 200, "hello");
    /* The GET alone. */
    assert_int_equal(1, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void responses_without_a_body_have_none(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const char *const paths[] = {"/hello",       "/big/700000",   "/chunked/200000",
                                        "/file/100000", "/fileshort/10", "/short"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char request[256];
        snprintf(request, sizeof request, REQUEST("HEAD %s", ""), paths[i]);
        assert_true(nb_test_send_text(c, request));
        if (!nb_test_read(c, "HEAD", &w->response)) fail_msg("HEAD %s", paths[i]);
        assert_int_equal(200, w->response.status);
    }
    assert_true(nb_test_get(c, "/status/204"));
    nb_test_world_expect(w, c, 204, "");
    assert_null(strstr(w->response.head, "Content-Length"));
    assert_true(nb_test_get(c, "/status/304"));
    nb_test_world_expect(w, c, 304, "");
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

/* --- responses --- */

static void large_responses_come_whole_in_every_shape(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const size_t sizes[] = {0, 1, 16384, 65536, 65537, 524288, 1048576, 5000001};
    static const char *const shapes[] = {"/big/%zu", "/chunked/%zu", "/lump/%zu", "/file/%zu"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            char path[64];
            snprintf(path, sizeof path, shapes[s], sizes[i]); /* NOLINT: shapes are literals */
            assert_true(nb_test_get(c, path));
            nb_test_world_expect(w, c, 200, NULL);
            if (!nb_test_is_pattern(&w->response, sizes[i]))
                fail_msg("%s: %zu bytes came", path, w->response.body_bytes);
        }
    }
    nb_test_world_close(w);
}

static void a_head_of_many_kilobytes_goes_out(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const unsigned sizes[] = {3000, 3700, 3800, 3900, 4096, 8000, 16384};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char path[64];
        snprintf(path, sizeof path, "/fields/%u", sizes[i]);
        assert_true(nb_test_get(c, path));
        nb_test_world_expect(w, c, 200, "hello");
    }
    nb_test_world_close(w);
}

static void a_response_that_cannot_be_finished_is_cut_never_ended_cleanly(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    static const char *const paths[] = {"/abort", "/abortchunked", "/aborthead", "/short", "/fileshort/1000"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_get(c, paths[i]));
        (void)nb_test_get(c, "/hello"); /* the connection may be cut by now */
        if (nb_test_read(c, "GET", &w->response)) fail_msg("%s ended cleanly", paths[i]);
        assert_true(w->response.truncated || w->response.status == 0);
    }
    nb_test_client *c = nb_test_world_client(
        w); /* HTTP/1.0: only a reset tells that a body of unknown length is not whole */
    assert_true(nb_test_send_text(c, "GET /abortchunked HTTP/1.0\r\n\r\n"));
    assert_false(nb_test_read(c, "GET", &w->response));
    assert_int_equal(NB_TEST_END_RESET, w->response.end);
    nb_test_world_close(w);
}

static void a_body_longer_than_announced_is_cut_to_its_announcement(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/long"));
    nb_test_world_expect(w, c, 200, "12345");
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

static void a_writer_parks_until_a_slow_reader_has_read(void **state) {
    nb_test_world *w = *state;
    w->config.response_backlog_bytes = 262144;
    nb_test_world_open(w, 1);
    static const char *const paths[] = {"/big/20000000", "/chunked/20000000"};
    for (unsigned i = 0; i < 2; i++) {
        nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 131072));
        unsigned parked = nb_test_executor_count(w->executors[0], NB_TEST_PARKED);
        assert_true(nb_test_get(c, paths[i]));
        nb_test_executor_await(w->executors[0], NB_TEST_PARKED, parked + 1);
        nb_test_world_settle(w);
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 20000000));
    }
    nb_test_executor *e = w->executors[0]; /* each park was answered by one DRAINED */
    assert_int_equal(nb_test_executor_count(e, NB_TEST_PARKED), nb_test_executor_count(e, NB_TEST_DRAINED));
    nb_test_world_close(w);
}

static void a_parked_writer_behind_another_response_goes_on_in_its_turn(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("GET /big/3000000", "")
                                         REQUEST("GET /chunked/3000000", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_PARKED, 2);
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_DRAINED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3000000));
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3000000));
    nb_test_world_close(w);
}

static void a_parked_writer_whose_client_goes_is_told(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, "/big/100000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_PARKED, 1);
    nb_test_client_reset(c);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_world_close(w);
}

/* --- ends --- */

/* RFC 9112 section 9.6: a reset because of unread bytes would take the answer from the client. */
static void a_refused_client_that_goes_on_sending_still_reads_its_answer(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    char *bytes = malloc(3000000);
    memset(bytes, 'x', 3000000);
    assert_true(nb_test_send_text(c, "BAD REQUEST\r\n\r\n"));
    assert_true(nb_test_send(c, bytes, 3000000));
    nb_test_world_expect(w, c, 400, NULL);
    nb_test_client_finish(c);
    expect_end(c, NB_TEST_END_FIN);
    free(bytes);
    nb_test_world_close(w);
}

static void a_refusal_of_head_has_no_body(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "\r\nHEAD / HTTP/1.1\r\n\r\n"));
    assert_true(nb_test_read(c, "HEAD", &w->response));
    assert_int_equal(400, w->response.status);
    expect_end(c, NB_TEST_END_FIN);
    nb_test_world_close(w);
}

static void heads_at_and_over_the_limit(void **state) {
    nb_test_world *w = *state;
    w->config.header_bytes_max = 20000;
    nb_test_world_open(w, 1);
    for (size_t extra = 0; extra < 2; extra++) {
        nb_test_client *c = nb_test_world_client(w);
        char request[20100];
        size_t size = (size_t)sprintf(request, "GET /hello HTTP/1.1\r\nHost: test\r\n");
        while (size < 19000 + extra * 2000) {
            size += (size_t)sprintf(request + size, "X: ");
            for (int i = 0; i < 900 && size < sizeof request - 10; i++)
                request[size++] = 'x';
            size += (size_t)sprintf(request + size, "\r\n");
            if (size > sizeof request - 1000) break;
        }
        while (extra && size < 20050)
            request[size++] = 'y';
        if (!extra) size += (size_t)sprintf(request + size, "\r\n");
        assert_true(nb_test_send(c, request, size));
        nb_test_world_expect(w, c, extra ? 431 : 200, NULL);
    }
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_connection_serves_one_request_after_another),
        CASE(a_request_byte_by_byte_is_the_same_request),
        CASE(close_is_announced_and_done_when_either_side_asks),
        CASE(http_1_0_ends_unless_it_asks_to_go_on),
        CASE(answers_keep_the_order_of_requests_when_executors_do_not),
        CASE(the_servers_own_answers_keep_their_place),
        CASE(an_unsafe_request_waits_for_the_ones_before_it_and_holds_those_behind),
        CASE(no_more_than_the_pipelines_depth_is_with_executors),
        CASE(thousands_of_requests_the_server_answers_itself_cost_no_stack),
        CASE(a_client_that_finished_sending_is_answered),
        CASE(a_body_that_ends_early_is_refused),
        CASE(a_connection_that_says_nothing_ends_without_an_answer),
        CASE(the_executor_is_told_when_its_client_is_gone),
        CASE(parts_for_a_client_that_is_gone_are_dropped_files_closed),
        CASE(a_file_sent_to_a_client_that_goes_meanwhile_is_closed),
        CASE(bodies_of_every_size_come_back),
        CASE(bodies_are_followed_by_the_next_request_wherever_they_end),
        CASE(a_body_over_the_limit_is_refused_before_or_while_it_comes),
        CASE(the_spools_budget_is_shared_and_given_back),
        CASE(a_spooled_body_whose_client_goes_gives_its_budget_back),
        CASE(a_spool_that_cannot_be_written_is_503),
        CASE(a_client_that_waits_for_100_gets_it_once),
        CASE(options_of_the_server_are_answered_without_the_application),
        CASE(options_of_the_server_with_a_body_do_not_take_it_for_a_request),
        CASE(responses_without_a_body_have_none),
        CASE(large_responses_come_whole_in_every_shape),
        CASE(a_head_of_many_kilobytes_goes_out),
        CASE(a_response_that_cannot_be_finished_is_cut_never_ended_cleanly),
        CASE(a_body_longer_than_announced_is_cut_to_its_announcement),
        CASE(a_writer_parks_until_a_slow_reader_has_read),
        CASE(a_parked_writer_behind_another_response_goes_on_in_its_turn),
        CASE(a_parked_writer_whose_client_goes_is_told),
        CASE(a_refused_client_that_goes_on_sending_still_reads_its_answer),
        CASE(a_refusal_of_head_has_no_body),
        CASE(heads_at_and_over_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
