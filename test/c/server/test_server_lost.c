/*
 * test_server_lost.c - a front that loses a worker at every moment of a request: what the worker
 * had not begun with is run by another, and what it had begun with is answered 502 or cut. A worker
 * is a thread that attaches as a process would, or the test plays it by hand.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/file.h"
#include "support/hand.h"
#include "support/server_inside.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_front_setup)

static void expect_lost(nb_test_world *w, nb_test_client *c) {
    nb_test_world_expect(w, c, 502, NULL);
    assert_true(w->response.keep_alive);
}

/* --- lost before it began --- */

static void what_a_lost_worker_had_not_begun_with_is_run_by_another_in_order(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *get = nb_test_world_client(w), *spooled = nb_test_world_client(w), *small = nb_test_world_client(w);
    assert_true(nb_test_get(get, "/hello"));
    nb_test_world_await_queue(w, 1);
    assert_true(nb_test_post(spooled, "/echo", 300000, true));
    nb_test_world_await_queue(w, 2);
    assert_true(nb_test_post(small, "/echo", 3, false));
    nb_test_world_await_queue(w, 3);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    for (int i = 0; i < 3; i++)
        nb_test_hand_next(&h);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 3);
    nb_test_world_await_queue(w, 3);
    nb_test_hand next = nb_test_hand_serve(w, 3); /* for the order */
    uint32_t paths[3];
    for (int i = 0; i < 3; i++)
        paths[i] = ((nb_request_message *)(void *)nb_test_hand_next(&next))->path.size;
    assert_int_equal(6, paths[0]);
    assert_int_equal(5, paths[1]);
    nb_test_expect_report(nb_test_world_lose(w, next.worker), 0, 0, 3);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect(w, get, 200, "hello");
    nb_test_world_expect(w, spooled, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 300000));
    nb_test_world_expect(w, small, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3));
    assert_int_equal(0, nb_test_world_counters(w).lost);
    nb_test_world_close(w);
}

static void an_upload_that_a_lost_worker_had_not_begun_with_streams_to_another(void **state) {
    nb_test_world *w = *state;
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 0, (const char *const[]){"/*", NULL});
    nb_test_client *c = nb_test_world_client(w), *waits = nb_test_world_client(w);
    char bytes[30000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = nb_test_pattern(i);
    assert_true(nb_test_send_text(c, "POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 30000\r\n\r\n"));
    assert_true(nb_test_send(c, bytes, 20000));
    assert_true(nb_test_send_text(
        waits, "POST /count HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
    nb_test_world_await_queue(w, 2);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_hand_next(&h);
    nb_test_hand_next(&h);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 2);
    nb_test_world_serve(w, nb_test_world_worker(w));
    assert_true(nb_test_send(c, bytes + 20000, 10000));
    nb_test_world_expect(w, c, 200, "30000 good");
    /* It is told to go on only by one that reads. */
    assert_true(nb_test_readable(waits, NB_TEST_PATIENCE_MS));
    assert_true(nb_test_send(waits, bytes, 1));
    nb_test_world_expect(w, waits, 200, "1 good");
    assert_int_equal(1, w->response.interim);
    nb_test_world_close(w);
}

static void what_nobody_waits_for_any_more_is_not_run_again(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *c = nb_test_world_client(w), *stays = nb_test_world_client(w);
    assert_true(nb_test_post(c, "/echo", 300000, true));
    assert_true(nb_test_get(stays, "/hello"));
    nb_test_world_await_queue(w, 2);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_hand_next(&h);
    nb_test_hand_next(&h);
    nb_test_client_reset(c);
    while (nb_test_world_counters(w).aborted < 1)
        nb_test_world_settle(w);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 1);
    unsigned worker = nb_test_world_worker(w);
    nb_test_world_serve(w, worker);
    nb_test_world_expect(w, stays, 200, "hello");
    assert_int_equal(1, nb_test_world_counted(w, worker, NB_TEST_RECEIVED));
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_world_counters(w).spool_bytes);
    nb_test_world_close(w);
}

/* --- lost after it began --- */

static void what_it_had_begun_with_is_answered_502_and_its_connection_goes_on(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *get = nb_test_world_client(w), *post = nb_test_world_client(w), *head = nb_test_world_client(w);
    assert_true(nb_test_get(get, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_true(nb_test_post(post, "/hold", 200000, false));
    assert_true(nb_test_send_text(head, "HEAD /hold HTTP/1.1\r\nHost: test\r\n\r\n"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_channel_report report = nb_test_world_lose(w, 0);
    nb_test_expect_report(report, 3, 0, 0);
    assert_int_equal(3, report.line_count);
    assert_string_equal("GET /hold HTTP/1.1", report.lines[0]);
    expect_lost(w, get);
    expect_lost(w, post);
    assert_true(nb_test_read(head, "HEAD", &w->response));
    assert_int_equal(502, w->response.status);
    assert_int_equal(3, nb_test_world_counters(w).lost);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect_hello(w, get);
    nb_test_world_expect_hello(w, post);
    nb_test_world_expect_hello(w, head);
    nb_test_world_close(w);
}

/* Those behind it, which it had not begun with, are run by another, and answered in their order. */
static void pipelined_requests_are_lost_or_run_again_each_for_itself(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                                     "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"));
    nb_test_world_await_queue(w, 4);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_hand_begin(&h);
    nb_exchange_id answered = nb_test_hand_begin(&h);
    nb_test_hand_next(&h);
    nb_test_hand_next(&h);
    nb_test_hand_head(&h, answered, 0, NB_PART_LAST); /* whole, while the one before it is not */
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 1, 0, 2);
    nb_test_world_expect(w, c, 502, NULL);
    nb_test_world_expect(w, c, 200, "");
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_expect(w, c, 200, "a");
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

static void an_upload_it_was_reading_is_answered_502(void **state) {
    nb_test_world *w = *state;
    char bytes[5000];
    memset(bytes, 'a', sizeof bytes);
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 1, (const char *const[]){"/*", NULL});
    nb_test_client *c = nb_test_world_client(w), *large = nb_test_world_client(w), *asks = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: 5000\r\n\r\n12345"));
    assert_true(nb_test_send_text(large, "POST /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 90000000\r\n\r\n12345"));
    assert_true(nb_test_send_text(
        asks, "POST /slow HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 3);
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 2);
    nb_test_expect_report(nb_test_world_lose(w, 0), 3, 0, 0);
    expect_lost(w, c);
    /* What is left of it is more than is worth reading. */
    nb_test_world_expect(w, large, 502, NULL);
    assert_false(w->response.keep_alive);
    nb_test_world_expect(w, asks, 502, NULL); /* it does not know whether its body is wanted */
    assert_false(w->response.keep_alive);
    assert_int_equal(0, w->response.interim);
    nb_test_world_serve(w, nb_test_world_worker(w));
    assert_true(nb_test_send(c, bytes, sizeof bytes - 5));
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

static void a_response_that_had_begun_is_cut(void **state) {
    nb_test_world *w = *state;
    static const char *const paths[] = {"/big/60000000", "/chunked/60000000"};
    nb_test_world_open(w, 1);
    nb_test_client *clients[2];
    for (unsigned i = 0; i < 2; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], paths[i]));
        assert_true(nb_test_readable(clients[i], NB_TEST_PATIENCE_MS));
    }
    nb_channel_report report = nb_test_world_lose(w, 0);
    nb_test_expect_report(report, 0, 2, 0);
    assert_string_equal("GET /big/60000000 HTTP/1.1", report.lines[0]);
    for (unsigned i = 0; i < 2; i++) {
        assert_false(nb_test_read(clients[i], "GET", &w->response));
        assert_int_equal(200, w->response.status);
        assert_true(w->response.truncated);
    }
    nb_test_world_close(w);
}

static void a_response_that_was_published_whole_is_sent_whole(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *by_hand = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/file/30000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1);
    nb_test_expect_report(nb_test_world_lose(w, 0), 0, 0, 0);
    nb_test_hand h = nb_test_hand_serve(w, 1);
    assert_true(nb_test_get(by_hand, "/x"));
    nb_exchange_id exchange = nb_test_hand_begin(&h);
    int fd;
    assert_status(NB_OK, nb_file_temporary("/tmp", &fd));
    assert_status(NB_OK, nb_file_write_all(fd, "abc", 3));
    assert_status(NB_OK, nb_channel_send_fd(h.channel, fd));
    close(fd);
    nb_named_message part = {.response = {.message = {NB_MESSAGE_NAMED, NB_PART_LAST, sizeof part, exchange},
                                          .content_length = 3,
                                          .status = 200},
                             .fd = fd,
                             .size = 3,
                             .naming = NB_NAMED_OPEN};
    nb_test_hand_put(&h, &part, sizeof part); /* nobody was woken for either */
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
    nb_test_world_expect(w, by_hand, 200, "abc");
    nb_test_world_expect(w, c, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 30000000));
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect_hello(w, c);
    nb_test_world_expect_hello(w, by_hand);
    nb_test_world_close(w);
}

static void a_connection_it_had_asked_for_is_cut_and_one_it_was_given_is_its_own(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_hand h = nb_test_hand_serve(w, 8);
    nb_test_client *asked = nb_test_world_client(w), *given = nb_test_world_client(w);
    assert_true(nb_test_send_text(asked, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"));
    nb_test_hand_begin(&h);
    nb_exchange_id second = nb_test_hand_begin(&h);
    nb_message wants = {NB_MESSAGE_HIJACK, 0, sizeof wants, second};
    nb_test_hand_put(&h, &wants, sizeof wants); /* it waits for the answer before it */
    assert_true(nb_test_get(given, "/3"));
    wants.exchange = nb_test_hand_begin(&h);
    nb_test_hand_put(&h, &wants, sizeof wants);
    nb_channel_ring_loop(h.channel);
    /* Its descriptor lies in the pipe, never taken. */
    assert_int_equal(NB_MESSAGE_HIJACKED, nb_test_hand_next(&h)->type);
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 1, 1, 0);
    nb_test_world_expect(w, asked, 502, NULL);
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(asked, NULL));
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(given, NULL));
    assert_int_equal(1, nb_test_world_counters(w).hijacked);
    nb_test_world_close(w);
}

/* What was held back behind the lost ones is read and begun while the channel ends: it must not go
   there. */
static void what_comes_while_a_channel_ends_goes_elsewhere(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    nb_test_hand h = nb_test_hand_serve(w, 1000);
    nb_test_client *clients[10];
    for (int i = 0; i < 10; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_send_text(clients[i], "POST /lost HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
                                                  "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"));
        nb_test_hand_begin(&h);
    }
    nb_test_expect_report(nb_test_world_lose(w, h.worker), 10, 0, 0);
    nb_test_world_serve(w, nb_test_world_worker(w));
    for (int i = 0; i < 10; i++) {
        nb_test_world_expect(w, clients[i], 502, NULL);
        nb_test_world_expect(w, clients[i], 200, "a");
    }
    nb_test_world_close(w);
}

/* Its ring was full of notices when it was lost, and more came with its end. */
static void a_worker_is_lost_with_its_ring_full(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    enum { LARGE = 17, SMALL = 40 };
    nb_test_client *cut = nb_test_world_client(w), *clients[LARGE + SMALL];
    assert_true(nb_test_send_text(cut, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"));
    nb_test_world_await_queue(w, 2);
    for (int i = 0; i < LARGE + SMALL; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(i < LARGE ? nb_test_post(clients[i], "/hello", 61000, false) : nb_test_get(clients[i], "/hello"));
        nb_test_world_await_queue(w, 3 + (unsigned)i);
    }
    nb_test_hand h = nb_test_hand_serve(w, 1000);
    nb_exchange_id first = nb_test_hand_begin(&h);
    nb_test_hand_begin(&h);
    nb_test_world_settle(w);
    assert_true(nb_test_world_counters(w).queue > 0); /* for want of room */
    nb_test_hand_head(&h, first, 100, 0);
    nb_channel_ring_loop(h.channel);
    assert_true(nb_test_readable(cut, NB_TEST_PATIENCE_MS));
    nb_channel_report report = nb_test_world_lose(w, h.worker);
    assert_int_equal(1, report.cut);
    nb_test_world_await_queue(w, LARGE + SMALL);
    assert_false(nb_test_read(cut, "GET", &w->response));
    nb_test_world_serve(w, nb_test_world_worker(w));
    for (int i = 0; i < LARGE + SMALL; i++)
        nb_test_world_expect(w, clients[i], 200, "hello");
    nb_test_world_close(w);
}

/* --- lost while it retires, and while the server ends --- */

static void a_worker_may_be_lost_while_it_retires(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *clients[2];
    for (unsigned i = 0; i < 2; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_get(clients[i], "/hold"));
        while (nb_test_world_counted(w, 0, NB_TEST_RECEIVED) + nb_test_world_counted(w, 1, NB_TEST_RECEIVED) < i + 1)
            nb_test_world_settle(w);
    }
    for (unsigned i = 0; i < 2; i++) {
        nb_server_channel_retire(w->server, w->channels[i]);
        nb_test_executor_await(w->executors[i], NB_TEST_RETIRED, 1);
    }
    uint32_t failed = nb_test_world_lose(w, 0).failed;
    assert_int_equal(2, failed + nb_test_world_lose(w, 1).failed);
    expect_lost(w, clients[0]);
    expect_lost(w, clients[1]);
    nb_test_world_close(w);
}

static void a_drain_waits_until_a_dead_worker_is_told_of(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *queued = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_world_kill(w, 0);
    nb_server_drain(w->server);
    nb_test_expect_report(nb_test_world_end(w, 0), 1, 0, 0);
    nb_test_world_expect(w, c, 502, NULL);
    assert_false(w->response.keep_alive);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(queued, NULL));
    nb_test_world_close(w);
}

static void a_stop_does_not_wait_for_a_dead_worker_that_is_told_of(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/never"));
    while (nb_test_world_counted(w, 0, NB_TEST_RECEIVED) + nb_test_world_counted(w, 1, NB_TEST_RECEIVED) < 1)
        nb_test_world_settle(w);
    nb_test_world_kill(w, 0);
    nb_server_stop_now(w->server);
    nb_test_world_end(w, 0);
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(c, NULL));
    w->ended = true;
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_a_lost_worker_had_not_begun_with_is_run_by_another_in_order),
        CASE(an_upload_that_a_lost_worker_had_not_begun_with_streams_to_another),
        CASE(what_nobody_waits_for_any_more_is_not_run_again),
        CASE(what_it_had_begun_with_is_answered_502_and_its_connection_goes_on),
        CASE(pipelined_requests_are_lost_or_run_again_each_for_itself),
        CASE(an_upload_it_was_reading_is_answered_502),
        CASE(a_response_that_had_begun_is_cut),
        CASE(a_response_that_was_published_whole_is_sent_whole),
        CASE(a_connection_it_had_asked_for_is_cut_and_one_it_was_given_is_its_own),
        CASE(what_comes_while_a_channel_ends_goes_elsewhere),
        CASE(a_worker_is_lost_with_its_ring_full),
        CASE(a_worker_may_be_lost_while_it_retires),
        CASE(a_drain_waits_until_a_dead_worker_is_told_of),
        CASE(a_stop_does_not_wait_for_a_dead_worker_that_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
