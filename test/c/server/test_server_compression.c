/*
 * test_server_compression.c - compressed responses of a whole server: on the loop and by threads,
 * in any order, broken off, and with clients, workers and memory that go away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/http2_client.h"
#include "support/world.h"

#ifdef NB_HAVE_ZLIB
#include <zlib.h>

#define CASE(name) cmocka_unit_test_setup(name, setup)

#define HEAD(path, fields) "GET " path " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"
#define GZIP "Accept-Encoding: gzip\r\n"

static int setup(void **state) {
    (void)nb_test_world_setup(state);
    ((nb_test_world *)*state)->config.compress = 1;
    return 0;
}

/* --- clients --- */

static bool ask(nb_test_client *client, const char *path, const char *fields) {
    char head[256];
    snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, fields);
    return nb_test_send_text(client, head);
}

/* What the bytes are the beginning of; *whole: the stream has ended. The caller frees it. */
static char *gunzip(const char *bytes, size_t size, size_t *decoded, bool *whole) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};
    size_t capacity = 65536;
    char *out = malloc(capacity);
    int result = inflateInit2(&stream, 15 + 16);
    *decoded = 0;
    while (result == Z_OK) {
        if (*decoded == capacity) out = realloc(out, capacity *= 2);
        stream.next_out = (Bytef *)out + *decoded;
        stream.avail_out = (uInt)(capacity - *decoded);
        result = inflate(&stream, Z_SYNC_FLUSH);
        *decoded = capacity - stream.avail_out;
        if (stream.avail_in == 0 && stream.avail_out > 0) break;
    }
    *whole = result == Z_STREAM_END;
    inflateEnd(&stream);
    return out;
}

static bool is_pattern(const char *bytes, size_t size, uint64_t wanted, bool ends) {
    size_t decoded;
    bool whole;
    char *out = gunzip(bytes, size, &decoded, &whole);
    bool good = whole == ends && decoded == wanted && nb_test_pattern_equal(out, 0, decoded);
    free(out);
    return good;
}

static void expect_pattern(nb_test_world *w, nb_test_client *client, uint64_t size) {
    nb_test_world_expect(w, client, 200, NULL);
    assert_non_null(strstr(w->response.head, "Content-Encoding: gzip\r\n"));
    assert_non_null(strstr(w->response.head, "ETag: W/\"c\"\r\n"));
    assert_true(is_pattern(w->response.body, w->response.body_bytes, size, true));
}

/* --- bodies --- */

static const uint64_t sizes[] = {1024, 8192, 8193, 60000, 200000, 3000000};
static const char *const kinds[] = {"big", "chunked", "lump"};

static void bodies_of_any_size(nb_test_world *w) {
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (size_t kind = 0; kind < 3; kind++) {
            char path[64];
            snprintf(path, sizeof path, "/%s/%llu", kinds[kind], (unsigned long long)sizes[i]);
            assert_true(ask(c, path, GZIP));
            expect_pattern(w, c, sizes[i]);
        }
    }
    nb_test_world_expect_hello(w, c);
    nb_test_world_close(w);
}

static void on_the_loops_thread_and_others(void **state) { bodies_of_any_size(*state); }

static void on_a_guests_thread(void **state) {
    ((nb_test_world *)*state)->options.guest = true;
    bodies_of_any_size(*state);
}

/* The loop's turns run on a thread with a lock that others want. */
static void by_threads_alone(void **state) {
    nb_test_world *w = *state;
    w->options.guest = w->options.locked = true;
    bodies_of_any_size(w);
}

static void of_another_process(void **state) {
    ((nb_test_world *)*state)->config.front = 1;
    bodies_of_any_size(*state);
}

static void at_every_level(void **state) {
    for (unsigned level = 1; level <= 9; level += 4) {
        nb_test_world *w = *state;
        nb_test_world_init(w);
        w->config.compress = 1;
        w->config.compress_level = level;
        nb_test_world_open(w, 1);
        nb_test_client *c = nb_test_world_client(w);
        assert_true(ask(c, "/chunked/300000", GZIP));
        expect_pattern(w, c, 300000);
        nb_test_world_close(w);
    }
}

static void small_ones_are_sent_as_they_are(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const char *const paths[] = {"/big/1023", "/chunked/1023", "/chunked/0", "/big/0"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(ask(c, paths[i], GZIP));
        nb_test_world_expect(w, c, 200, NULL);
        assert_null(strstr(w->response.head, "Content-Encoding"));
        assert_true(nb_test_is_pattern(&w->response, w->response.body_bytes));
    }
    nb_test_world_close(w);
}

static void pipelined_they_come_in_order(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("/big/3000000", GZIP) HEAD("/hello", "") HEAD("/chunked/2000", GZIP)
                                         HEAD("/lump/500000", GZIP) HEAD("/hello", GZIP)));
    expect_pattern(w, c, 3000000);
    nb_test_world_expect(w, c, 200, "hello");
    expect_pattern(w, c, 2000);
    expect_pattern(w, c, 500000);
    nb_test_world_expect(w, c, 200, "hello");
    nb_test_world_close(w);
}

static void many_clients_share_the_time_of_a_turn(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[24];
    nb_test_world_open(w, 1);
    for (int i = 0; i < 24; i++)
        clients[i] = nb_test_world_client(w);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 24; i++)
            assert_true(ask(clients[i], i % 2 ? "/big/30000" : "/chunked/150000", GZIP));
        for (int i = 0; i < 24; i++)
            expect_pattern(w, clients[i], i % 2 ? 30000 : 150000);
    }
    nb_test_world_close(w);
}

static void several_loops(void **state) {
    nb_test_world *w = *state;
    w->config.io_threads = 3;
    nb_test_client *clients[9];
    nb_test_world_open(w, 2);
    for (int i = 0; i < 9; i++)
        clients[i] = nb_test_world_client(w);
    for (int i = 0; i < 9; i++)
        assert_true(ask(clients[i], "/big/1000000", GZIP));
    for (int i = 0; i < 9; i++)
        expect_pattern(w, clients[i], 1000000);
    nb_test_world_close(w);
}

/* --- ends --- */

static void a_body_that_breaks_off_has_no_valid_end(void **state) {
    nb_test_world *w = *state;
    w->config.compress_bytes_min = 0;
    nb_test_world_open(w, 1);
    static const char *const paths[] = {"/abort", "/abortchunked", "/short"};
    static const uint64_t sent[] = {10, 10, 5};
    for (int i = 0; i < 3; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(ask(c, paths[i], GZIP));
        assert_false(nb_test_read(c, "GET", &w->response));
        assert_int_equal(200, w->response.status);
        assert_true(w->response.truncated);
        size_t decoded;
        bool whole;
        free(gunzip(w->response.body, w->response.body_bytes, &decoded, &whole));
        assert_int_equal(sent[i], decoded);
        assert_false(whole);
    }
    nb_test_client *c = nb_test_world_client(w);
    assert_true(ask(c, "/long", GZIP));
    nb_test_world_expect(w, c, 200, NULL);
    size_t decoded;
    bool whole;
    char *out = gunzip(w->response.body, w->response.body_bytes, &decoded, &whole);
    assert_true(whole);
    assert_int_equal(5, decoded);
    assert_memory_equal("12345", out, 5);
    free(out);
    nb_test_world_close(w);
}

static void clients_that_leave_in_the_middle(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 40; i++) {
        nb_test_client c = nb_test_connect(w->port);
        assert_true(ask(&c, i % 2 ? "/chunked/5000000" : "/big/90000", GZIP));
        if (i % 4 < 2) assert_true(nb_test_readable(&c, NB_TEST_PATIENCE_MS));
        nb_test_client_reset(&c);
    }
    nb_test_client *c = nb_test_world_client(w);
    assert_true(ask(c, "/big/100000", GZIP));
    expect_pattern(w, c, 100000);
    nb_test_world_close(w);
}

static void a_server_that_stops_in_the_middle(void **state) {
    for (int i = 0; i < 10; i++) {
        nb_test_world *w = *state;
        nb_test_world_init(w);
        w->config.compress = 1;
        nb_test_world_open(w, 1);
        for (int k = 0; k < 8; k++) {
            nb_test_client *c = nb_test_world_client(w);
            assert_true(ask(c, "/big/50000000", GZIP));
            if (k < i) assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
        }
        nb_server_stop_now(w->server);
        w->ended = true;
        nb_test_world_close(w);
    }
}

static void a_worker_that_is_lost_in_the_middle(void **state) {
    nb_test_world *w = *state;
    w->config.front = 1;
    nb_test_world_open(w, 0);
    unsigned worker = nb_test_world_worker(w);
    nb_test_world_serve(w, worker);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(ask(c, "/chunked/500000000", GZIP));
    assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    nb_test_expect_report(nb_test_world_lose(w, worker), 0, 1, 0);
    assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* A client that reads nothing keeps its writer waiting, and no memory grows. */
static void a_client_that_reads_nothing(void **state) {
    nb_test_world *w = *state;
    w->config.response_backlog_bytes = 65536;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 2048));
    assert_true(ask(c, "/chunked/40000000", GZIP));
    nb_test_executor_await(w->executors[0], NB_TEST_PARKED, 3);
    assert_true(nb_test_world_counters(w).response_bytes < 8000000);
    expect_pattern(w, c, 40000000);
    nb_test_world_close(w);
}

/* --- validators --- */

static void a_weak_tag_of_ours_is_answered_304(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    static const char *const paths[] = {"/big/3000000", "/chunked/5000", "/lump/200000"};
    for (int i = 0; i < 3; i++) {
        assert_true(ask(c, paths[i], GZIP "If-None-Match: \"b\", W/\"c\"\r\n"));
        nb_test_world_expect(w, c, 304, "");
        assert_non_null(strstr(w->response.head, "ETag: W/\"c\"\r\n"));
        assert_non_null(strstr(w->response.head, "Vary: Accept-Encoding\r\n"));
        assert_null(strstr(w->response.head, "Content-Type"));
    }
    assert_true(ask(c, "/big/5000", GZIP "If-None-Match: \"b\", W/\"d\"\r\n"));
    expect_pattern(w, c, 5000);
    nb_test_world_close(w);
}

/* What was noted of the request is given back with a connection that an application takes. */
static void a_hijacked_request(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(ask(c, "/hijack", GZIP "If-None-Match: W/\"c\"\r\n"));
    nb_test_executor_await(w->executors[0], NB_TEST_HIJACKED, 1);
    char bytes[64];
    size_t size;
    close(nb_test_executor_taken(w->executors[0], bytes, &size));
    nb_test_world_close(w);
}

/* --- HTTP/2 --- */

#ifdef NB_HAVE_HTTP2

static void streams_of_http_2(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    static nb_test_h2 h2;
    static const char *const fields[] = {"accept-encoding", "gzip", NULL};
    static const char *const known[] = {"accept-encoding", "gzip", "if-none-match", "W/\"c\"", NULL};
    nb_test_h2_begin(&h2, nb_test_world_client(w), false);
    int32_t ids[18];
    for (int i = 0; i < 18; i++) {
        char path[64];
        snprintf(path, sizeof path, "/%s/%llu", kinds[i % 3], (unsigned long long)sizes[i / 3]);
        ids[i] = nb_test_h2_request(&h2, "GET", path, fields);
    }
    for (int i = 0; i < 18; i++) {
        const nb_test_h2_answer *answer = nb_test_h2_await(&h2, ids[i]);
        assert_true(answer->ended && answer->status == 200);
        assert_non_null(strstr(answer->fields, "content-encoding: gzip\n"));
        assert_true(is_pattern(answer->body, answer->bytes, sizes[i / 3], true));
    }
    /* Large ones, which the application goes on writing. */
    int32_t id = nb_test_h2_request(&h2, "GET", "/chunked/9000000", known);
    const nb_test_h2_answer *answer = nb_test_h2_await(&h2, id);
    assert_true(answer->ended && answer->status == 304 && answer->bytes == 0);
    nb_test_executor_await(w->executors[0], NB_TEST_ANSWERED, 19);
    id = nb_test_h2_request(&h2, "GET", "/abortchunked", fields);
    assert_true(nb_test_h2_await(&h2, id)->reset);
    id = nb_test_h2_request(&h2, "GET", "/big/80000000", fields);
    nb_test_h2_send(&h2);
    nb_test_h2_reset(&h2, id);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    nb_test_h2_end(&h2);
    nb_test_world_close(w);
}

#endif

/* --- memory --- */

static bool use_once(nb_test_world *w, const char *path, uint64_t size) {
    nb_test_response response = {0};
    nb_test_client client = nb_test_connect(w->port);
    bool good = ask(&client, path, GZIP "If-None-Match: W/\"x\"\r\n") && nb_test_read(&client, "GET", &response) &&
                response.status == 200 && is_pattern(response.body, response.body_bytes, size, true);
    nb_test_client_close(&client);
    free(response.body);
    return good;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    static const char *const paths[] = {"/big/5000", "/big/300000", "/chunked/300000"};
    static const uint64_t bytes[] = {5000, 300000, 300000};
    for (int kind = 0; kind < 3; kind++) {
        unsigned failed = 0;
        for (unsigned long n = 1; n <= 45; n++) {
            static nb_test_world w;
            nb_test_world_init(&w);
            w.config.compress = 1;
            nb_test_world_open(&w, 1);
            nb_alloc_fail_at(n);
            failed += !use_once(&w, paths[kind], bytes[kind]);
            nb_alloc_fail_at(0);
            if (!use_once(&w, paths[kind], bytes[kind]))
                fail_msg("%s: not served after allocation %lu", paths[kind], n);
            nb_test_world_close(&w);
        }
        if (failed < 8) fail_msg("%s: only %u allocations failed anything", paths[kind], failed);
    }
}

/* Where compressed responses hold too much already, further ones are sent as they are. */
static void memory_is_bounded(void **state) {
    nb_test_world *w = *state;
    w->config.response_bytes_max = 1048576;
    w->config.response_backlog_bytes = 65536;
    nb_test_world_open(w, 1);
    unsigned plain = 0;
    for (int i = 0; i < 12; i++) {
        nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 2048));
        assert_true(ask(c, "/chunked/60000000", GZIP));
        assert_true(nb_test_readable(c, NB_TEST_PATIENCE_MS));
    }
    for (int i = 0; i < 12; i++) {
        char head[400];
        ssize_t size = recv(w->clients[i].fd, head, sizeof head - 1, 0);
        assert_true(size > 0);
        head[size] = '\0';
        plain += strstr(head, "Content-Encoding: gzip") == NULL;
        assert_non_null(strstr(head, "Vary: Accept-Encoding"));
    }
    assert_in_range(plain, 1, 11);
    for (int i = 0; i < 12; i++)
        nb_test_client_reset(&w->clients[i]);
    nb_test_world_close(w);
}

int main(void) {
    nb_test_alarm(600);
    const struct CMUnitTest tests[] = {
        CASE(on_the_loops_thread_and_others),
        CASE(on_a_guests_thread),
        CASE(by_threads_alone),
        CASE(of_another_process),
        CASE(at_every_level),
        CASE(small_ones_are_sent_as_they_are),
        CASE(pipelined_they_come_in_order),
        CASE(many_clients_share_the_time_of_a_turn),
        CASE(several_loops),
        CASE(a_body_that_breaks_off_has_no_valid_end),
        CASE(clients_that_leave_in_the_middle),
        CASE(a_server_that_stops_in_the_middle),
        CASE(a_worker_that_is_lost_in_the_middle),
        CASE(a_client_that_reads_nothing),
        CASE(a_weak_tag_of_ours_is_answered_304),
        CASE(a_hijacked_request),
#ifdef NB_HAVE_HTTP2
        CASE(streams_of_http_2),
#endif
        CASE(any_allocation_may_fail),
        CASE(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    puts("this build has no zlib");
    return 0;
}

#endif
