/*
 * test_server_timeouts.c - a server in C against clients that are slow or say nothing: the time of
 * a head, of a body, of an idle connection and of a response. The settings are tens of
 * milliseconds. What must not happen yet is asked of the server, not waited for.
 */
#include <sys/socket.h>
#include <time.h>

#include "os/clock.h"
#include "support/world.h"

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static void a_head_that_does_not_arrive_in_time_is_408(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 60;
    nb_test_world_open(w, 1);
    int64_t start = nb_clock_monotonic_ns();
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "GET / HTTP/1.1\r\nHost"));
    nb_test_world_expect(w, c, 408, NULL);
    assert_true(nb_test_since_ms(start) >= 59);
    assert_false(w->response.keep_alive);
    assert_int_equal(1, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

/* The time is for the whole head: a byte now and then buys none. */
static void bytes_that_trickle_do_not_extend_the_time_of_a_head(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 80;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    unsigned sent = 0;
    assert_true(nb_test_send_text(c, "GET / HTTP/1.1\r\nX: "));
    while (!nb_test_readable(c, 5) && sent < 2000 && nb_test_send_text(c, "x"))
        sent++;
    assert_true(sent < 2000);
    nb_test_world_expect(w, c, 408, NULL);
    nb_test_world_close(w);
}

static void a_client_that_never_says_anything_is_closed_without_a_word(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 40;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    size_t dropped;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    nb_test_world_close(w);
}

/* Old clients send CRLF behind a body (RFC 9112 section 2.2). */
static void empty_lines_behind_a_request_begin_no_head(void **state) {
    static const char *const texts[] = {"", "\r\n", "\r", "\n\r\n", NULL};
    nb_test_world *w = *state;
    w->config.header_timeout_ms = 40;
    w->config.idle_timeout_ms = 300;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    size_t dropped;
    for (unsigned i = 0; texts[i]; i++) {
        if (i < 3) {
            assert_true(nb_test_post(c, "/echo", 3, false));
            nb_test_world_expect(w, c, 200, NULL);
        }
        assert_true(nb_test_send_text(c, texts[i]));
    }
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    assert_int_equal(0, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

static void a_drain_does_not_wait_behind_empty_lines(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    nb_test_world_expect_hello(w, c);
    assert_true(nb_test_send_text(c, "\r\n\r"));
    nb_test_world_settle(w);
    nb_server_drain(w->server);
    size_t dropped;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    nb_test_world_close(w);
}

static void an_idle_connection_ends_after_its_time_and_no_sooner(void **state) {
    nb_test_world *w = *state;
    w->config.idle_timeout_ms = 300;
    nb_test_world_open(w, 1);
    nb_test_client *c;
    int64_t start;
    unsigned asked = 0;
    do { /* again, if this thread stood still for longer than it may be idle */
        c = nb_test_world_client(w);
        for (asked = 0; asked < 3; asked++) {
            start = nb_clock_monotonic_ns();
            if (!nb_test_get(c, "/hello") || !nb_test_read(c, "GET", &w->response)) break;
            assert_true(nb_test_body_is(&w->response, "hello"));
        }
    } while (asked < 3 && nb_test_since_ms(start) > 100);
    assert_int_equal(3, asked);
    size_t dropped;
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(c, &dropped));
    assert_int_equal(0, dropped);
    assert_true(nb_test_since_ms(start) >= 250);
    assert_int_equal(0, nb_test_world_counters(w).timed_out);
    nb_test_world_close(w);
}

/* A client whose request has reached the executor. Whoever stands still for longer than a head may
   take connects again. */
static nb_test_client *asked_in_time(nb_test_world *w, const char *path) {
    for (;;) {
        nb_test_client *c = nb_test_world_client(w);
        if (!nb_test_get(c, path)) continue;
        while (!nb_test_readable(c, 1)) {
            if (nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED) > 0) return c;
        }
    }
}

static void no_timeout_runs_while_the_application_works(void **state) {
    nb_test_world *w = *state;
    w->config.header_timeout_ms = w->config.body_timeout_ms = w->config.idle_timeout_ms = 30;
    nb_test_world_open(w, 1);
    nb_test_client *c = asked_in_time(w, "/hold");
    assert_false(nb_test_readable(c, 120));
    nb_test_executor_release(w->executors[0]);
    nb_test_world_expect(w, c, 200, "held");
    nb_test_world_close(w);
}

static void a_body_that_stands_still_is_408(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 60;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_client(w);
    assert_true(nb_test_send_text(c, "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc"));
    nb_test_world_expect(w, c, 408, NULL);
    assert_int_equal(0, nb_test_executor_count(w->executors[0], NB_TEST_RECEIVED));
    nb_test_world_close(w);
}

/* Sends a body in parts of so many bytes, until it is answered. Returns the longest time between
   two of them, or since the last. */
static int64_t drip_body(nb_test_world *w, nb_test_client *c, size_t bytes) {
    const char part[60] = {0};
    int64_t last = nb_clock_monotonic_ns(), longest_ms = 0;
    bool answered = false;
    assert_true(nb_test_send_text(c, "POST /hello HTTP/1.1\r\nHost: test\r\nContent-Length: 1200\r\n\r\n"));
    for (unsigned i = 0; i < 20 && !answered; i++) {
        answered = nb_test_readable(c, 12) || !nb_test_send(c, part, bytes);
        if (nb_test_since_ms(last) > longest_ms) longest_ms = nb_test_since_ms(last);
        last = nb_clock_monotonic_ns();
    }
    assert_true(nb_test_read(c, "POST", &w->response));
    return longest_ms;
}

static void a_body_that_moves_too_slowly_is_408_and_one_at_the_rate_is_not(void **state) {
    nb_test_world *w = *state;
    int64_t longest_ms;
    w->config.body_timeout_ms = 100;
    w->config.rate_min = 1000; /* 100 bytes a window */
    nb_test_world_open(w, 1);
    do { /* again, if this thread stood still: then it was too slow */
        longest_ms = drip_body(w, nb_test_world_client(w), 60);
    } while (w->response.status == 408 && longest_ms > 30);
    assert_int_equal(200, w->response.status);
    drip_body(w, nb_test_world_client(w), 3);
    assert_int_equal(408, w->response.status);
    nb_test_world_close(w);
}

static void a_reader_that_takes_nothing_is_cut_off(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 80;
    nb_test_world_open(w, 1);
    nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 4096));
    assert_true(nb_test_get(c, "/big/50000000"));
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    assert_int_equal(1, nb_test_world_counters(w).timed_out);
    assert_int_equal(NB_TEST_END_RESET, nb_test_read_end(c, NULL));
    nb_test_world_close(w);
}

/* For a second, which is three windows. Tells whether it was cut off, and the longest time between
   two reads. */
static bool read_slowly(nb_test_client *c, int64_t *longest_ms) {
    char block[32768];
    int64_t start = nb_clock_monotonic_ns(), last = start;
    *longest_ms = 0;
    while (nb_test_since_ms(start) < 1000) {
        const struct timespec pause = {0, 5000000};
        bool cut = recv(c->fd, block, sizeof block, 0) <= 0;
        if (nb_test_since_ms(last) > *longest_ms) *longest_ms = nb_test_since_ms(last);
        last = nb_clock_monotonic_ns();
        if (cut) return true;
        nanosleep(&pause, NULL); /* the reader is slow: that is the subject */
    }
    return false;
}

/* A socket buffer of megabytes takes nothing for many windows while a steady reader empties it:
   what it took counts. */
static void a_slow_reader_that_reads_on_is_not_cut_off(void **state) {
    nb_test_world *w = *state;
    w->config.body_timeout_ms = 300;
    w->config.rate_min = 2000; /* 600 bytes a window */
    nb_test_world_open(w, 1);
    int64_t longest_ms;
    bool cut;
    do { /* again, if this thread stood still: then it did not read on */
        nb_test_client *c = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 65536));
        assert_true(nb_test_get(c, "/big/12000000"));
        cut = read_slowly(c, &longest_ms);
        nb_test_client_reset(c);
    } while (cut && longest_ms > 100);
    assert_false(cut);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_head_that_does_not_arrive_in_time_is_408),
        CASE(bytes_that_trickle_do_not_extend_the_time_of_a_head),
        CASE(a_client_that_never_says_anything_is_closed_without_a_word),
        CASE(empty_lines_behind_a_request_begin_no_head),
        CASE(a_drain_does_not_wait_behind_empty_lines),
        CASE(an_idle_connection_ends_after_its_time_and_no_sooner),
        CASE(no_timeout_runs_while_the_application_works),
        CASE(a_body_that_stands_still_is_408),
        CASE(a_body_that_moves_too_slowly_is_408_and_one_at_the_rate_is_not),
        CASE(a_reader_that_takes_nothing_is_cut_off),
        CASE(a_slow_reader_that_reads_on_is_not_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
