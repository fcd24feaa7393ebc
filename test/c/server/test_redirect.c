/*
 * test_redirect.c - a whole server whose plain address leads to https: each answer is the I/O
 * loop's own. The length of the Location, and the time of a connection that has only such answers.
 */
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static void open_world(nb_test_world *w) {
    w->config.redirect_port = 443;
    nb_test_world_open(w, 1);
}

static void expect_redirect(nb_test_world *w, nb_test_client *c) {
    assert_true(nb_test_get(c, "/"));
    nb_test_world_expect(w, c, 301, NULL);
}

/* A Location of any length that a request may have. */
static void expect_location(nb_test_world *w, nb_test_client *c, const char *host, const char *path) {
    static char request[32768], location[32768];
    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    (void)snprintf(location, sizeof(location), "\r\nLocation: https://%s%s\r\n", host, path);
    assert_true(nb_test_send_text(c, request));
    nb_test_world_expect(w, c, 301, NULL);
    if (!strstr(w->response.head, location)) fail_msg("no such Location in %.300s", w->response.head);
}

static void a_location_is_as_long_as_its_request(void **state) {
    nb_test_world *w = *state;
    static char path[16001] = "/", host[201];
    open_world(w);
    nb_test_client *c = nb_test_world_client(w);
    memset(host, 'h', sizeof(host) - 1);
    for (size_t size = 1; size < sizeof(path); size = size < 600 ? size + 1 : size + 1100) {
        memset(path + 1, 'a', size - 1);
        path[size] = '\0';
        if (size > 10) path[size - 5] = '?';
        expect_location(w, c, size % 2 ? host : "h", path);
    }
    nb_test_world_close(w);
}

static void a_connection_that_was_used_is_not_the_one_that_is_idle_longest(void **state) {
    nb_test_world *w = *state;
    nb_test_client *clients[4];
    w->config.connections_max = 3;
    open_world(w);
    for (int i = 0; i < 3; i++) {
        clients[i] = nb_test_world_client(w);
        expect_redirect(w, clients[i]);
    }
    expect_redirect(w, clients[0]);
    clients[3] = nb_test_world_client(w);
    expect_redirect(w, clients[3]);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(clients[1], NULL));
    expect_redirect(w, clients[0]);
    expect_redirect(w, clients[2]);
    nb_test_world_close(w);
}

/* Sends heads in halves, so that each turn of the loop ends within one. Returns the longest time
   between two of them. */
static int64_t ask_without_pause(nb_test_world *w, nb_test_client *c, int64_t for_ms) {
    int64_t start = nb_clock_monotonic_ns(), last = start, longest_ms = 0;
    if (!nb_test_send_text(c, "GET / HTTP/1.1\r\nHo")) return 0;
    do {
        bool sent = nb_test_send_text(c, "st: test\r\n\r\nGET / HTTP/1.1\r\nHo");
        if (!sent || !nb_test_read(c, "GET", &w->response)) w->response.status = 0;
        if (nb_test_since_ms(last) > longest_ms) longest_ms = nb_test_since_ms(last);
        last = nb_clock_monotonic_ns();
    } while (w->response.status == 301 && nb_test_since_ms(start) < for_ms);
    return longest_ms;
}

static void each_head_has_time_of_its_own(void **state) {
    nb_test_world *w = *state;
    int64_t longest_ms;
    w->config.header_timeout_ms = 100;
    open_world(w);
    do { /* again, if this thread stood still for longer than a head may take */
        longest_ms = ask_without_pause(w, nb_test_world_client(w), 400);
    } while (w->response.status != 301 && longest_ms > 50);
    assert_int_equal(301, w->response.status);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_location_is_as_long_as_its_request),
        CASE(a_connection_that_was_used_is_not_the_one_that_is_idle_longest),
        CASE(each_head_has_time_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
