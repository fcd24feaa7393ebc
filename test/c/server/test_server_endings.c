/*
 * test_server_endings.c - requests that are ended before they have ended themselves: by their
 * deadline in the queue, and by a client that leaves (cancel_on_disconnect).
 */
#include <string.h>

#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static unsigned counted(nb_test_world *w, nb_test_event event) {
    return nb_test_executor_count(w->executors[0], event);
}

static const char close_request[] = "GET /never HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

static void a_client_that_finished_sending_has_left_where_that_ends_its_request(void **state) {
    nb_test_world *w = *state;
    w->config.cancel_on_disconnect = 1;
    nb_test_world_open(w, 1);
    for (unsigned i = 0; i < 2; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(i == 0 ? nb_test_get(c, "/never") : nb_test_send_text(c, close_request));
        nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, i + 1);
        nb_test_client_finish(c);
        nb_test_executor_await(w->executors[0], NB_TEST_GONE, i + 1);
        assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    }
    nb_test_world_close(w);
}

static void where_it_does_not_its_answer_comes(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client_finish(c);
    nb_test_world_settle(w);
    assert_int_equal(0, counted(w, NB_TEST_GONE));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_close(w);
}

/* A client whose request keeps the only executor's thread: the next waits in the queue. On a
   machine that stands still its own deadline may pass there first. */
static nb_test_client *block(nb_test_world *w) {
    w->options.credit = 1;
    nb_test_world_open(w, 1);
    nb_test_client *first = nb_test_world_client(w);
    for (;;) {
        assert_true(nb_test_get(first, "/block"));
        while (counted(w, NB_TEST_BLOCKED) == 0 && !nb_test_readable(first, 1)) {
        }
        if (counted(w, NB_TEST_BLOCKED) > 0) return first;
        nb_test_world_expect(w, first, 503, NULL);
    }
}

static void a_request_whose_client_left_in_the_queue_is_dropped_with_its_body(void **state) {
    nb_test_world *w = *state;
    w->config.cancel_on_disconnect = 1;
    nb_test_client *first = block(w), *second = nb_test_world_client(w);
    assert_true(nb_test_post(second, "/hello", 200000, false));
    while (nb_test_world_counters(w).queue < 1)
        nb_test_world_settle(w);
    nb_test_client_finish(second);
    while (nb_test_world_counters(w).aborted < 1 || nb_test_world_counters(w).spool_bytes > 0)
        nb_test_world_settle(w);
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, first, 200, NULL);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(second, NULL));
    assert_int_equal(1, counted(w, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void a_request_whose_deadline_passes_in_the_queue_is_answered_503_and_the_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    w->config.request_timeout_ms = 20;
    nb_test_client *first = block(w), *second = nb_test_world_client(w);
    for (int i = 0; i < 2; i++) {
        assert_true(i == 0 ? nb_test_get(second, "/hello") : nb_test_post(second, "/hello", 200000, true));
        nb_test_world_expect(w, second, 503, NULL);
        assert_true(w->response.keep_alive);
        assert_non_null(strstr(w->response.head, "Retry-After: 1\r\n"));
    }
    while (nb_test_world_counters(w).spool_bytes > 0)
        nb_test_world_settle(w);
    assert_true(nb_test_world_counters(w).overdue >= 2);
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, first, 200, NULL);
    assert_int_equal(1, counted(w, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_client_that_finished_sending_has_left_where_that_ends_its_request),
        CASE(where_it_does_not_its_answer_comes),
        CASE(a_request_whose_client_left_in_the_queue_is_dropped_with_its_body),
        CASE(a_request_whose_deadline_passes_in_the_queue_is_answered_503_and_the_connection_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
