/*
 * test_server_interim.c - what comes before a response, and what the loop leaves to the
 * application: 103 (RFC 8297), OPTIONS *, requests that ask for another protocol.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "support/world.h"

#define REQUEST(line, fields) line " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"
#define HINTS "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Hint: 1\r\n\r\n"

/* The executor in another process, behind a front. */
static int setup_front(void **state) {
    (void)nb_test_world_setup(state);
    ((nb_test_world *)*state)->config.front = 1;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)
#define FRONT_CASE(name) \
    { #name " (front)", name, setup_front, NULL, NULL }

static void expect_bytes(nb_test_client *c, const char *text) {
    char got[1024];
    size_t size = 0, wanted = strlen(text);
    assert_true(wanted <= sizeof got);
    while (size < wanted && nb_test_readable(c, NB_TEST_PATIENCE_MS)) {
        ssize_t more = recv(c->fd, got + size, wanted - size, 0);
        if (more <= 0) break;
        size += (size_t)more;
    }
    assert_int_equal(wanted, size);
    assert_memory_equal(text, got, size);
}

static void hints_leave_while_the_application_works(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hints"));
    expect_bytes(c, HINTS HINTS);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_ANSWERED));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    assert_int_equal(0, w->response.interim);
    nb_test_world_close(w);
}

/* RFC 9112 section 9.3.2: responses come in the order of the requests, and an interim one is its
   request's. */
static void hints_of_a_pipelined_request_wait_for_the_answers_before_it(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("GET /hold", "") REQUEST("GET /hints/1", "") REQUEST("GET /hello", "")));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 2);
    nb_test_world_settle(w);
    assert_false(nb_test_readable(c, 0));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    assert_int_equal(0, w->response.interim);
    nb_test_world_expect(w, c, 200, "hinted");
    assert_int_equal(1, w->response.interim);
    nb_test_world_expect(w, c, 200, "hello");
    assert_int_equal(0, w->response.interim);
    nb_test_world_close(w);
}

static void hints_behind_the_head_are_no_part_of_the_body(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (int i = 0; i < 2; i++) {
        assert_true(nb_test_get(c, "/hintslate"));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, 300000));
    }
    nb_test_world_close(w);
}

/* RFC 9110 section 15.2: none to an HTTP/1.0 client. */
static void a_client_of_http_1_0_gets_none(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET /hints/3 HTTP/1.0\r\nHost: test\r\n\r\n"));
    nb_test_world_expect(w, c, 200, "hinted");
    assert_int_equal(0, w->response.interim);
    nb_test_world_close(w);
}

/* They wait behind an answer that nobody reads: only so many of them are kept. */
static void hints_do_not_pile_up(void **state) {
    enum { MANY = 2000 };
    nb_test_world *w = *state;
    w->config.response_backlog_bytes = 65536;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    char request[256];
    snprintf(request, sizeof request, REQUEST("GET /hold", "") REQUEST("GET /hints/%d", ""), MANY);
    assert_true(nb_test_send_text(c, request));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_world_settle(w);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_expect(w, c, 200, "hinted");
    assert_in_range(w->response.interim, 1, MANY / 2);
    nb_test_world_close(w);
}

static void a_client_that_leaves_behind_its_hints_is_no_harm(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (unsigned i = 1; i <= 20; i++) {
        nb_test_client c = nb_test_connect(w->port);
        assert_true(nb_test_get(&c, "/hints/50"));
        expect_bytes(&c, HINTS);
        nb_test_client_reset(&c);
        nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, i);
    }
    nb_test_client *other = nb_test_world_client(w);
    nb_test_world_expect_hello(w, other);
    nb_test_world_close(w);
}

static void options_of_the_server_are_the_applications_where_there_is_one(void **state) {
    nb_test_world *w = *state;
    w->config.answer_asterisk = 0;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, REQUEST("OPTIONS *", "") REQUEST("OPTIONS *", "Content-Length: 5\r\n") "abcde"));
    nb_test_world_expect(w, c, 200, "");
    nb_test_world_expect(w, c, 200, "abcde");
    assert_int_equal(2, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* RFC 9110 section 7.8: Upgrade counts where Connection names it, and not from HTTP/1.0. */
static void a_request_that_asks_for_another_protocol_is_told_as_one(void **state) {
    static const struct {
        const char *bytes;
        unsigned asks;
    } requests[] = {
        {REQUEST("GET /hello", "Connection: upgrade\r\nUpgrade: any\r\n"), 1},
        {REQUEST("GET /hello", "Connection: keep-alive, Upgrade\r\nUpgrade: a, b\r\n"), 1},
        {REQUEST("GET /hello", "Upgrade: any\r\n"), 0},
        {REQUEST("GET /hello", "Connection: upgrade\r\n"), 0},
        {"GET /hello HTTP/1.0\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: any\r\n\r\n", 0},
    };
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    unsigned asked = 0;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_send_text(c, requests[i].bytes));
        nb_test_world_expect(w, c, 200, "hello");
        asked += requests[i].asks;
        assert_int_equal(asked, nb_test_executor_count(w->executors[0], NB_TEST_UPGRADES));
    }
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(hints_leave_while_the_application_works),
        FRONT_CASE(hints_leave_while_the_application_works),
        CASE(hints_of_a_pipelined_request_wait_for_the_answers_before_it),
        FRONT_CASE(hints_of_a_pipelined_request_wait_for_the_answers_before_it),
        CASE(hints_behind_the_head_are_no_part_of_the_body),
        FRONT_CASE(hints_behind_the_head_are_no_part_of_the_body),
        CASE(a_client_of_http_1_0_gets_none),
        CASE(hints_do_not_pile_up),
        FRONT_CASE(hints_do_not_pile_up),
        CASE(a_client_that_leaves_behind_its_hints_is_no_harm),
        CASE(options_of_the_server_are_the_applications_where_there_is_one),
        FRONT_CASE(options_of_the_server_are_the_applications_where_there_is_one),
        CASE(a_request_that_asks_for_another_protocol_is_told_as_one),
        FRONT_CASE(a_request_that_asks_for_another_protocol_is_told_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
