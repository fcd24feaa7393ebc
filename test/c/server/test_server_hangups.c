/*
 * test_server_hangups.c - clients of a UNIX socket that close: the poller reports the close at
 * once, before what they have sent was read. Whole requests run to their end all the same.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/http2_client.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

/* It fits into the buffer of a socket, and not into one read. */
#define LARGE 150000
#define MANY 10

static char path[64];

static unsigned counted(nb_test_world *w, nb_test_event event) {
    return nb_test_executor_count(w->executors[0], event);
}

/* One executor; TCP beside the UNIX socket. pattern: of a route whose bodies are streamed; NULL:
 * none. */
static void open_world(nb_test_world *w, const char *pattern) {
    const nb_route streams = {.stream_input = true};
    uint16_t number;
    snprintf(path, sizeof path, "/tmp/neverblock-test-%d", (int)getpid());
    (void)unlink(path); /* of a test that has failed */
    nb_test_alarm(40);
    assert_status(NB_OK, nb_server_create(&w->config, &w->server));
    if (pattern)
        assert_status(NB_OK, nb_server_route_add(w->server, nb_slice_of(pattern, strlen(pattern)), streams, &number));
    assert_status(NB_OK, nb_server_listen_tcp(w->server, "127.0.0.1", 0, 128, &w->port));
    assert_status(NB_OK, nb_server_listen_unix(w->server, path, 0, 128));
    assert_status(NB_OK, nb_server_channel_add(w->server, &w->channels[0]));
    assert_status(NB_OK, nb_server_start(w->server));
    w->options.credit = 1;
    w->executors[0] = nb_test_executor_start(w->server, w->channels[0], &w->options);
    w->executor_count = 1;
}

static nb_test_client *local_client(nb_test_world *w) {
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_unix(path));
    assert_true(client->fd >= 0);
    return client;
}

/* A client whose request keeps the only executor's thread. */
static nb_test_client *block(nb_test_world *w) {
    nb_test_client *first = nb_test_world_client(w);
    assert_true(nb_test_get(first, "/block"));
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    return first;
}

static void unblock(nb_test_world *w, nb_test_client *first) {
    nb_test_executor_unblock(w->executors[0]);
    nb_test_world_expect(w, first, 200, NULL);
}

/* Nobody but those that settle is connected. */
static void await_no_connection(nb_test_world *w) {
    while (nb_test_world_counters(w).connections > 0)
        usleep(1000);
}

static void whole_requests_in_the_queue_run(void **state) {
    nb_test_world *w = *state;
    open_world(w, NULL);
    nb_test_client *first = block(w);
    for (unsigned i = 0; i < MANY; i++) {
        nb_test_client *client = local_client(w);
        assert_true(nb_test_post(client, "/echo", i % 2 ? LARGE : 3, false));
        nb_test_client_close(client);
    }
    nb_test_world_await_queue(w, MANY);
    nb_test_world_settle(w); /* the last one has hung up, too */
    unblock(w, first);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1 + MANY);
    nb_test_client_close(first);
    /* an answer of several parts may count as aborted: its client has left */
    await_no_connection(w);
    nb_test_world_close(w);
}

static void so_do_those_that_are_pipelined_behind_one_that_runs(void **state) {
    nb_test_world *w = *state;
    open_world(w, NULL);
    nb_test_client *client = local_client(w);
    assert_true(nb_test_get(client, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_true(nb_test_post(client, "/echo", 3000, i % 2));
    nb_test_client_close(client);
    nb_test_world_settle(w);
    nb_test_executor_release(w->executors[0]);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 1 + MANY);
    await_no_connection(w);
    nb_test_world_close(w);
}

static void a_streamed_body_reaches_its_end(void **state) {
    nb_test_world *w = *state;
    open_world(w, "/slow");
    nb_test_client *client = local_client(w);
    assert_true(nb_test_post(client, "/slow", LARGE, true));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client_close(client);
    nb_test_world_settle(w);
    nb_test_executor_release(w->executors[0]);
    nb_test_executor_await(w->executors[0], NB_TEST_WHOLE, 1);
    await_no_connection(w);
    assert_int_equal(LARGE, nb_test_executor_input(w->executors[0]));
    nb_test_world_close(w);
}

static int64_t processor_ms(void) {
    struct rusage usage;
    assert_int_equal(0, getrusage(RUSAGE_SELF, &usage));
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static void the_loop_sleeps_while_one_runs_and_its_answer_is_dropped(void **state) {
    nb_test_world *w = *state;
    open_world(w, NULL);
    nb_test_client *client = local_client(w);
    assert_true(nb_test_get(client, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    assert_true(nb_test_post(client, "/echo", 3, false));
    nb_test_client_close(client);
    nb_test_world_settle(w);
    uint64_t turns = nb_test_world_counters(w).turns;
    int64_t spent_ms = processor_ms();
    usleep(300000);
    assert_in_range(nb_test_world_counters(w).turns - turns, 0, 100);
    assert_in_range(processor_ms() - spent_ms, 0, 150);
    assert_int_equal(0, counted(w, NB_TEST_GONE));
    nb_test_executor_release(w->executors[0]);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 2);
    await_no_connection(w);
    nb_test_world_close(w);
}

static void a_response_that_has_begun_ends(void **state) {
    static const char *const paths[] = {"/big/50000000", "/chunked/50000000", "/file/50000000"};
    nb_test_world *w = *state;
    open_world(w, NULL);
    for (unsigned i = 0; i < 3; i++) {
        nb_test_client *client = local_client(w);
        assert_true(nb_test_get(client, paths[i]));
        assert_true(nb_test_readable(client, NB_TEST_PATIENCE_MS));
        nb_test_client_close(client);
        await_no_connection(w);
    }
    nb_test_world_close(w);
}

static void those_that_end_with_their_client_end(void **state) {
    nb_test_world *w = *state;
    w->config.cancel_on_disconnect = 1;
    open_world(w, NULL);
    nb_test_client *client = local_client(w);
    assert_true(nb_test_get(client, "/never"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    /* It is read only when the first has ended. */
    assert_true(nb_test_post(client, "/never", 3, false));
    nb_test_client_close(client);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    await_no_connection(w);
    nb_test_client *first = block(w);
    for (unsigned i = 0; i < MANY; i++) {
        client = local_client(w);
        assert_true(nb_test_post(client, "/echo", i % 2 ? LARGE : 3, false));
        nb_test_client_close(client);
    }
    /* A body that a thread writes is freed when that is done. */
    nb_server_counters left;
    do {
        usleep(1000);
        left = nb_test_world_counters(w);
    } while (left.connections > 1 || left.queue > 0 || left.spool_bytes > 0);
    unblock(w, first);
    nb_test_world_close(w);
}

static void what_is_not_whole_is_dropped(void **state) {
    static const char *const texts[] = {"", "GET / HT", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
                                        "GET / HTTP/9.9\r\n\r\n"};
    nb_test_world *w = *state;
    open_world(w, NULL);
    for (unsigned i = 0; i < 4 * MANY; i++) {
        nb_test_client *client = local_client(w);
        assert_true(nb_test_send_text(client, texts[i % 4]));
        nb_test_client_close(client);
    }
    await_no_connection(w);
    assert_int_equal(0, counted(w, NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

static void a_half_close_is_answered(void **state) {
    nb_test_world *w = *state;
    open_world(w, NULL);
    nb_test_client *client = local_client(w);
    assert_true(nb_test_get(client, "/hold"));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client_finish(client);
    nb_test_world_settle(w);
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, client, 200, "held");
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(client, NULL));
    nb_test_world_close(w);
}

#ifdef NB_HAVE_HTTP2

static nb_test_h2 h2;

/* The client has read all, else the close would be a reset. */
static void streams_that_are_whole_run(void **state) {
    nb_test_world *w = *state;
    open_world(w, NULL);
    nb_test_client *first = block(w), *client = local_client(w);
    nb_test_h2_begin(&h2, client, true);
    for (unsigned i = 0; i < MANY; i++)
        (void)nb_test_h2_get(&h2, i % 2 ? "/hello" : "/big/300000");
    nb_test_h2_ping(&h2);
    nb_test_world_await_queue(w, MANY);
    nb_test_h2_end(&h2);
    nb_test_client_close(client);
    nb_test_world_settle(w);
    unblock(w, first);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1 + MANY);
    nb_test_client_close(first);
    await_no_connection(w);
    nb_test_world_close(w);
}

static void streams_that_end_with_their_client_end(void **state) {
    nb_test_world *w = *state;
    w->config.cancel_on_disconnect = 1;
    open_world(w, NULL);
    nb_test_client *client = local_client(w);
    nb_test_h2_begin(&h2, client, true);
    (void)nb_test_h2_get(&h2, "/never");
    nb_test_h2_ping(&h2);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_h2_end(&h2);
    nb_test_client_close(client);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    await_no_connection(w);
    nb_test_world_close(w);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(whole_requests_in_the_queue_run), CASE(so_do_those_that_are_pipelined_behind_one_that_runs),
        CASE(a_streamed_body_reaches_its_end), CASE(the_loop_sleeps_while_one_runs_and_its_answer_is_dropped),
        CASE(a_response_that_has_begun_ends),  CASE(those_that_end_with_their_client_end),
        CASE(what_is_not_whole_is_dropped),    CASE(a_half_close_is_answered),
#ifdef NB_HAVE_HTTP2
        CASE(streams_that_are_whole_run),      CASE(streams_that_end_with_their_client_end),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
