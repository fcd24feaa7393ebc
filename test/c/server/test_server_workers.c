/*
 * test_server_workers.c - a front whose workers lie behind channels in shared memory: they come,
 * answer, are stuck and retire, and there may be none. A worker is a thread that attaches as a
 * process would, or the test plays it by hand. test_server_lost.c tests how workers are lost.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/hand.h"
#include "support/server_inside.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_front_setup)

/* --- coming --- */

static void what_waits_goes_to_the_first_worker_that_serves(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *get = nb_test_world_client(w), *post = nb_test_world_client(w);
    assert_true(nb_test_get(get, "/hello"));
    assert_true(nb_test_post(post, "/echo", 200000, true));
    nb_test_world_await_queue(w, 2);
    unsigned worker = nb_test_world_worker(w);
    nb_test_world_settle(w);
    /* It is there, and does not serve yet. */
    assert_int_equal(0, nb_test_world_counted(w, worker, NB_TEST_RECEIVED));
    nb_test_world_serve(w, worker);
    nb_test_world_expect(w, get, 200, "hello");
    nb_test_world_expect(w, post, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 200000));
    nb_test_world_expect_hello(w, post);
    nb_test_world_close(w);
}

static void workers_answer_everything_that_executors_of_one_process_do(void **state) {
    nb_test_world *w = *state;
    static const struct {
        const char *path;
        uint64_t bytes;
    } bodies[] = {{"/big/3000000", 3000000},
                  {"/chunked/700000", 700000},
                  {"/lump/400000", 400000},
                  {"/file/900000", 900000},
                  {"/file/3", 3},
                  {"/file/0", 0}};
    nb_test_world_open(w, 3);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_true(nb_test_get(c, bodies[i].path));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, bodies[i].bytes));
    }
    static const size_t sizes[] = {0, 1, 65536, 65537, 900000};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        assert_true(nb_test_post(c, "/echo", sizes[i / 2], i % 2));
        nb_test_world_expect(w, c, 200, NULL);
        assert_true(nb_test_is_pattern(&w->response, sizes[i / 2]));
    }
    assert_int_equal(1, nb_test_world_counters(w).accepted);
    nb_test_world_close(w);
}

static void a_worker_takes_a_connection_with_what_was_read_of_it(void **state) {
    nb_test_world *w = *state;
    char bytes[65536];
    size_t size;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(
        c, "GET /hijackhead HTTP/1.1\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nmore"));
    nb_test_executor_await(w->executors[0], NB_TEST_HIJACKED, 1);
    int fd = nb_test_executor_taken(w->executors[0], bytes, &size);
    assert_int_equal(4, size);
    assert_memory_equal("more", bytes, 4);
    nb_test_world_lose(w, 0); /* what a process took is its own */
    assert_int_equal(5, send(fd, "there", 5, MSG_NOSIGNAL));
    close(fd);
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* --- stuck --- */

static void what_a_stuck_worker_has_not_begun_with_is_run_by_one_that_is_free(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *begun = nb_test_world_client(w), *others[4];
    assert_true(nb_test_get(begun, "/begun"));
    nb_test_world_await_queue(w, 1);
    for (int i = 0; i < 4; i++) {
        others[i] = nb_test_world_client(w);
        assert_true(i % 2 ? nb_test_post(others[i], "/hello", 200000, true) : nb_test_get(others[i], "/hello"));
    }
    nb_test_world_await_queue(w, 5);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_exchange_id exchange = nb_test_hand_begin(&h);
    for (int i = 0; i < 4; i++)
        nb_test_hand_next(&h);
    nb_test_world_serve(w, nb_test_world_worker(w));
    for (int i = 0; i < 4; i++)
        nb_test_world_expect(w, others[i], 200, "hello");
    /* it goes on, and only what it ran has waited */
    nb_test_hand_head(&h, exchange, 0, NB_PART_LAST);
    nb_channel_ring_loop(h.channel);
    nb_test_world_expect(w, begun, 200, "");
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
    nb_test_world_close(w);
}

static void an_expired_request_in_a_stuck_worker_is_answered_503(void **state) {
    nb_test_world *w = *state;
    w->config.request_timeout_ms = 500;
    nb_test_world_open(w, 0);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_client *get = nb_test_world_client(w), *post = nb_test_world_client(w);
    assert_true(nb_test_get(get, "/hello"));
    assert_true(nb_test_post(post, "/hello", 200000, true));
    nb_test_world_expect(w, get, 503, NULL);
    nb_test_world_expect(w, post, 503, NULL);
    assert_true(w->response.keep_alive);
    assert_int_equal(2, nb_test_world_counters(w).overdue);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
    nb_test_world_close(w);
}

static void a_client_that_finished_sending_is_told_of_again_to_the_next_worker(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hello"));
    nb_test_hand_next(&h);
    nb_test_client_finish(c);
    assert_int_equal(NB_MESSAGE_LEFT, nb_test_hand_next(&h)->type);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 1);
    unsigned worker = nb_test_world_worker(w);
    nb_test_world_serve(w, worker);
    nb_test_executor_await(w->executors[worker], NB_TEST_LEFT, 1);
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_close(w);
}

/* --- retiring --- */

static void a_worker_that_retires_ends_what_it_runs_and_gets_nothing_more(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *held = nb_test_world_client(w), *next = nb_test_world_client(w);
    assert_true(nb_test_get(held, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_server_channel_retire(w->server, w->channels[0]);
    nb_test_executor_await(w->executors[0], NB_TEST_RETIRED, 1);
    assert_true(nb_test_get(next, "/hello"));
    nb_test_world_await_queue(w, 1);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect(w, next, 200, "hello");
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, held, 200, "held");
    nb_test_executor *retired = w->executors[0];
    w->executors[0] = NULL;
    nb_test_executor_join(retired); /* by itself */
    nb_test_expect_report(nb_test_world_lose(w, 0), 0, 0, 0);
    nb_test_world_expect_hello(w, held);
    nb_test_world_close(w);
}

/* --- none --- */

static void without_a_worker_requests_are_refused_for_a_while_when_it_is_said_so(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *waits = nb_test_world_client(w), *post = nb_test_world_client(w), *late = nb_test_world_client(w);
    assert_true(nb_test_get(waits, "/hello"));
    assert_true(nb_test_post(post, "/hello", 100000, false));
    nb_test_world_await_queue(w, 2);
    nb_server_unavailable(w->server, 7);
    nb_test_world_expect(w, waits, 503, NULL);
    assert_non_null(strstr(w->response.head, "Retry-After: 7\r\n"));
    nb_test_world_expect(w, post, 503, NULL);
    assert_true(w->response.keep_alive);
    assert_true(nb_test_get(late, "/hello"));
    nb_test_world_expect(w, late, 503, NULL);
    assert_non_null(strstr(w->response.head, "Retry-After: 7\r\n"));
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect_hello(w, waits);
    nb_test_world_expect_hello(w, post);
    nb_test_world_expect_hello(w, late);
    nb_server_unavailable(w->server, 3); /* it is not: nobody is told */
    nb_test_world_expect_hello(w, waits);
    nb_test_world_lose(w, 0);
    assert_true(nb_test_get(waits, "/hello"));
    nb_test_world_expect(w, waits, 503, NULL);
    nb_server_unavailable(w->server, 0);
    assert_true(nb_test_get(waits, "/hello"));
    nb_test_world_await_queue(w, 1);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect(w, waits, 200, "hello");
    nb_test_world_close(w);
}

/* --- the end --- */

/* After its loop has ended, or before it has begun, a channel may still end. */
static void channels_end_whether_the_loop_runs_or_not(void **state) {
    nb_test_world *w = *state;
    nb_channel *early;
    nb_channel_report report;
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    assert_status(NB_OK, nb_server_channel_create(w->server, 0, &early));
    assert_status(NB_OK, nb_server_channel_serve(w->server, early, 0, 0));
    nb_server_channel_end(w->server, early, &report);
    assert_status(NB_OK, nb_server_channel_create(w->server, 0, &early)); /* never served */
    nb_server_channel_end(w->server, early, &report);
    nb_server_destroy(w->server);
    nb_test_world_open(w, 1);
    nb_server_drain(w->server);
    nb_server_join(w->server);
    nb_test_world_lose(w, 0);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_waits_goes_to_the_first_worker_that_serves),
        CASE(workers_answer_everything_that_executors_of_one_process_do),
        CASE(a_worker_takes_a_connection_with_what_was_read_of_it),
        CASE(what_a_stuck_worker_has_not_begun_with_is_run_by_one_that_is_free),
        CASE(an_expired_request_in_a_stuck_worker_is_answered_503),
        CASE(a_client_that_finished_sending_is_told_of_again_to_the_next_worker),
        CASE(a_worker_that_retires_ends_what_it_runs_and_gets_nothing_more),
        CASE(without_a_worker_requests_are_refused_for_a_while_when_it_is_said_so),
        CASE(channels_end_whether_the_loop_runs_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
