/*
 * test_framed_protocol.c - a second protocol (support/framed_protocol.h) on a whole server. Its
 * streams run side by side on one connection, through the same queue, senders, limits and figures
 * as requests of HTTP/1.1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "support/framed_protocol.h"
#include "support/world.h"

#define STREAMS 64

/* What a client has received of one stream. */
typedef struct answer {
    uint16_t status;
    unsigned interim;
    char *body;
    size_t bytes;
    uint64_t taken; /* of the body of the request, as WINDOW says */
    bool ended, reset;
} answer;

typedef struct fixture {
    nb_test_world world;
    nb_test_client *client;
    answer responses[STREAMS];
    char order[STREAMS * 4]; /* streams, in the order of their ends */
    uint16_t last;           /* stream of the last frame */
} fixture;

static fixture f;

static int setup(void **state) {
    memset(&f, 0, sizeof f);
    nb_test_world_init(&f.world);
    f.world.config.protocol = &nb_test_framed;
    *state = &f.world;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void open_world(unsigned executors, const char *const patterns[]) {
    nb_test_world_open_routed(&f.world, executors, patterns);
    f.client = nb_test_world_client(&f.world);
}

static void close_world(void) {
    for (int i = 0; i < STREAMS; i++)
        free(f.responses[i].body);
    nb_test_world_close(&f.world);
}

static void send_frame(uint16_t stream, uint8_t kind, uint8_t flags, const void *bytes, size_t size) {
    nb_test_frame frame = {(uint32_t)size, stream, kind, flags};
    assert_true(nb_test_send(f.client, (const char *)&frame, sizeof frame));
    if (size) assert_true(nb_test_send(f.client, bytes, size));
}

static void get(uint16_t stream, const char *path) {
    char text[256];
    int size = snprintf(text, sizeof text, "GET %s", path);
    send_frame(stream, NB_TEST_FRAME_REQUEST, NB_TEST_FRAME_END, text, (size_t)size);
}

static void post(uint16_t stream, const char *path) {
    char text[256];
    int size = snprintf(text, sizeof text, "POST %s", path);
    send_frame(stream, NB_TEST_FRAME_REQUEST, 0, text, (size_t)size);
}

/* Sends bytes of the pattern from `at` on. */
static void send_pattern(uint16_t stream, uint64_t at, size_t size, bool last) {
    char bytes[NB_TEST_FRAME_BYTES_MAX];
    assert_true(size <= sizeof bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = nb_test_pattern(at + i);
    send_frame(stream, NB_TEST_FRAME_DATA, last ? NB_TEST_FRAME_END : 0, bytes, size);
}

static void open_window(uint16_t stream, uint32_t bytes) {
    send_frame(stream, NB_TEST_FRAME_WINDOW, 0, &bytes, sizeof bytes);
}

static void receive(void *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        assert_true(nb_test_readable(f.client, NB_TEST_PATIENCE_MS));
        ssize_t got = recv(f.client->fd, (char *)bytes + at, size - at, 0);
        assert_true(got > 0);
        at += (size_t)got;
    }
}

/* Takes one frame. */
static void take_frame(void) {
    static char bytes[1u << 20];
    nb_test_frame frame;
    receive(&frame, sizeof frame);
    assert_true(frame.bytes <= sizeof bytes && frame.stream < STREAMS);
    receive(bytes, frame.bytes);
    answer *a = &f.responses[frame.stream];
    f.last = frame.stream;
    assert_false(a->ended || a->reset);
    switch (frame.kind) {
    case NB_TEST_FRAME_HEAD:
        assert_int_equal(0, a->status);
        memcpy(&a->status, bytes, sizeof a->status);
        break;
    case NB_TEST_FRAME_INTERIM:
        a->interim++;
        break;
    case NB_TEST_FRAME_DATA:
        assert_true(frame.bytes <= NB_TEST_FRAME_BYTES_MAX && a->status);
        a->body = realloc(a->body, a->bytes + frame.bytes + 1);
        memcpy(a->body + a->bytes, bytes, frame.bytes);
        a->bytes += frame.bytes;
        break;
    case NB_TEST_FRAME_WINDOW:
        a->taken += *(uint32_t *)(void *)bytes;
        return;
    case NB_TEST_FRAME_RESET:
        a->reset = true;
        break;
    default:
        fail_msg("kind %u", frame.kind);
    }
    if (frame.flags & NB_TEST_FRAME_END) a->ended = true;
    if (a->ended || a->reset) f.order[strlen(f.order)] = (char)('a' + frame.stream);
}

static answer *await(uint16_t stream) {
    while (!f.responses[stream].ended && !f.responses[stream].reset)
        take_frame();
    return &f.responses[stream];
}

static void expect(uint16_t stream, uint16_t status, const char *body) {
    answer *a = await(stream);
    assert_int_equal(status, a->status);
    assert_true(a->ended);
    if (body) {
        assert_int_equal(strlen(body), a->bytes);
        assert_memory_equal(body, a->body, a->bytes);
    }
}

static void expect_pattern(uint16_t stream, size_t bytes) {
    answer *a = await(stream);
    assert_int_equal(200, a->status);
    assert_int_equal(bytes, a->bytes);
    for (size_t i = 0; i < bytes; i++)
        if (a->body[i] != nb_test_pattern(i)) fail_msg("byte %zu of stream %u", i, stream);
}

static void answers_come_in_any_order(void **state) {
    nb_test_world *w = *state;
    open_world(1, (const char *const[]){NULL});
    get(1, "/hold");
    get(2, "/hello");
    get(3, "/status/204");
    get(4, "/hints/2");
    expect(2, 200, "hello");
    expect(3, 204, "");
    expect(4, 200, "hinted");
    assert_int_equal(2, f.responses[4].interim);
    assert_int_equal(0, f.responses[1].status);
    nb_test_executor_release(w->executors[0]);
    expect(1, 200, "held");
    nb_server_counters stats = nb_test_world_counters(w);
    assert_int_equal(4, stats.requests);
    assert_int_equal(4, stats.responses);
    close_world();
}

static void many_streams_leave_side_by_side(void **state) {
    (void)state;
    enum { MANY = 20, BYTES = 150000 };
    open_world(4, (const char *const[]){NULL});
    for (uint16_t i = 0; i < MANY; i++) {
        get(i, i % 2 ? "/big/150000" : "/chunked/150000");
        open_window(i, BYTES);
    }
    bool begun_together = false;
    for (uint16_t i = 0; i < MANY; i++) {
        while (!f.responses[i].ended) {
            take_frame();
            unsigned open = 0;
            for (uint16_t k = 0; k < MANY; k++)
                open += f.responses[k].bytes > 0 && !f.responses[k].ended;
            begun_together = begun_together || open >= 3;
        }
    }
    assert_true(begun_together);
    for (uint16_t i = 0; i < MANY; i++)
        expect_pattern(i, BYTES);
    close_world();
}

static void a_stream_stops_at_its_window_and_no_other_does(void **state) {
    (void)state;
    open_world(1, (const char *const[]){NULL});
    get(1, "/big/200000");
    get(2, "/file/100000");
    while (f.responses[1].bytes < NB_TEST_FRAMED_WINDOW || f.responses[2].bytes < NB_TEST_FRAMED_WINDOW)
        take_frame();
    get(3, "/hello");
    expect(3, 200, "hello");
    assert_int_equal(NB_TEST_FRAMED_WINDOW, f.responses[1].bytes);
    assert_int_equal(NB_TEST_FRAMED_WINDOW, f.responses[2].bytes);
    open_window(2, 100000);
    expect_pattern(2, 100000);
    for (int i = 0; i < 20; i++)
        open_window(1, 7001);
    expect_pattern(1, 200000);
    close_world();
}

/* Files are sent by the senders, like those of HTTP/1.1: each algorithm, from the loop and from
 * file workers. */
static void files_leave_in_frames(void **state) {
    (void)state;
    static const uint16_t streams = 5;
    for (uint32_t algorithm = 1; algorithm <= 4; algorithm++) {
        setup(state);
        f.world.config.sendfile_algorithm = algorithm;
        open_world(2, (const char *const[]){NULL});
        for (uint16_t i = 0; i < streams; i++) {
            get(i, "/file/200001");
            open_window(i, 200000);
        }
        for (uint16_t i = 0; i < streams; i++)
            expect_pattern(i, 200001);
        close_world();
    }
}

static void bodies_are_collected_side_by_side(void **state) {
    (void)state;
    enum { BYTES = 200000, STEP = 10000 };
    open_world(2, (const char *const[]){NULL});
    for (uint16_t i = 0; i < 5; i++)
        post(i, "/echo");
    for (size_t at = 0; at < BYTES; at += STEP)
        for (uint16_t i = 0; i < 5; i++)
            send_pattern(i, at, STEP, at + STEP == BYTES);
    get(5, "/hello");
    expect(5, 200, "hello");
    for (uint16_t i = 0; i < 5; i++) {
        open_window(i, BYTES);
        expect_pattern(i, BYTES);
    }
    close_world();
}

static void bodies_are_passed_on_and_the_client_is_told_what_was_taken(void **state) {
    (void)state;
    enum { BYTES = 400000, STEP = 8000 };
    f.world.route.stream_input = true;
    open_world(2, (const char *const[]){"/count", NULL});
    uint64_t at[3] = {0};
    for (uint16_t i = 0; i < 3; i++)
        post(i, "/count");
    for (bool more = true; more;) {
        more = false;
        for (uint16_t i = 0; i < 3; i++) {
            if (at[i] == BYTES) continue;
            more = true;
            while (at[i] + STEP > f.responses[i].taken + NB_INPUT_WINDOW_BYTES)
                take_frame();
            send_pattern(i, at[i], STEP, at[i] + STEP == BYTES);
            at[i] += STEP;
        }
    }
    for (uint16_t i = 0; i < 3; i++)
        expect(i, 200, "400000 good");
    close_world();
}

static void a_stream_that_is_reset_ends_alone(void **state) {
    nb_test_world *w = *state;
    open_world(1, (const char *const[]){NULL});
    get(1, "/never");
    get(2, "/hold");
    nb_test_executor_await(w->executors[0], NB_TEST_RECEIVED, 2);
    send_frame(1, NB_TEST_FRAME_RESET, 0, NULL, 0);
    nb_test_executor_await(w->executors[0], NB_TEST_GONE, 1);
    nb_test_executor_release(w->executors[0]);
    expect(2, 200, "held");
    get(3, "/abort"); /* the server's reset */
    assert_true(await(3)->reset);
    get(4, "/hello");
    expect(4, 200, "hello");
    close_world();
}

static void what_finds_no_room_is_refused_by_itself(void **state) {
    nb_test_world *w = *state;
    f.world.config.queue_max = 2;
    f.world.options.credit = 1;
    open_world(1, (const char *const[]){NULL});
    get(1, "/block");
    nb_test_executor_await(w->executors[0], NB_TEST_BLOCKED, 1);
    for (uint16_t i = 2; i < 10; i++)
        get(i, "/hello");
    unsigned refused = 0, served = 0;
    while (f.responses[9].status == 0)
        take_frame();
    nb_test_executor_unblock(w->executors[0]);
    for (uint16_t i = 1; i < 10; i++) {
        answer *a = await(i);
        refused += a->status == 503;
        served += a->status == 200;
    }
    assert_int_equal(9, refused + served);
    assert_true(refused > 0 && served >= 2);
    assert_int_equal(refused, nb_test_world_counters(w).shed);
    close_world();
}

static void a_client_that_finishes_gets_all_its_answers(void **state) {
    nb_test_world *w = *state;
    open_world(1, (const char *const[]){NULL});
    get(1, "/hold");
    get(2, "/big/50000");
    nb_test_client_finish(f.client);
    expect_pattern(2, 50000);
    nb_test_executor_release(w->executors[0]);
    expect(1, 200, "held");
    assert_int_equal(NB_TEST_END_FIN, nb_test_read_end(f.client, NULL));
    close_world();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(answers_come_in_any_order),
        CASE(many_streams_leave_side_by_side),
        CASE(a_stream_stops_at_its_window_and_no_other_does),
        CASE(files_leave_in_frames),
        CASE(bodies_are_collected_side_by_side),
        CASE(bodies_are_passed_on_and_the_client_is_told_what_was_taken),
        CASE(a_stream_that_is_reset_ends_alone),
        CASE(what_finds_no_room_is_refused_by_itself),
        CASE(a_client_that_finishes_gets_all_its_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
