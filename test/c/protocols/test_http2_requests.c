/*
 * test_http2_requests.c - requests and responses of HTTP/2 on a whole server, by prior knowledge:
 * side by side, with bodies, as the client's and the server's windows allow.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocols/http2_session.h"
#include "support/http2_client.h"
#include "support/http2_raw.h"
#include "support/world.h"

#ifdef NB_HAVE_HTTP2

static nb_test_h2 h2;
static nb_raw raw;
static nb_raw_frame frame;

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)

static void open_world(nb_test_world *w, unsigned executors, const char *const patterns[], bool by_hand) {
    nb_test_world_open_routed(w, executors, patterns);
    nb_test_h2_begin(&h2, nb_test_world_client(w), by_hand);
}

static void close_world(nb_test_world *w) {
    nb_test_h2_end(&h2);
    nb_test_world_close(w);
}

static const char *const no_routes[] = {NULL};

static void answers_come_in_any_order(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1, no_routes, false);
    int32_t held = nb_test_h2_get(&h2, "/hold"), hello = nb_test_h2_get(&h2, "/hello");
    int32_t empty = nb_test_h2_get(&h2, "/status/204"), hints = nb_test_h2_get(&h2, "/hints/2");
    nb_test_h2_expect(&h2, hello, 200, "hello");
    assert_non_null(strstr(nb_test_h2_of(&h2, hello)->fields, "content-length: 5\n"));
    nb_test_h2_expect(&h2, empty, 204, "");
    assert_null(strstr(nb_test_h2_of(&h2, empty)->fields, "content-length"));
    nb_test_h2_expect(&h2, hints, 200, "hinted");
    assert_int_equal(2, nb_test_h2_of(&h2, hints)->interim);
    assert_int_equal(0, nb_test_h2_of(&h2, held)->status);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, held, 200, "held");
    nb_server_counters stats = nb_test_world_counters(w);
    assert_int_equal(4, stats.requests);
    assert_int_equal(4, stats.responses);
    close_world(w);
}

/* RFC 9110 sections 9.3.2, 15.3.6, 15.4.5. */
static void responses_without_content_have_none(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1, no_routes, false);
    int32_t head = nb_test_h2_request(&h2, "HEAD", "/big/100000", NULL);
    nb_test_h2_expect(&h2, head, 200, "");
    assert_non_null(strstr(nb_test_h2_of(&h2, head)->fields, "content-length: 100000\n"));
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/status/304"), 304, "");
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/status/205"), 205, "");
    nb_test_h2_expect(&h2, nb_test_h2_request(&h2, "OPTIONS", "*", NULL), 200, NULL);
    close_world(w);
}

static void many_streams_leave_side_by_side(void **state) {
    enum { MANY = 20, BYTES = 150000 };
    nb_test_world *w = *state;
    open_world(w, 4, no_routes, false);
    int32_t ids[MANY];
    for (int i = 0; i < MANY; i++)
        ids[i] = nb_test_h2_get(&h2, i % 2 ? "/big/150000" : "/chunked/150000");
    unsigned most = 0;
    for (int i = 0; i < MANY; i++) {
        while (!nb_test_h2_of(&h2, ids[i])->ended) {
            assert_true(nb_test_h2_step(&h2));
            unsigned open = 0;
            for (int k = 0; k < MANY; k++)
                open += nb_test_h2_of(&h2, ids[k])->bytes > 0 && !nb_test_h2_of(&h2, ids[k])->ended;
            if (open > most) most = open;
        }
    }
    assert_true(most >= 3);
    for (int i = 0; i < MANY; i++)
        nb_test_h2_expect_pattern(&h2, ids[i], BYTES);
    close_world(w);
}

/* RFC 9113 section 5.2. */
static void a_response_stops_at_its_window_and_no_other_does(void **state) {
    nb_test_world *w = *state;
    open_world(w, 1, no_routes, true);
    int32_t large = nb_test_h2_get(&h2, "/big/60000");
    nb_test_h2_expect_pattern(&h2, large, 60000); /* the connection's window has 5,535 bytes left */
    int32_t file = nb_test_h2_get(&h2, "/file/100000"), hello = nb_test_h2_get(&h2, "/status/204");
    nb_test_h2_expect(&h2, hello, 204, "");
    while (nb_test_h2_of(&h2, file)->bytes < 5535)
        assert_true(nb_test_h2_step(&h2));
    nb_test_world_settle(w);
    assert_false(nb_test_readable(h2.client, 20));
    nb_test_h2_open_window(&h2, large, 60000);
    while (nb_test_h2_of(&h2, file)->bytes < 65535)
        assert_true(nb_test_h2_step(&h2));
    nb_test_h2_open_window(&h2, file, 65535);
    nb_test_h2_expect_pattern(&h2, file, 100000);
    close_world(w);
}

static void a_small_response_passes_a_large_file(void **state) {
    nb_test_world *w = *state;
    open_world(w, 2, no_routes, false);
    int32_t file = nb_test_h2_get(&h2, "/file/20000000");
    while (nb_test_h2_of(&h2, file)->bytes < 1000000)
        assert_true(nb_test_h2_step(&h2));
    int32_t hello = nb_test_h2_get(&h2, "/hello");
    nb_test_h2_expect(&h2, hello, 200, "hello");
    assert_false(nb_test_h2_of(&h2, file)->ended);
    nb_test_h2_expect_pattern(&h2, file, 20000000);
    close_world(w);
}

/* Bytes that the client reads until the response of a stream begins. */
static uint64_t read_until(nb_test_client *client, uint32_t stream) {
    uint64_t bytes = 0;
    do {
        assert_true(nb_raw_next(client, &frame));
        bytes += frame.size;
    } while (frame.type != NB_RAW_HEADERS || frame.stream != stream);
    return bytes;
}

/* The client's windows are open, and it does not read: the kernel would take megabytes. */
static void a_small_response_waits_behind_few_bytes_of_a_large_one(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 2);
    nb_test_client *client = nb_test_world_adopt(w, nb_test_connect_narrow(w->port, 65536));
    nb_raw_begin_wide(&raw);
    nb_raw_headers(&raw, NB_RAW_WHOLE, 1, (const char *const[]){NB_RAW_GET("/big/50000000"), NULL});
    assert_true(nb_test_send(client, raw.bytes, raw.size));
    usleep(100000); /* the server sends what it can */
    raw.size = 0;
    nb_raw_headers(&raw, NB_RAW_WHOLE, 3, (const char *const[]){NB_RAW_GET("/hello"), NULL});
    assert_true(nb_test_send(client, raw.bytes, raw.size));
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 1);
    nb_test_executor_await(w->executors[1], NB_TEST_RECEIVED, 1);
    nb_test_world_settle(w);
    assert_in_range(read_until(client, 3), 1, 1000000);
    nb_test_world_close(w);
}

/* RFC 9218 sections 4.1, 4.2, 5. */
static void an_urgent_response_comes_first(void **state) {
    enum { BYTES = 3000000 };
    static const char *const late[] = {"priority", "u=6, i", NULL}, *const urgent[] = {"priority", "u=1", NULL};
    nb_test_world *w = *state;
    open_world(w, 2, no_routes, false);
    int32_t first = nb_test_h2_request(&h2, "GET", "/file/3000000", late);
    while (nb_test_h2_of(&h2, first)->bytes < 100000)
        assert_true(nb_test_h2_step(&h2));
    int32_t ids[] = {nb_test_h2_request(&h2, "GET", "/file/3000000", late),
                     nb_test_h2_request(&h2, "GET", "/file/3000000", urgent)};
    nb_test_h2_expect_pattern(&h2, ids[1], BYTES);
    assert_false(nb_test_h2_of(&h2, first)->ended || nb_test_h2_of(&h2, ids[0])->ended);
    nb_test_h2_expect_pattern(&h2, first, BYTES);
    nb_test_h2_expect_pattern(&h2, ids[0], BYTES);
    close_world(w);
}

/* Each algorithm, from the loop and from file workers. */
static void files_leave_in_frames(void **state) {
    nb_test_world *w = *state;
    for (uint32_t algorithm = 1; algorithm <= 4; algorithm++) {
        nb_test_world_init(w);
        w->config.sendfile_algorithm = algorithm;
        open_world(w, 2, no_routes, false);
        int32_t ids[5];
        for (int i = 0; i < 5; i++)
            ids[i] = nb_test_h2_get(&h2, "/file/200001");
        for (int i = 0; i < 5; i++)
            nb_test_h2_expect_pattern(&h2, ids[i], 200001);
        close_world(w);
    }
}

static void bodies_are_collected_side_by_side(void **state) {
    enum { BYTES = 700000 }; /* more than a window, and more than memory takes */
    nb_test_world *w = *state;
    open_world(w, 2, no_routes, false);
    int32_t ids[5];
    for (int i = 0; i < 5; i++)
        ids[i] = nb_test_h2_post(&h2, "/echo", BYTES, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    for (int i = 0; i < 5; i++)
        nb_test_h2_expect_pattern(&h2, ids[i], BYTES);
    nb_test_h2_expect(&h2, nb_test_h2_post(&h2, "/echo", 0, NULL), 200, "");
    close_world(w);
}

static void bodies_are_passed_on(void **state) {
    enum { BYTES = 1500000 };
    nb_test_world *w = *state;
    w->route.stream_input = true;
    open_world(w, 2, (const char *const[]){"/count", "/slow", "/duplex", NULL}, false);
    int32_t ids[6];
    for (int i = 0; i < 6; i++)
        ids[i] = nb_test_h2_post(&h2, i % 2 ? "/duplex" : "/count", BYTES, NULL);
    for (int i = 0; i < 6; i++) {
        if (i % 2) nb_test_h2_expect_pattern(&h2, ids[i], BYTES);
        if (i % 2 == 0) nb_test_h2_expect(&h2, ids[i], 200, "1500000 good");
    }
    nb_test_h2_expect(&h2, nb_test_h2_post(&h2, "/count", 0, NULL), 200, "0 good");
    close_world(w);
}

/* The client is held back by its stream's window; another request goes on. */
static void an_application_that_reads_nothing_holds_its_client_back(void **state) {
    enum { BYTES = 1000000 };
    nb_test_world *w = *state;
    w->route.stream_input = true;
    open_world(w, 1, (const char *const[]){"/slow", NULL}, false);
    int32_t slow = nb_test_h2_post(&h2, "/slow", BYTES, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    for (int i = 0; i < 20; i++)
        nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/hello"), 200, "hello");
    uint64_t sent = nb_test_h2_of(&h2, slow)->sent;
    assert_true(sent < NB_INPUT_WINDOW_BYTES + NB_HTTP2_STREAM_WINDOW_BYTES + 1);
    nb_test_executor_release(w->executors[0]);
    nb_test_h2_expect(&h2, slow, 200, "1000000 good");
    close_world(w);
}

/* The window of the connection is used up by bodies that nobody reads. That is not the fault of a
 * client whose next body cannot come, however long it takes. */
static void uploads_that_hold_the_window_make_others_wait(void **state) {
    enum { SLOW = 6, BYTES = 400000 };
    nb_test_world *w = *state;
    w->route.stream_input = true;
    w->config.body_timeout_ms = 100;
    open_world(w, 1, (const char *const[]){"/slow", "/count", NULL}, false);
    int32_t ids[SLOW + 1];
    for (int i = 0; i <= SLOW; i++) {
        ids[i] = nb_test_h2_post(&h2, i < SLOW ? "/slow" : "/count", BYTES, NULL);
        nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/status/204"), 204, "");
    }
    usleep(400000); /* a few times body_timeout_ms */
    assert_true(nb_test_h2_of(&h2, ids[SLOW])->left > 0);
    nb_test_executor_release(w->executors[0]);
    for (int i = 0; i <= SLOW; i++)
        nb_test_h2_expect(&h2, ids[i], 200, "400000 good");
    close_world(w);
}

/* RFC 9110 section 10.1.1. */
static void a_client_that_expects_100_gets_it(void **state) {
    static const char *const expect[] = {"expect", "100-continue", NULL};
    nb_test_world *w = *state;
    w->route.stream_input = true;
    open_world(w, 1, (const char *const[]){"/count", "/silent", NULL}, false);
    const char *paths[] = {"/echo", "/count"};
    for (int i = 0; i < 2; i++) {
        int32_t id = nb_test_h2_post(&h2, paths[i], 1000, expect);
        nb_test_h2_pause(&h2, id, 0);
        while (!nb_test_h2_of(&h2, id)->interim)
            assert_true(nb_test_h2_step(&h2));
        nb_test_h2_go_on(&h2, id);
        nb_test_h2_expect(&h2, id, 200, NULL);
    }
    static const char *const other[] = {"expect", "more", NULL};
    nb_test_h2_expect(&h2, nb_test_h2_post(&h2, "/echo", 1000, other), 417, NULL);
    close_world(w);
}

/* The rest of the body is not wanted (RFC 9113 section 8.1). */
static void an_early_answer_ends_the_upload(void **state) {
    nb_test_world *w = *state;
    w->route.stream_input = true;
    w->config.body_bytes_max = 100000;
    open_world(w, 1, (const char *const[]){"/hello", NULL}, false);
    int32_t early = nb_test_h2_post(&h2, "/hello", 90000, NULL);
    nb_test_h2_pause(&h2, early, 1000);
    nb_test_h2_expect(&h2, early, 200, "hello");
    while (!nb_test_h2_of(&h2, early)->reset)
        assert_true(nb_test_h2_step(&h2));
    assert_int_equal(NGHTTP2_NO_ERROR, nb_test_h2_of(&h2, early)->error_code);
    int32_t large = nb_test_h2_post(&h2, "/echo", 100001, NULL); /* its length is not known */
    nb_test_h2_expect(&h2, large, 413, NULL);
    static const char *const length[] = {"content-length", "100001", NULL};
    int32_t known = nb_test_h2_post(&h2, "/echo", 100001, length);
    nb_test_h2_pause(&h2, known, 1);
    nb_test_h2_expect(&h2, known, 413, NULL);
    nb_test_h2_expect(&h2, nb_test_h2_get(&h2, "/status/204"), 204, "");
    close_world(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(answers_come_in_any_order),
        CASE(responses_without_content_have_none),
        CASE(many_streams_leave_side_by_side),
        CASE(a_response_stops_at_its_window_and_no_other_does),
        CASE(a_small_response_passes_a_large_file),
        CASE(a_small_response_waits_behind_few_bytes_of_a_large_one),
        CASE(an_urgent_response_comes_first),
        CASE(files_leave_in_frames),
        CASE(bodies_are_collected_side_by_side),
        CASE(bodies_are_passed_on),
        CASE(an_application_that_reads_nothing_holds_its_client_back),
        CASE(uploads_that_hold_the_window_make_others_wait),
        CASE(a_client_that_expects_100_gets_it),
        CASE(an_early_answer_ends_the_upload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
