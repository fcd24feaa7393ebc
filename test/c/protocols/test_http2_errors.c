/*
 * test_http2_errors.c - what goes wrong on a connection of HTTP/2: resets, malformed requests, what
 * is refused, floods, drain, memory that is out.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "support/http2_client.h"
#include "support/http2_raw.h"
#include "support/world.h"

#ifdef NB_HAVE_HTTP2

static nb_test_h2 h2;
static nb_raw raw;
static nb_raw_frame frame;

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static const char *const no_routes[] = {NULL};

static void open_world(nb_test_world *w, const char *const patterns[]) {
    nb_test_world_open_routed(w, 1, patterns);
    nb_test_h2_begin(&h2, nb_test_world_client(w), false);
}

static void close_world(nb_test_world *w) {
    nb_test_h2_end(&h2);
    nb_test_world_close(w);
}

/* --- resets --- */

static void a_stream_that_the_client_resets_ends_alone(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    int32_t never = nb_test_h2_get(&h2, "/never"), held = nb_test_h2_get(&h2, "/hold");
    nb_test_h2_send(&h2);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_test_h2_reset(&h2, never);
    nb_test_h2_send(&h2);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, held, 200, "held");
    assert_int_equal(1, nb_test_world_counters(w).aborted);
    close_world(w);
}

static void a_download_and_an_upload_that_are_reset_leave_nothing(void **state) {
    nb_test_world *w = *state;
    w->route.stream_input = true;
    open_world(w, (const char *const[]){"/silent", NULL});
    int32_t ids[] = {nb_test_h2_get(&h2, "/big/3000000"), nb_test_h2_post(&h2, "/echo", 900000, NULL),
                     nb_test_h2_post(&h2, "/silent", 900000, NULL), nb_test_h2_get(&h2, "/file/3000000")};
    nb_test_h2_pause(&h2, ids[1], 200000);
    while (nb_test_h2_of(&h2, ids[0])->bytes < 100000 || nb_test_h2_of(&h2, ids[3])->bytes < 100000 ||
           nb_test_h2_of(&h2, ids[2])->sent < 250000)
        assert_true(nb_test_h2_step(&h2));
    for (int i = 0; i < 4; i++)
        nb_test_h2_reset(&h2, ids[i]);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    /* The connection's window was given back. */
    nb_test_h2_expect_pattern(&h2, nb_test_h2_post(&h2, "/echo", 2000000, NULL), 2000000);
    close_world(w);
}

/* RFC 9113 section 8.1. */
static void a_response_that_breaks_off_resets_its_stream(void **state) {
    static const char *const paths[] = {"/abort", "/abortchunked", "/aborthead", "/short"};
    nb_test_world *w = *state;
    open_world(w, no_routes);
    for (int i = 0; i < 4; i++)
        nb_test_h2_expect_reset(&h2, nb_test_h2_get(&h2, paths[i]), NGHTTP2_INTERNAL_ERROR);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/long"), 200, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    close_world(w);
}

/* Its last byte is missing. What was sent before is of the file. */
static void a_file_that_becomes_shorter_resets_its_stream(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    int32_t held = nb_test_h2_get(&h2, "/hold"), small = nb_test_h2_get(&h2, "/fileshort/100");
    int32_t large = nb_test_h2_get(&h2, "/fileshort/300000");
    nb_test_h2_expect_reset(&h2, small, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(0, nb_test_h2_of(&h2, small)->bytes);
    nb_test_h2_expect_reset(&h2, large, NGHTTP2_INTERNAL_ERROR);
    assert_in_range(nb_test_h2_of(&h2, large)->bytes, 200000, 299999);
    for (size_t i = 0; i < nb_test_h2_of(&h2, large)->bytes; i++)
        assert_int_equal(nb_test_pattern(i), nb_test_h2_of(&h2, large)->body[i]);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, held, 200, "held");
    nb_test_h2_expect_pattern(&h2, nb_test_h2_get(&h2, "/file/300000"), 300000);
    close_world(w);
}

static void a_connection_cannot_be_hijacked(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hijack"), 500, NULL);
    nb_test_h2_expect_reset(&h2, nb_test_h2_get(&h2, "/hijackhead"), NGHTTP2_INTERNAL_ERROR);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    close_world(w);
}

/* CVE-2023-44487. */
static void a_flood_of_resets_ends_the_connection(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    for (unsigned i = 0; i <= w->config.http2_resets_max && !h2.over; i++) {
        int32_t id = nb_test_h2_get(&h2, "/never");
        nb_test_h2_send(&h2);
        nb_test_h2_reset(&h2, id);
        nb_test_h2_send(&h2);
        if (i % 20 == 0) nb_test_world_settle(w);
    }
    while (nb_test_h2_step(&h2)) {
    }
    assert_int_equal(NGHTTP2_ENHANCE_YOUR_CALM, h2.goaway_code);
    nb_test_h2_end(&h2);
    nb_test_h2_begin(&h2, nb_test_world_client(w), false);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    close_world(w);
}

/* --- malformed requests --- */

static nb_test_client *raw_client(nb_test_world *w) {
    nb_raw_begin(&raw);
    return nb_test_world_client(w);
}

static void send_raw(nb_test_client *client) {
    assert_true(nb_test_send(client, raw.bytes, raw.size));
    raw.size = 0;
}

/* RFC 9113 sections 8.1.1, 8.2, 8.3. */
static void a_malformed_request_resets_its_stream(void **state) {
    static const char *const requests[][16] = {
        {NB_RAW_GET("/"), "Upper", "1"},
        {NB_RAW_GET("/"), "a b", "1"},
        {NB_RAW_GET("/"), "", "1"},
        {NB_RAW_GET("/"), "x-a", "1\r\n"},
        {NB_RAW_GET("/"), "x-a", " 1"},
        {NB_RAW_GET("/"), "x-a", "1\t"},
        {NB_RAW_GET("/"), "connection", "close"},
        {NB_RAW_GET("/"), "transfer-encoding", "chunked"},
        {NB_RAW_GET("/"), "upgrade", "h2c"},
        {NB_RAW_GET("/"), "te", "gzip"},
        {NB_RAW_GET("/"), ":method", "GET"},
        {NB_RAW_GET("/"), ":status", "200"},
        {NB_RAW_GET("/"), ":other", "1"},
        {NB_RAW_GET("/"), "content-length", "5"},
        {NB_RAW_GET("/"), "content-length", "x"},
        {NB_RAW_GET("")},
        {":method", "GET", ":scheme", "http", ":authority", "test"},
        {":method", "GET", ":path", "/", ":authority", "test"},
        {":scheme", "http", ":path", "/", ":authority", "test"},
        {"x-a", "1", NB_RAW_GET("/")},
    };
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = raw_client(w);
    uint32_t stream = 1;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++, stream += 2) {
        nb_raw_headers(&raw, NB_RAW_WHOLE, stream, requests[i]);
        send_raw(client);
        assert_true(nb_raw_await(client, NB_RAW_RST_STREAM, &frame));
        if (frame.stream != stream || nb_raw_code(&frame) != NGHTTP2_PROTOCOL_ERROR)
            fail_msg("request %zu: stream %u, code %u", i, frame.stream, nb_raw_code(&frame));
    }
    nb_raw_headers(&raw, NB_RAW_WHOLE, stream, (const char *const[]){NB_RAW_GET("/hello"), NULL});
    send_raw(client);
    assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
    assert_int_equal(stream, frame.stream);
    nb_test_world_close(w);
}

/* RFC 9113 section 8.1. They are checked and dropped, as those of HTTP/1.1 are. */
static void trailers_are_read(void **state) {
    static const char *const post[] = {":method", "POST", ":scheme", "http", ":authority", "test", ":path", "/", NULL};
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = raw_client(w);
    nb_raw_headers(&raw, NB_RAW_END_HEADERS, 1, post);
    nb_raw_add(&raw, NB_RAW_DATA, 0, 1, "body", 4);
    nb_raw_headers(&raw, NB_RAW_WHOLE, 1, (const char *const[]){"x-sum", "1", NULL});
    nb_raw_headers(&raw, NB_RAW_END_HEADERS, 3, post);
    nb_raw_add(&raw, NB_RAW_DATA, 0, 3, "body", 4);
    nb_raw_headers(&raw, NB_RAW_WHOLE, 3, (const char *const[]){":path", "/", NULL});
    send_raw(client);
    bool answered = false, reset = false;
    while (!answered || !reset) {
        assert_true(nb_raw_next(client, &frame));
        if (frame.type == NB_RAW_DATA) {
            assert_int_equal(1, frame.stream);
            assert_memory_equal("body", frame.bytes, 4);
            answered = true;
        } else if (frame.type == NB_RAW_RST_STREAM) {
            assert_int_equal(3, frame.stream);
            assert_int_equal(NGHTTP2_PROTOCOL_ERROR, nb_raw_code(&frame));
            reset = true;
        }
    }
    nb_test_world_close(w);
}

/* RFC 9113 section 5.1.2. */
static void streams_beyond_the_limit_are_refused(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = raw_client(w);
    for (uint32_t i = 0; i <= w->config.http2_streams_max; i++)
        nb_raw_headers(&raw, NB_RAW_WHOLE, 2 * i + 1, (const char *const[]){NB_RAW_GET("/hold"), NULL});
    send_raw(client);
    assert_true(nb_raw_await(client, NB_RAW_RST_STREAM, &frame));
    assert_int_equal(2 * w->config.http2_streams_max + 1, frame.stream);
    assert_int_equal(NGHTTP2_REFUSED_STREAM, nb_raw_code(&frame));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, w->config.http2_streams_max);
    nb_test_executor_release(w->executors[0]);
    for (unsigned i = 0; i < w->config.http2_streams_max; i++) {
        assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
        assert_memory_equal("held", frame.bytes, 4);
    }
    nb_test_world_close(w);
}

/* What is well formed, and not served, is answered. */
static void what_is_not_served_gets_a_status(void **state) {
    static const struct {
        const char *method, *path, *fields[4];
        unsigned status;
    } cases[] = {
        {"GET", "/a#b", {NULL}, 400},
        {"GET", "/\"", {NULL}, 400},
        {"GET", "a", {NULL}, 400},
        {"GET", "*", {NULL}, 400},
        {"G T", "/", {NULL}, 400},
        {"GET", "/", {"host", "a b"}, 400},
        {"GET", "/", {"host", "other"}, 400},
        {"GET", "/hello", {"host", "TEST"}, 200},
        {"PROPFIND", "/hello", {NULL}, 200},
        {"AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDD", "/", {NULL}, 501},
    };
    nb_test_world *w = *state;
    open_world(w, no_routes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t id = nb_test_h2_request(&h2, cases[i].method, cases[i].path, cases[i].fields);
        nb_test_h2_answer *answer = nb_test_h2_await(&h2, id);
        if (answer->status != cases[i].status) fail_msg("case %zu: %u", i, answer->status);
    }
    nb_test_client *client = raw_client(w);
    static const char *const connect[] = {":method", "CONNECT", ":authority", "test:80", NULL};
    nb_raw_headers(&raw, NB_RAW_END_HEADERS, 1, connect);
    send_raw(client);
    assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
    assert_memory_equal("405", frame.bytes, 3);
    close_world(w);
}

/* RFC 9113 section 8.1: only a client that still sends is asked to stop. */
static void an_answer_of_the_servers_own_resets_no_stream_that_both_sides_have_ended(void **state) {
    static const char *const expects[] = {"expect", "more", NULL};
    nb_test_world *w = *state;
    w->admin = true;
    w->admin_host = "test";
    open_world(w, no_routes);
    nb_test_h2_expect(&h2, nb_test_h2_request(&h2, "GET", "/hello", expects), 417, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/a#b"), 400, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_post(&h2, "/a#b", 100000, NULL), 400, NULL);
    nb_test_h2_ping(&h2);
    assert_false(nb_test_h2_of(&h2, 1)->reset);
    assert_false(nb_test_h2_of(&h2, 3)->reset);
    nb_test_h2_end(&h2);
    nb_test_h2_begin(&h2, nb_test_world_admin(w), false);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/health"), 200, NULL);
    nb_test_h2_ping(&h2);
    assert_false(nb_test_h2_of(&h2, 1)->reset);
    assert_int_equal(1, nb_test_world_counters(w).http2_resets_sent);
    close_world(w);
}

static void heads_over_the_limits_are_refused(void **state) {
    nb_test_world *w = *state;
    w->config.header_bytes_max = 8000;
    open_world(w, no_routes);
    const char *fields[2 * 120 + 1] = {NULL};
    for (size_t i = 0; i < 120; i++) {
        fields[2 * i] = "x-a";
        fields[2 * i + 1] = "1";
    }
    nb_test_h2_expect(&h2, nb_test_h2_request(&h2, "GET", "/hello", fields), 431, NULL);
    for (size_t i = 0; i < 120; i++)
        fields[2 * i] = "cookie"; /* joined: one field */
    nb_test_h2_expect(&h2, nb_test_h2_request(&h2, "GET", "/hello", fields), 200, "hello");
    static char large[9000];
    memset(large, 'a', sizeof large - 1);
    nb_test_h2_expect(&h2, nb_test_h2_request(&h2, "GET", "/hello", (const char *const[]){"x", large, NULL}), 431,
                      NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    close_world(w);
}

/* RFC 9113 section 5.4.1. */
static void an_error_of_the_connection_ends_it(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int i = 0; i < 4; i++) {
        nb_test_client *client = raw_client(w);
        if (i == 0) nb_raw_add(&raw, NB_RAW_DATA, 0, 0, "abc", 3);
        if (i == 1) nb_raw_add(&raw, NB_RAW_WINDOW_UPDATE, 0, 0, "\0\0\0\0", 4);
        if (i == 2) nb_raw_add(&raw, NB_RAW_HEADERS, NB_RAW_END_HEADERS, 1, "\xff\xff\xff\xff\xff\xff\xff", 7);
        if (i == 3) nb_raw_add(&raw, NB_RAW_CONTINUATION, 0, 1, "abc", 3);
        nb_raw_headers(&raw, NB_RAW_WHOLE, 3, (const char *const[]){NB_RAW_GET("/hello"), NULL});
        send_raw(client);
        assert_true(nb_raw_await(client, NB_RAW_GOAWAY, &frame));
        assert_int_not_equal(NGHTTP2_NO_ERROR, nb_raw_code(&frame));
        nb_test_client_finish(client);
        assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(client, NULL));
    }
    nb_test_world_close(w);
}

/* nghttp2 sends no more of the streams that run, whose requests would keep the connection. */
static void an_error_before_the_client_finishes_ends_what_runs(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *client = raw_client(w);
    nb_raw_headers(&raw, NB_RAW_WHOLE, 1, (const char *const[]){NB_RAW_GET("/never"), NULL});
    nb_raw_headers(&raw, NB_RAW_WHOLE, 3, (const char *const[]){NB_RAW_GET("/hold"), NULL});
    send_raw(client);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    nb_raw_add(&raw, NB_RAW_HEADERS, NB_RAW_WHOLE, 99, "\xff\xff\xff\xff\xff\xff\xff", 7);
    send_raw(client);
    nb_test_client_finish(client);
    assert_true(nb_raw_await(client, NB_RAW_GOAWAY, &frame));
    assert_int_equal(NGHTTP2_COMPRESSION_ERROR, nb_raw_code(&frame));
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 2);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(client, NULL));
    nb_test_world_close(w);
}

static void the_preface_may_come_in_pieces(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (size_t at = 1; at < 60; at++) {
        nb_test_client client = nb_test_connect(w->port);
        nb_raw_begin(&raw);
        nb_raw_headers(&raw, NB_RAW_WHOLE, 1, (const char *const[]){NB_RAW_GET("/hello"), NULL});
        assert_true(nb_test_send(&client, raw.bytes, at));
        nb_test_world_settle(w);
        assert_true(nb_test_send(&client, raw.bytes + at, raw.size - at));
        if (!nb_raw_await(&client, NB_RAW_DATA, &frame)) fail_msg("in two pieces at %zu", at);
        assert_memory_equal("hello", frame.bytes, 5);
        nb_test_client_close(&client);
    }
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_send_text(client, "PRI * HTTP/3.0\r\n\r\n"));
    nb_test_world_expect(w, client, 505, NULL);
    client = nb_test_world_client(w);
    assert_true(nb_test_send_text(client, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
    nb_test_world_expect(w, client, 505, NULL);
    nb_test_world_close(w);
}

/* Of PINGs whose answers the client does not read (CVE-2019-9512), and SETTINGS (CVE-2019-9515).
 * Its bytes are not read any more; or the connection has ended, and they are dropped for a
 * while. */
static void a_client_that_floods_and_does_not_read_is_held_back(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (int kind = 0; kind < 2; kind++) {
        nb_test_client *client = raw_client(w);
        send_raw(client);
        for (int i = 0; i < 5000; i++) {
            if (kind == 0) nb_raw_add(&raw, NB_RAW_PING, 0, 0, "12345678", 8);
            if (kind == 1) nb_raw_add(&raw, NB_RAW_SETTINGS, 0, 0, NULL, 0);
        }
        bool held = false;
        while (!held) /* nb_test_alarm bounds it */
            held = send(client->fd, raw.bytes, raw.size, MSG_NOSIGNAL | MSG_DONTWAIT) < (ssize_t)raw.size;
        nb_test_world_settle(w);
    }
    nb_test_world_close(w);
}

/* --- the end --- */

/* RFC 9113 section 6.8. */
static void a_drain_says_so_and_ends_what_has_begun(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    int32_t held = nb_test_h2_get(&h2, "/hold");
    nb_test_h2_send(&h2);
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_client *idle = raw_client(w);
    send_raw(idle);
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    assert_true(nb_raw_await(idle, NB_RAW_GOAWAY, &frame));
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(idle, NULL));
    while (h2.goaways == 0)
        assert_true(nb_test_h2_step(&h2));
    assert_int_equal(INT32_MAX, h2.goaway_last[0]);
    while (h2.goaways < 2)
        assert_true(nb_test_h2_step(&h2));
    assert_int_equal(held, h2.goaway_last[1]);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, held, 200, "held");
    while (nb_test_h2_step(&h2)) {
    }
    close_world(w);
}

static void an_idle_connection_is_told_its_end(void **state) {
    nb_test_world *w = *state;
    w->config.idle_timeout_ms = 100;
    open_world(w, no_routes);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    while (nb_test_h2_step(&h2)) {
    }
    assert_int_equal(1, h2.goaways);
    assert_int_equal(NGHTTP2_NO_ERROR, h2.goaway_code);
    close_world(w);
}

static void a_body_that_does_not_come_gets_408(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 100;
    w->route.stream_input = true;
    open_world(w, (const char *const[]){"/count", NULL});
    int32_t ids[] = {nb_test_h2_post(&h2, "/echo", 1000, NULL), nb_test_h2_post(&h2, "/count", 1000, NULL)};
    for (int i = 0; i < 2; i++)
        nb_test_h2_pause(&h2, ids[i], 10);
    for (int i = 0; i < 2; i++)
        nb_test_h2_expect(&h2, ids[i], 408, NULL);
    close_world(w);
}

static void a_window_that_stays_shut_resets_its_stream(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 100;
    nb_test_world_open(w, 1);
    nb_test_h2_begin(&h2, nb_test_world_client(w), true);
    nb_test_h2_expect_reset(&h2, nb_test_h2_get(&h2, "/big/100000"), NGHTTP2_CANCEL);
    close_world(w);
}

/* Each stream is judged alone. The connection is busy all the time, and a stream on which little
 * moves, but enough, goes on. */
static void a_slow_body_ends_alone(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 1000;
    w->config.rate_min = 5;
    w->route.stream_input = true;
    open_world(w, (const char *const[]){"/count", NULL});
    int32_t stopped[] = {nb_test_h2_post(&h2, "/echo", 1000, NULL), nb_test_h2_post(&h2, "/count", 1000, NULL)};
    int32_t slow[] = {nb_test_h2_post(&h2, "/echo", 100000, NULL), nb_test_h2_post(&h2, "/count", 100000, NULL)};
    for (int i = 0; i < 2; i++) {
        nb_test_h2_pause(&h2, stopped[i], 3);
        nb_test_h2_pause(&h2, slow[i], 1);
    }
    while (!nb_test_h2_of(&h2, stopped[0])->ended || !nb_test_h2_of(&h2, stopped[1])->ended) {
        for (int i = 0; i < 2; i++) {
            nb_test_h2_of(&h2, slow[i])->pause_at += 3;
            (void)nghttp2_session_resume_data(h2.session, slow[i]);
        }
        nb_test_h2_ping(&h2);
        assert_false(nb_test_h2_of(&h2, slow[0])->ended || nb_test_h2_of(&h2, slow[1])->ended);
    }
    for (int i = 0; i < 2; i++)
        nb_test_h2_expect(&h2, stopped[i], 408, NULL);
    for (int i = 0; i < 2; i++)
        nb_test_h2_go_on(&h2, slow[i]);
    nb_test_h2_expect_pattern(&h2, slow[0], 100000);
    nb_test_h2_expect(&h2, slow[1], 200, "100000 good");
    assert_int_equal(2, nb_test_world_counters(w).timed_out);
    close_world(w);
}

static void a_download_that_is_not_read_ends_alone(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 1000;
    w->config.rate_min = 5;
    nb_test_world_open(w, 1);
    nb_test_h2_begin(&h2, nb_test_world_client(w), true);
    int32_t stopped = nb_test_h2_get(&h2, "/file/200000"), slow = nb_test_h2_get(&h2, "/big/2000000");
    nb_test_h2_widen(&h2, 0, 10000000);
    while (!nb_test_h2_of(&h2, stopped)->reset) {
        nb_test_h2_widen(&h2, slow, 20);
        nb_test_h2_ping(&h2);
        assert_false(nb_test_h2_of(&h2, slow)->reset);
    }
    assert_int_equal(NGHTTP2_CANCEL, nb_test_h2_of(&h2, stopped)->error_code);
    close_world(w);
}

/* What it sends is no sign that it takes its response. The frames are of an unknown type, which is
 * to be ignored (RFC 9113 section 5.5). */
static void a_client_that_takes_nothing_is_cut_off_whatever_it_sends(void **state) {
    nb_test_world *w = *state;
    static const char ignored[1000];
    w->config.body_timeout_ms = 80;
    nb_test_world_open(w, 1);
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    nb_raw_begin_wide(&raw);
    nb_raw_headers(&raw, NB_RAW_WHOLE, 1, (const char *const[]){NB_RAW_GET("/big/50000000"), NULL});
    assert_true(nb_test_send(client, raw.bytes, raw.size));
    raw.size = 0;
    nb_raw_add(&raw, 0xfa, 0, 0, ignored, sizeof(ignored));
    while (nb_test_send(client, raw.bytes, raw.size)) /* nb_test_alarm bounds it */
        usleep(2000);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(1, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

static void a_client_that_finishes_gets_what_its_windows_take(void **state) {
    nb_test_world *w = *state;
    open_world(w, no_routes);
    int32_t held = nb_test_h2_get(&h2, "/hold"), big = nb_test_h2_get(&h2, "/big/50000");
    nb_test_h2_send(&h2);
    nb_test_client_finish(h2.client);
    nb_test_h2_expect_pattern(&h2, big, 50000);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, held, 200, "held");
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(h2.client, NULL));
    close_world(w);
}

/* Its windows will never open again. */
static void a_client_that_finishes_with_its_window_shut_is_left(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_h2_begin(&h2, nb_test_world_client(w), true);
    int32_t big = nb_test_h2_get(&h2, "/big/90000");
    while (nb_test_h2_of(&h2, big)->bytes < 65535)
        assert_true(nb_test_h2_step(&h2));
    nb_test_world_settle(w);
    nb_test_client_finish(h2.client);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(h2.client, NULL));
    close_world(w);
}

/* --- memory --- */

/* One round of what a client does; whatever comes back, it must come to an end. */
static bool use_once(nb_test_world *w) {
    nb_test_client client = nb_test_connect(w->port);
    nb_test_h2_begin(&h2, &client, false);
    static const char *const late[] = {"priority", "u=6", NULL}, *const urgent[] = {"priority", "u=1, i", NULL};
    int32_t ids[] = {nb_test_h2_get(&h2, "/hello"),
                     nb_test_h2_post(&h2, "/echo", 150000, late),
                     nb_test_h2_request(&h2, "GET", "/file/150000", late),
                     nb_test_h2_request(&h2, "GET", "/file/50000", urgent),
                     nb_test_h2_get(&h2, "/fields/9000"),
                     nb_test_h2_post(&h2, "/count", 150000, NULL),
                     nb_test_h2_get(&h2, "/chunked/40000")};
    bool good = true;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        nb_test_h2_answer *answer = nb_test_h2_await(&h2, ids[i]);
        good = good && answer->status == 200 && answer->ended;
    }
    nb_test_h2_end(&h2);
    nb_test_client_close(&client);
    return good;
}

static void the_server_serves_on_after_any_allocation_failed(void **state) {
    nb_test_world *w = *state;
    unsigned failed = 0;
    for (unsigned long n = 1; n <= 400; n++) {
        nb_test_world_init(w);
        w->route.stream_input = true;
        nb_test_world_open_routed(w, 1, (const char *const[]){"/count", NULL});
        nb_alloc_fail_at(n);
        failed += !use_once(w);
        nb_alloc_fail_at(0);
        if (!use_once(w)) fail_msg("not served after allocation %lu failed", n);
        nb_test_world_close(w);
    }
    assert_true(failed > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_stream_that_the_client_resets_ends_alone),
        CASE(a_download_and_an_upload_that_are_reset_leave_nothing),
        CASE(a_response_that_breaks_off_resets_its_stream),
        CASE(a_file_that_becomes_shorter_resets_its_stream),
        CASE(a_connection_cannot_be_hijacked),
        CASE(a_flood_of_resets_ends_the_connection),
        CASE(a_malformed_request_resets_its_stream),
        CASE(trailers_are_read),
        CASE(streams_beyond_the_limit_are_refused),
        CASE(what_is_not_served_gets_a_status),
        CASE(an_answer_of_the_servers_own_resets_no_stream_that_both_sides_have_ended),
        CASE(heads_over_the_limits_are_refused),
        CASE(an_error_of_the_connection_ends_it),
        CASE(an_error_before_the_client_finishes_ends_what_runs),
        CASE(the_preface_may_come_in_pieces),
        CASE(a_client_that_floods_and_does_not_read_is_held_back),
        CASE(a_drain_says_so_and_ends_what_has_begun),
        CASE(an_idle_connection_is_told_its_end),
        CASE(a_body_that_does_not_come_gets_408),
        CASE(a_window_that_stays_shut_resets_its_stream),
        CASE(a_slow_body_ends_alone),
        CASE(a_download_that_is_not_read_ends_alone),
        CASE(a_client_that_takes_nothing_is_cut_off_whatever_it_sends),
        CASE(a_client_that_finishes_gets_what_its_windows_take),
        CASE(a_client_that_finishes_with_its_window_shut_is_left),
        CASE(the_server_serves_on_after_any_allocation_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
