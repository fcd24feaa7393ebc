/*
 * test_request_log.c - the lines of requests that the loop answers itself: each names its own
 * request, also when that was read long before.
 */
#include <string.h>
#include <unistd.h>

#include "support/world.h"

#define HEAD(line, fields) line " HTTP/1.1\r\nHost: test\r\n" fields "\r\n"

static const char *const streamed[] = {"/silent", NULL};
static int logs[2];

static int setup(void **state) {
    static nb_test_world world;
    if (pipe(logs) < 0) return -1;
    nb_test_world_init(&world);
    world.route.stream_input = true;
    world.config.log_refused = 1;
    world.config.log_fd = logs[1];
    *state = &world;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    close(logs[0]);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Closes the world: all is written then. */
static const char *close_and_read_log(nb_test_world *w) {
    static char text[8192];
    size_t size = 0;
    nb_test_world_close(w);
    close(logs[1]);
    for (ssize_t got; (got = read(logs[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    text[size] = '\0';
    return text;
}

static void assert_logged(const char *log, const char *line) {
    if (!strstr(log, line)) fail_msg("expected \"%s\" in %s", line, log);
}

static void a_streamed_body_refused_in_its_middle_is_logged_with_its_requests_line(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open_routed(w, 1, streamed);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, HEAD("POST /silent", "Transfer-Encoding: chunked\r\n") "1\r\na\r\n"));
    nb_test_executor_await(w->executors[0], NB_TEST_INPUT, 1);
    assert_true(nb_test_send_text(c, HEAD("GET /forged", "")));
    nb_test_world_expect(w, c, 400, NULL);
    const char *log = close_and_read_log(w);
    assert_logged(log, "info: request 400 127.0.0.1 ");
    assert_logged(log, "\tPOST /silent HTTP/1.1\n");
    assert_null(strstr(log, "forged"));
}

static void the_line_of_any_bytes_is_utf8(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    static const char *const sent[] = {"GET /\xc3\xa9/\xe9\x01", "GET /\xc2\x9b\x7f", "\xff\x1b"};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        nb_test_client *c = nb_test_world_client(w);
        assert_true(nb_test_send_text(c, sent[i]));
        nb_test_world_expect(w, c, 400, NULL);
    }
    const char *log = close_and_read_log(w);
    assert_logged(log, "\tGET /\xc3\xa9/%E9%01\n");
    assert_logged(log, "\tGET /%C2%9B%7F\n");
    assert_logged(log, "\t%FF%1B\n");
}

static void expired_requests_are_logged_with_their_own_lines(void **state) {
    nb_test_world *w = *state;
    w->config.request_timeout_ms = 60;
    w->options.credit = 1;
    nb_test_world_open_routed(w, 1, streamed);
    nb_test_executor_stall(w->executors[0], true);
    nb_test_client *first = nb_test_world_client(w), *whole = nb_test_world_client(w),
                   *stream = nb_test_world_client(w);
    assert_true(nb_test_get(first, "/hello"));
    while (nb_test_world_counters(w).requests < 1)
        nb_test_world_settle(w);
    assert_true(nb_test_send_text(whole, HEAD("POST /whole", "Content-Length: 1\r\n") "a" HEAD("GET /next", "")));
    assert_true(nb_test_send_text(stream, HEAD("POST /silent", "Content-Length: 99\r\n") HEAD("GET /forged", "")));
    nb_test_world_expect(w, whole, 503, NULL);
    nb_test_world_expect(w, stream, 503, NULL);
    nb_test_executor_stall(w->executors[0], false);
    nb_test_world_expect(w, first, 200, "hello");
    const char *log = close_and_read_log(w);
    assert_logged(log, "info: request 503 127.0.0.1 the server is busy, try again\tPOST /whole HTTP/1.1\n");
    assert_logged(log, "info: request 503 127.0.0.1 the server is busy, try again\tPOST /silent HTTP/1.1\n");
    assert_null(strstr(log, "forged"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_streamed_body_refused_in_its_middle_is_logged_with_its_requests_line),
        CASE(the_line_of_any_bytes_is_utf8),
        CASE(expired_requests_are_logged_with_their_own_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
