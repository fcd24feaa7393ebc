/*
 * test_server_workers.c - a front whose workers lie behind channels in shared memory: they come,
 * retire and are lost at every moment of a request, and what becomes of their requests. A worker
 * is a thread that attaches as a process would. Or the test plays it by hand, so that it is lost
 * at one exact moment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "http1/head_writer.h"
#include "os/file.h"
#include "support/server_inside.h"
#include "support/world.h"

static int setup(void **state) {
    static nb_test_world world;
    nb_test_world_init(&world);
    world.config.front = 1;
    world.inspect = nb_test_nothing_is_left;
    *state = &world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

/* --- a worker played by hand --- */

typedef struct hand {
    nb_test_world *world;
    unsigned worker;
    nb_channel *channel;
    nb_ring_consumer requests;
    nb_ring_producer responses;
} hand;

/* It has asked for this many requests and is served, so it gets those that wait at once. (It may
   get none of later ones while it has some that it has not begun with.) */
static hand hand_serve(nb_test_world *w, unsigned wanted) {
    hand h = {.world = w, .worker = nb_test_world_mute(w)};
    h.channel = w->far[h.worker];
    nb_ring_consumer_attach(&h.requests, nb_channel_requests(h.channel));
    nb_ring_producer_attach(&h.responses, nb_channel_responses(h.channel));
    atomic_store(&h.channel->board->asked, wanted);
    nb_test_world_serve(w, h.worker);
    return h;
}

/* The next message, which stays in the ring. */
static nb_message *hand_next(hand *h) {
    size_t bytes;
    const nb_message *message;
    while (!(message = nb_ring_peek(&h->requests, &bytes)))
        nb_test_world_settle(h->world);
    nb_ring_advance(&h->requests);
    atomic_fetch_add(&h->channel->board->pulse.turns, 1);
    return (nb_message *)(uintptr_t)message;
}

/* The next, which is a request, is begun with. */
static nb_exchange_id hand_begin(hand *h) {
    nb_message *message = hand_next(h);
    assert_int_equal(NB_MESSAGE_REQUEST, message->type);
    assert_true(nb_request_claim((nb_request_message *)(void *)message, NB_CLAIM_TAKEN));
    nb_request_begin((nb_request_message *)(void *)message);
    atomic_fetch_add(&h->channel->board->pulse.turns, 1);
    return message->exchange;
}

/* Published, and nobody is woken. */
static void hand_put(hand *h, const void *part, size_t bytes) {
    void *place = nb_ring_reserve(&h->responses, bytes);
    assert_non_null(place);
    memcpy(place, part, bytes);
    nb_ring_commit(&h->responses, bytes);
    nb_ring_publish(&h->responses);
}

static void hand_head(hand *h, nb_exchange_id exchange, uint64_t length, uint16_t flags) {
    nb_response_message part = {
        .message = {NB_MESSAGE_RESPONSE, (uint16_t)(flags | NB_RESPONSE_HAS_LENGTH), sizeof part, exchange},
        .content_length = length,
        .status = 200};
    hand_put(h, &part, sizeof part);
}

static void expect_report(nb_channel_report report, uint32_t failed, uint32_t cut, uint32_t again) {
    if (report.failed == failed && report.cut == cut && report.again == again) return;
    fail_msg("expected %u failed, %u cut, %u again: got %u, %u, %u", failed, cut, again, report.failed, report.cut,
             report.again);
}

static void expect_lost(nb_test_world *w, nb_test_client *c) {
    nb_test_world_expect(w, c, 502, NULL);
    assert_true(w->response.keep_alive);
}

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
    assert_int_equal(1, nb_test_world_stats(w).accepted);
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
    hand h = hand_serve(w, 8);
    for (int i = 0; i < 3; i++)
        hand_next(&h);
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 3);
    nb_test_world_await_queue(w, 3);
    hand next = hand_serve(w, 3); /* for the order */
    uint32_t paths[3];
    for (int i = 0; i < 3; i++)
        paths[i] = ((nb_request_message *)(void *)hand_next(&next))->path.size;
    assert_int_equal(6, paths[0]);
    assert_int_equal(5, paths[1]);
    expect_report(nb_test_world_lose(w, next.worker), 0, 0, 3);
    nb_test_world_serve(w, nb_test_world_worker(w));
    nb_test_world_expect(w, get, 200, "hello");
    nb_test_world_expect(w, spooled, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 300000));
    nb_test_world_expect(w, small, 200, NULL);
    assert_true(nb_test_is_pattern(&w->response, 3));
    assert_int_equal(0, nb_test_world_stats(w).lost);
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
    hand h = hand_serve(w, 8);
    hand_next(&h);
    hand_next(&h);
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 2);
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
    hand h = hand_serve(w, 8);
    hand_next(&h);
    hand_next(&h);
    nb_test_client_reset(c);
    while (nb_test_world_stats(w).aborted < 1)
        nb_test_world_settle(w);
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 1);
    unsigned worker = nb_test_world_worker(w);
    nb_test_world_serve(w, worker);
    nb_test_world_expect(w, stays, 200, "hello");
    assert_int_equal(1, nb_test_world_counted(w, worker, NB_TEST_RECEIVED));
    nb_test_world_settle(w);
    assert_int_equal(0, nb_test_world_stats(w).spool_bytes);
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
    expect_report(report, 3, 0, 0);
    assert_int_equal(3, report.line_count);
    assert_string_equal("GET /hold HTTP/1.1", report.lines[0]);
    expect_lost(w, get);
    expect_lost(w, post);
    assert_true(nb_test_read(head, "HEAD", &w->response));
    assert_int_equal(502, w->response.status);
    assert_int_equal(3, nb_test_world_stats(w).lost);
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
    hand h = hand_serve(w, 8);
    hand_begin(&h);
    nb_exchange_id answered = hand_begin(&h);
    hand_next(&h);
    hand_next(&h);
    hand_head(&h, answered, 0, NB_PART_LAST); /* whole, while the one before it is not */
    expect_report(nb_test_world_lose(w, h.worker), 1, 0, 2);
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
    expect_report(nb_test_world_lose(w, 0), 3, 0, 0);
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
    expect_report(report, 0, 2, 0);
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
    expect_report(nb_test_world_lose(w, 0), 0, 0, 0);
    hand h = hand_serve(w, 1);
    assert_true(nb_test_get(by_hand, "/x"));
    nb_exchange_id exchange = hand_begin(&h);
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
    hand_put(&h, &part, sizeof part); /* nobody was woken for either */
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
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
    hand h = hand_serve(w, 8);
    nb_test_client *asked = nb_test_world_client(w), *given = nb_test_world_client(w);
    assert_true(nb_test_send_text(asked, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"));
    hand_begin(&h);
    nb_exchange_id second = hand_begin(&h);
    nb_message wants = {NB_MESSAGE_HIJACK, 0, sizeof wants, second};
    hand_put(&h, &wants, sizeof wants); /* it waits for the answer before it */
    assert_true(nb_test_get(given, "/3"));
    wants.exchange = hand_begin(&h);
    hand_put(&h, &wants, sizeof wants);
    nb_channel_ring_loop(h.channel);
    /* Its descriptor lies in the pipe, never taken. */
    assert_int_equal(NB_MESSAGE_HIJACKED, hand_next(&h)->type);
    expect_report(nb_test_world_lose(w, h.worker), 1, 1, 0);
    nb_test_world_expect(w, asked, 502, NULL);
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(asked, NULL));
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(given, NULL));
    assert_int_equal(1, nb_test_world_stats(w).hijacked);
    nb_test_world_close(w);
}

/* What was held back behind the lost ones is read and begun while the channel ends: it must not go
   there. */
static void what_comes_while_a_channel_ends_goes_elsewhere(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 1000);
    nb_test_client *clients[10];
    for (int i = 0; i < 10; i++) {
        clients[i] = nb_test_world_client(w);
        assert_true(nb_test_send_text(clients[i], "POST /lost HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
                                                  "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na"));
        hand_begin(&h);
    }
    expect_report(nb_test_world_lose(w, h.worker), 10, 0, 0);
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
    hand h = hand_serve(w, 1000);
    nb_exchange_id first = hand_begin(&h);
    hand_begin(&h);
    nb_test_world_settle(w);
    assert_true(nb_test_world_stats(w).queue > 0); /* for want of room */
    hand_head(&h, first, 100, 0);
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
    hand h = hand_serve(w, 8);
    nb_exchange_id exchange = hand_begin(&h);
    for (int i = 0; i < 4; i++)
        hand_next(&h);
    nb_test_world_serve(w, nb_test_world_worker(w));
    for (int i = 0; i < 4; i++)
        nb_test_world_expect(w, others[i], 200, "hello");
    hand_head(&h, exchange, 0, NB_PART_LAST); /* it goes on, and only what it ran has waited */
    nb_channel_ring_loop(h.channel);
    nb_test_world_expect(w, begun, 200, "");
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
    nb_test_world_close(w);
}

static void an_expired_request_in_a_stuck_worker_is_answered_503(void **state) {
    nb_test_world *w = *state;
    w->config.request_timeout_ms = 500;
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 8);
    nb_test_client *get = nb_test_world_client(w), *post = nb_test_world_client(w);
    assert_true(nb_test_get(get, "/hello"));
    assert_true(nb_test_post(post, "/hello", 200000, true));
    nb_test_world_expect(w, get, 503, NULL);
    nb_test_world_expect(w, post, 503, NULL);
    assert_true(w->response.keep_alive);
    assert_int_equal(2, nb_test_world_stats(w).overdue);
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 0);
    nb_test_world_close(w);
}

static void a_client_that_finished_sending_is_told_of_again_to_the_next_worker(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 0);
    hand h = hand_serve(w, 8);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hello"));
    hand_next(&h);
    nb_test_client_finish(c);
    assert_int_equal(NB_MESSAGE_LEFT, hand_next(&h)->type);
    expect_report(nb_test_world_lose(w, h.worker), 0, 0, 1);
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
    expect_report(nb_test_world_lose(w, 0), 0, 0, 0);
    nb_test_world_expect_hello(w, held);
    nb_test_world_close(w);
}

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

static void a_drain_waits_until_a_dead_worker_is_told_of(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w), *queued = nb_test_world_client(w);
    assert_true(nb_test_get(c, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_world_kill(w, 0);
    nb_server_drain(w->server);
    expect_report(nb_test_world_end(w, 0), 1, 0, 0);
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
        CASE(what_a_stuck_worker_has_not_begun_with_is_run_by_one_that_is_free),
        CASE(an_expired_request_in_a_stuck_worker_is_answered_503),
        CASE(a_client_that_finished_sending_is_told_of_again_to_the_next_worker),
        CASE(a_worker_that_retires_ends_what_it_runs_and_gets_nothing_more),
        CASE(a_worker_may_be_lost_while_it_retires),
        CASE(without_a_worker_requests_are_refused_for_a_while_when_it_is_said_so),
        CASE(a_drain_waits_until_a_dead_worker_is_told_of),
        CASE(a_stop_does_not_wait_for_a_dead_worker_that_is_told_of),
        CASE(channels_end_whether_the_loop_runs_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
