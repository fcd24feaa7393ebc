/*
 * test_http2_order.c - whose content comes first (RFC 9218): the field of requests and
 * PRIORITY_UPDATE, seen by the order of frames when a window opens that was shut.
 */
#include <stdio.h>
#include <string.h>

#include "support/http2_client.h"
#include "support/http2_raw.h"
#include "support/world.h"

#ifdef NB_HAVE_HTTP2

#define CASE(name) cmocka_unit_test_setup(name, nb_test_world_setup)
#define PRIORITY_UPDATE 0x10

/* Of each response: three frames. */
enum { FILE_BYTES = 40000, WINDOW_BYTES = 65535 };

static nb_raw raw;
static nb_raw_frame frame;
static nb_test_client *client;
static uint32_t next_stream;

static void send_raw(void) {
    assert_true(nb_test_send(client, raw.bytes, raw.size));
    raw.size = 0;
}

/* field: NULL: none. */
static uint32_t ask(const char *path, const char *field) {
    uint32_t stream = next_stream;
    next_stream += 2;
    const char *const fields[] = {
        ":method", "GET", ":scheme", "http", ":authority", "test", ":path", path, field ? "priority" : NULL,
        field,     NULL};
    nb_raw_headers(&raw, NB_RAW_WHOLE, stream, fields);
    return stream;
}

static void update_by(const char *value, size_t bytes, uint32_t stream) {
    char payload[300] = {(char)(stream >> 24), (char)(stream >> 16), (char)(stream >> 8), (char)stream};
    memcpy(payload + 4, value, bytes);
    nb_raw_add(&raw, PRIORITY_UPDATE, 0, 0, payload, 4 + bytes);
}

static void update(uint32_t stream, const char *value) { update_by(value, strlen(value), stream); }

/* A client whose first response has used up its connection's window. */
static void begin(nb_test_world *w) {
    nb_test_world_open(w, 1);
    client = nb_test_world_client(w);
    nb_raw_begin(&raw);
    next_stream = 1;
    (void)ask("/file/65535", NULL);
    send_raw();
    for (uint32_t bytes = 0; bytes < WINDOW_BYTES; bytes += frame.size)
        assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
}

/* Sends the requests, waits for their heads, opens the window, and takes the content: the streams
 * of its frames, in `order`. Returns how many. */
static unsigned take_all(unsigned requests, uint32_t order[]) {
    unsigned frames = 0;
    send_raw();
    for (unsigned i = 0; i < requests; i++)
        assert_true(nb_raw_await(client, NB_RAW_HEADERS, &frame));
    nb_raw_add(&raw, NB_RAW_WINDOW_UPDATE, 0, 0, "\0\x10\0\0", 4);
    send_raw();
    for (unsigned ended = 0; ended < requests; ended += (frame.flags & NB_RAW_END_STREAM) != 0) {
        assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
        order[frames++] = frame.stream;
    }
    return frames;
}

static void expect_order(const uint32_t expected[], unsigned requests) {
    uint32_t order[64];
    unsigned frames = take_all(requests, order), at = 0;
    for (unsigned i = 0; i < requests; i++) {
        if (order[at] != expected[i]) fail_msg("place %u has stream %u, not %u", i, order[at], expected[i]);
        while (at < frames && order[at] == expected[i])
            at++;
    }
    assert_int_equal(frames, at);
}

#define EXPECT_ORDER(...)                                             \
    do {                                                              \
        const uint32_t expected[] = {__VA_ARGS__};                    \
        expect_order(expected, sizeof(expected) / sizeof(*expected)); \
    } while (0)

static uint32_t file(const char *field) { return ask("/file/40000", field); }

/* --- sections 4.1, 4.2, 10 --- */

static void urgent_content_comes_first(void **state) {
    begin(*state);
    uint32_t last = file("u=7"), usual = file("u=3"), second = file("u=1"), third = file("u=1"), first = file("u=0");
    EXPECT_ORDER(first, second, third, usual, last);
    nb_test_world_close(*state);
}

static void incremental_streams_take_turns(void **state) {
    begin(*state);
    uint32_t late = file("u=4"), one = file("u=2, i"), other = file("u=2, i"), order[64];
    unsigned frames = take_all(3, order), turns = 0;
    for (unsigned i = 1; i < frames; i++) {
        if (order[i - 1] != order[i]) turns++;
        if (order[i] == one || order[i] == other) assert_int_not_equal(late, order[i - 1]);
    }
    assert_true(turns > 2);
    nb_test_world_close(*state);
}

/* As the server has decided for clients that say nothing, and for those that say it wrong. */
static void without_a_valid_field_streams_take_turns(void **state) {
    static const char *const fields[] = {NULL, "u=", "u=9, i=2", "u=1,", "i=?2"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        (void)nb_test_world_setup(state);
        begin(*state);
        bool known = fields[i] && strcmp(fields[i], "u=9, i=2") == 0; /* valid: both are ignored */
        (void)file(fields[i]), (void)file(fields[i]);
        uint32_t order[64];
        unsigned frames = take_all(2, order), turns = 0;
        for (unsigned k = 1; k < frames; k++)
            turns += order[k - 1] != order[k];
        if (known ? turns != 1 : turns < 2) fail_msg("%s: %u turns", fields[i] ? fields[i] : "none", turns);
        nb_test_world_close(*state);
    }
}

/* A stream whose own window is shut keeps nobody waiting. */
static void a_stream_without_a_window_is_not_waited_for(void **state) {
    begin(*state);
    uint32_t urgent = ask("/file/100000", "u=0"), late = file("u=5");
    send_raw();
    for (int i = 0; i < 2; i++)
        assert_true(nb_raw_await(client, NB_RAW_HEADERS, &frame));
    nb_raw_add(&raw, NB_RAW_WINDOW_UPDATE, 0, 0, "\0\x10\0\0", 4);
    send_raw();
    uint32_t of_urgent = 0;
    while (!(frame.stream == late && (frame.flags & NB_RAW_END_STREAM))) {
        assert_true(nb_raw_await(client, NB_RAW_DATA, &frame));
        if (frame.stream == urgent) of_urgent += frame.size;
        if (frame.stream == late) assert_int_equal(WINDOW_BYTES, of_urgent);
    }
    nb_test_world_close(*state);
}

/* --- section 7.1 --- */

static void an_update_changes_what_the_request_said(void **state) {
    begin(*state);
    uint32_t was_first = file("u=1"), becomes_first = file("u=6"), between = file("u=3");
    update(was_first, "u=7");
    update(becomes_first, "u=5");
    update(becomes_first, "u=0");
    update(between, "u=0, i=nonsense(");
    EXPECT_ORDER(becomes_first, between, was_first);
    nb_test_world_close(*state);
}

/* It is newer than the field: a client sends its request's field when it makes the request. */
static void an_update_may_come_before_its_request(void **state) {
    begin(*state);
    update(next_stream + 2, "u=0");
    update(next_stream + 2, "u=1");
    uint32_t late = file("u=2"), urgent = file("u=6");
    EXPECT_ORDER(urgent, late);
    nb_test_world_close(*state);
}

static void updates_of_what_is_not_there_are_dropped(void **state) {
    static char most[200];
    begin(*state);
    memset(most, ' ', sizeof most);
    memcpy(most, "u=0", 3);
    update(1, "u=0"); /* it is closed soon */
    for (uint32_t stream = 1001; stream < 1101; stream += 2)
        update(stream, "u=0");
    uint32_t late = file("u=5"), urgent = file("u=3");
    update_by(most, sizeof most, late); /* too long to be kept */
    EXPECT_ORDER(urgent, late);
    nb_test_world_close(*state);
}

static void an_update_that_is_no_update_ends_the_connection(void **state) {
    static const struct {
        uint32_t stream, code;
        const char *payload;
        size_t bytes;
    } cases[] = {
        {0, NGHTTP2_PROTOCOL_ERROR, "\0\0\0\0u=1", 7}, {0, NGHTTP2_PROTOCOL_ERROR, "\0\0\0\2u=1", 7},
        {1, NGHTTP2_PROTOCOL_ERROR, "\0\0\0\1u=1", 7}, {0, NGHTTP2_FRAME_SIZE_ERROR, "\0\0\0", 3},
        {0, NGHTTP2_FRAME_SIZE_ERROR, "", 0},
    };
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client = nb_test_world_client(w);
        nb_raw_begin(&raw);
        nb_raw_add(&raw, PRIORITY_UPDATE, 0, cases[i].stream, cases[i].payload, cases[i].bytes);
        send_raw();
        assert_true(nb_raw_await(client, NB_RAW_GOAWAY, &frame));
        if (nb_raw_code(&frame) != cases[i].code) fail_msg("case %zu: %u", i, nb_raw_code(&frame));
    }
    nb_test_world_close(w);
}

/* Section 2.1: in the first frame, and nothing that is not registered. */
static void the_first_settings_say_that_rfc_7540_does_not_count(void **state) {
    nb_test_world *w = *state;
    nb_test_world_open(w, 1);
    client = nb_test_world_client(w);
    nb_raw_begin(&raw);
    send_raw();
    assert_true(nb_raw_next(client, &frame));
    assert_int_equal(NB_RAW_SETTINGS, frame.type);
    bool said = false;
    for (uint32_t at = 0; at + 6 <= frame.size; at += 6) {
        assert_int_equal(0, frame.bytes[at]);
        assert_true(frame.bytes[at + 1] <= 9);
        said = said || (frame.bytes[at + 1] == 9 && memcmp(frame.bytes + at + 2, "\0\0\0\1", 4) == 0);
    }
    assert_true(said);
    nb_test_world_close(w);
}

/* --- all of it --- */

static unsigned random_state;

static unsigned random_below(unsigned count) {
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 16) % count;
}

/* Whatever is said of their order, and when: all end. */
static void all_streams_end(void **state) {
    enum { MANY = 60 };
    static const char *const paths[] = {"/file/70001", "/big/30000", "/chunked/50000", "/file/1", "/hello"};
    static nb_test_h2 h2;
    nb_test_world *w = *state;
    nb_test_world_open(w, 4);
    nb_test_h2_begin(&h2, nb_test_world_client(w), false);
    for (unsigned round = 0; round < 3; round++) {
        int32_t ids[MANY];
        for (unsigned i = 0; i < MANY; i++) {
            char field[16];
            (void)snprintf(field, sizeof field, "u=%u%s", random_below(8), random_below(2) ? ", i" : "");
            const char *const fields[] = {random_below(4) ? "priority" : NULL, field, NULL};
            ids[i] = nb_test_h2_request(&h2, "GET", paths[random_below(5)], fields);
        }
        for (unsigned i = 0; i < MANY; i++) {
            char field[16];
            (void)snprintf(field, sizeof field, "u=%u", random_below(8));
            raw.size = 0;
            update((uint32_t)ids[random_below(MANY)], field);
            nb_test_h2_raw(&h2, raw.bytes, raw.size);
            nb_test_h2_expect(&h2, ids[i], 200, NULL);
        }
    }
    nb_test_h2_end(&h2);
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(urgent_content_comes_first),
        CASE(incremental_streams_take_turns),
        cmocka_unit_test(without_a_valid_field_streams_take_turns),
        CASE(a_stream_without_a_window_is_not_waited_for),
        CASE(an_update_changes_what_the_request_said),
        CASE(an_update_may_come_before_its_request),
        CASE(updates_of_what_is_not_there_are_dropped),
        CASE(an_update_that_is_no_update_ends_the_connection),
        CASE(the_first_settings_say_that_rfc_7540_does_not_count),
        CASE(all_streams_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
