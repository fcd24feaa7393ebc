/*
 * test_server_proxied.c - connections that begin with a header of the PROXY protocol: in one piece,
 * in many, cut off, wrong, too late, and while the server drains or has no memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, setup)

#define TEXT "PROXY TCP4 192.0.2.42 127.0.0.1 56324 80\r\n"
#define GET "GET /hello HTTP/1.1\r\nHost: test\r\n\r\n"

static const char binary[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x10\xc0\x00\x02\x2a\x7f\x00\x00\x01\xdc\x04\x01\xbb"
                             "\x04\x00\x01x";

static int setup(void **state) {
    int result = nb_test_world_setup(state);
    ((nb_test_world *)*state)->proxied = true;
    return result;
}

static void open_world(nb_test_world *w, uint32_t loops) {
    w->config.io_threads = loops;
    nb_test_world_open(w, 1);
}

static void expect_served(nb_test_world *w, const char *header, size_t size) {
    nb_test_client *client = nb_test_world_client(w);
    assert_true(nb_test_send(client, header, size));
    nb_test_world_expect_hello(w, client);
    nb_test_world_expect_hello(w, client);
}

static void a_header_is_taken_off(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1);
    expect_served(w, TEXT, strlen(TEXT));
    expect_served(w, binary, sizeof(binary) - 1);
    nb_test_world_close(w);
}

static void each_loop_takes_it_off(void **state) {
    nb_test_world *w = *state;
    open_world(w, 2);
    for (int i = 0; i < 4; i++)
        expect_served(w, binary, sizeof(binary) - 1);
    nb_test_world_close(w);
}

/* The loop has taken what was sent: a later connection was served. */
static void pieces_are_kept_until_the_rest_comes(void **state) {
    nb_test_world *w = *state;
    static const size_t cuts[] = {1, 6, 15, 16, 17, sizeof(binary) - 2};
    open_world(w, 1);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
        nb_test_client *client = nb_test_world_client(w);
        assert_true(nb_test_send(client, binary, cuts[i]));
        expect_served(w, TEXT, strlen(TEXT));
        assert_true(nb_test_send(client, binary + cuts[i], sizeof(binary) - 1 - cuts[i]));
        nb_test_world_expect_hello(w, client);
    }
    nb_test_world_close(w);
}

static void what_is_no_header_ends_its_connection(void **state) {
    nb_test_world *w = *state;
    static const char *const wrong[] = {GET, "PROXY TCP4 192.0.2.42\r\n" GET, "PROXY TCP9 ", "\r\n\r\nGET"};
    open_world(w, 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        nb_test_client *client = nb_test_world_client(w);
        assert_true(nb_test_send_text(client, wrong[i]));
        if (i == 2) assert_true(nb_test_send_text(client, "\r\n"));
        assert_int_not_equal(NB_TEST_END_NONE, nb_test_read_end(client, NULL));
    }
    assert_int_equal(4, nb_test_world_counters(w).unproxied);
    expect_served(w, TEXT, strlen(TEXT));
    nb_test_world_close(w);
}

static void who_leaves_within_a_header_leaves_nothing(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1);
    for (int i = 0; i < 6; i++) {
        nb_test_client *client = nb_test_world_client(w);
        if (i % 2) assert_true(nb_test_send(client, binary, 7));
        if (i % 3 == 0) expect_served(w, TEXT, strlen(TEXT));
        if (i < 3) {
            nb_test_client_finish(client);
            assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(client, NULL));
        } else {
            nb_test_client_reset(client);
        }
    }
    expect_served(w, TEXT, strlen(TEXT));
    assert_int_equal(0, nb_test_world_counters(w).unproxied);
    nb_test_world_close(w);
}

static void a_header_that_is_late_ends_its_connection(void **state) {
    nb_test_world *w = *state;
    w->config.handshake_timeout_ms = 50;
    open_world(w, 1);
    nb_test_client *silent = nb_test_world_client(w), *begun = nb_test_world_client(w);
    assert_true(nb_test_send(begun, binary, 7));
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(silent, NULL));
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(begun, NULL));
    assert_int_equal(2, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

static void a_drain_ends_those_that_wait(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1);
    nb_test_client *silent = nb_test_world_client(w), *begun = nb_test_world_client(w);
    assert_true(nb_test_send(begun, binary, 7));
    expect_served(w, TEXT, strlen(TEXT));
    nb_server_drain(w->server);
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(silent, NULL));
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(begun, NULL));
    nb_test_world_close(w);
}

/* Whichever allocation fails, others are served. */
static void without_memory_one_connection_fails(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1);
    for (unsigned long n = 1; n <= 6; n++) {
        nb_alloc_fail_at(n);
        nb_test_client *client = nb_test_world_client(w);
        (void)nb_test_send(client, binary, 7);
        nb_test_response response = {0};
        (void)(nb_test_send(client, binary + 7, sizeof(binary) - 8) && nb_test_get(client, "/hello") &&
               nb_test_read(client, "GET", &response));
        nb_alloc_fail_at(0);
        free(response.body);
        expect_served(w, TEXT, strlen(TEXT));
    }
    nb_test_world_close(w);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        CASE(a_header_is_taken_off),
        CASE(each_loop_takes_it_off),
        CASE(pieces_are_kept_until_the_rest_comes),
        CASE(what_is_no_header_ends_its_connection),
        CASE(who_leaves_within_a_header_leaves_nothing),
        CASE(a_header_that_is_late_ends_its_connection),
        CASE(a_drain_ends_those_that_wait),
        CASE(without_memory_one_connection_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
