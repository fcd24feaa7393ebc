/*
 * test_head_writer.c - the framing of a response over all of status x version x HEAD x length x
 * keep-alive, read back from the bytes written; the phrases of the registry.
 */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1/guarded.h"
#include "http/status_code.h"
#include "http1/head_writer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct written {
    char text[1024];
    size_t size;
    nb_response_plan plan;
} written;

static written write_head(const nb_response_facts *facts, nb_slice date, nb_slice fields) {
    written w;
    const size_t room = date.size + fields.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES;
    guarded memory = guarded_create(room);
    char *const out = memory.end - room;
    memset(out, 0x5a, room);
    w.plan = nb_response_plan_decide(facts);
    w.size = nb_response_head_write(out, facts, &w.plan, date, fields);
    assert_in_range(w.size, 1, room);
    memcpy(w.text, out, w.size);
    w.text[w.size] = 0;
    assert_string_equal(w.text + w.size - 4, "\r\n\r\n");
    assert_ptr_equal(strstr(w.text, "\r\n\r\n"), w.text + w.size - 4);
    guarded_destroy(&memory);
    return w;
}

/* The number of lines of the head that are exactly this. */
static int lines(const written *w, const char *line) {
    int found = 0;
    char needle[128];
    snprintf(needle, sizeof needle, "\r\n%s\r\n", line);
    for (const char *at = w->text; (at = strstr(at, needle)) != NULL; at++)
        found++;
    return found;
}

static int lines_of(const written *w, const char *name) {
    int found = 0;
    char needle[64];
    snprintf(needle, sizeof needle, "\r\n%s: ", name);
    for (const char *at = w->text; (at = strstr(at, needle)) != NULL; at++)
        found++;
    return found;
}

static void check_framing(const nb_response_facts *f, const written *w) {
    const bool never = f->response.status == 204 || f->response.status == 304 || f->response.status == 205;
    const bool known = f->response.content_length != NB_CONTENT_LENGTH_UNKNOWN;
    const bool none = f->response.head_request || never;
    char length[64];
    snprintf(length, sizeof length, "Content-Length: %" PRIu64,
             f->response.status == 205 ? 0 : f->response.content_length);
    /* How the client finds the end (RFC 9112 section 6.3). */
    if (none) {
        assert_int_equal(w->plan.body, NB_RESPONSE_BODY_NONE);
        assert_int_equal(lines_of(w, "Transfer-Encoding"), 0);
        const bool sent = f->response.status == 205 ||
                          (f->response.status != 204 && f->response.length_announced && known);
        assert_int_equal(lines_of(w, "Content-Length"), sent);
        assert_int_equal(lines(w, length), sent);
    } else if (known) {
        assert_int_equal(w->plan.body, NB_RESPONSE_BODY_LENGTH);
        assert_int_equal(lines(w, length), 1);
        assert_int_equal(lines_of(w, "Content-Length"), 1);
        assert_int_equal(lines_of(w, "Transfer-Encoding"), 0);
    } else {
        assert_int_equal(w->plan.body, f->minor_version ? NB_RESPONSE_BODY_CHUNKED : NB_RESPONSE_BODY_CLOSE);
        assert_int_equal(lines_of(w, "Content-Length"), 0);
        assert_int_equal(lines(w, "Transfer-Encoding: chunked"), f->minor_version);
        assert_int_equal(lines_of(w, "Transfer-Encoding"), f->minor_version);
    }
    /* HTTP/1.1 persists unless told otherwise, 1.0 does not (RFC 9112 section 9.3). */
    const bool ends_by_closing = !none && !known && !f->minor_version;
    const bool kept = f->keep_alive && !f->response.application_closes && !ends_by_closing;
    assert_int_equal(w->plan.keep_alive, kept);
    assert_int_equal(lines(w, "Connection: close"), f->minor_version && !kept);
    assert_int_equal(lines(w, "Connection: keep-alive"), !f->minor_version && kept);
    assert_int_equal(lines_of(w, "Connection"), f->minor_version != kept);
}

static void test_every_response_is_framed_as_its_facts_say(void **state) {
    (void)state;
    static const uint16_t statuses[] = {200, 201, 203, 204, 205, 206, 299, 300, 301, 304,
                                        307, 400, 404, 416, 431, 499, 500, 503, 511, 599};
    static const uint64_t content_lengths[] = {
        0, 1, 9, 10, 99, 100, 101, 12345, 1000000, UINT64_C(18446744073709551614), NB_CONTENT_LENGTH_UNKNOWN};
    for (size_t s = 0; s < COUNT(statuses); s++) {
        for (size_t l = 0; l < COUNT(content_lengths); l++) {
            for (unsigned bits = 0; bits < 32; bits++) {
                const nb_response_facts facts = {.response.status = statuses[s],
                                                 .minor_version = bits & 1,
                                                 .response.head_request = bits & 2,
                                                 .keep_alive = bits & 4,
                                                 .response.application_closes = bits & 8,
                                                 .response.length_announced = bits & 16,
                                                 .response.content_length = content_lengths[l]};
                const written w = write_head(&facts, NB_SLICE("Date: x\r\n"), NB_SLICE("A: b\r\nC: d\r\n"));
                char start[64];
                const nb_slice phrase = nb_status_phrase(facts.response.status);
                const int size = snprintf(start, sizeof start, "HTTP/1.1 %u %.*s\r\n", facts.response.status,
                                          (int)phrase.size, phrase.data);
                assert_memory_equal(w.text, start, (size_t)size);
                assert_int_equal(lines(&w, "Date: x"), 1);
                assert_int_equal(lines(&w, "A: b"), 1);
                assert_int_equal(lines(&w, "C: d"), 1);
                check_framing(&facts, &w);
            }
        }
    }
}

static void test_a_head_is_these_bytes(void **state) {
    (void)state;
    const nb_response_facts hello = {
        .response.status = 200, .minor_version = 1, .keep_alive = true, .response.content_length = 5};
    assert_string_equal(write_head(&hello, NB_SLICE("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
                                   NB_SLICE("content-type: text/plain\r\n"))
                            .text,
                        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-type: "
                        "text/plain\r\nContent-Length: 5\r\n\r\n");
    const nb_response_facts bare = {
        .response.status = 299, .minor_version = 0, .response.content_length = NB_CONTENT_LENGTH_UNKNOWN};
    assert_string_equal(write_head(&bare, nb_slice_of(NULL, 0), nb_slice_of(NULL, 0)).text, "HTTP/1.1 299 \r\n\r\n");
}

/* After 101 the other protocol begins. After any other head the application decides where the body
 * ends (RFC 9110 sections 7.8, 15.2.2). */
static void test_a_connection_that_is_handed_over_is_framed_by_its_new_owner(void **state) {
    (void)state;
    nb_response_facts f = {.response.status = 101,
                           .minor_version = 1,
                           .keep_alive = true,
                           .response.handover = true,
                           .response.content_length = NB_CONTENT_LENGTH_UNKNOWN};
    written w = write_head(&f, (nb_slice){"", 0}, NB_SLICE("Upgrade: any\r\n"));
    assert_string_equal(w.text, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: any\r\nConnection: Upgrade\r\n\r\n");
    assert_false(w.plan.keep_alive);
    f.response.status = 200;
    w = write_head(&f, (nb_slice){"", 0}, (nb_slice){"", 0});
    assert_string_equal(w.text, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    f.response.length_announced = true;
    f.response.content_length = 5;
    w = write_head(&f, (nb_slice){"", 0}, (nb_slice){"", 0});
    assert_string_equal(w.text, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
    assert_false(w.plan.keep_alive);
}

static void test_the_longest_head_fits_into_the_room_asked_for(void **state) {
    (void)state;
    for (uint16_t status = 200; status < 600; status++) {
        const nb_response_facts facts = {.response.status = status,
                                         .minor_version = 1,
                                         .response.length_announced = true,
                                         .response.content_length = UINT64_MAX - 1};
        assert_true(write_head(&facts, nb_slice_of("", 0), nb_slice_of("", 0)).size <= NB_RESPONSE_HEAD_OVERHEAD_BYTES);
    }
}

static void test_phrases_are_the_registrys(void **state) {
    (void)state;
    static const struct {
        uint16_t status;
        const char *phrase;
    } some[] = {{200, "OK"},
                {203, "Non-Authoritative Information"},
                {206, "Partial Content"},
                {304, "Not Modified"},
                {306, ""},
                {413, "Content Too Large"},
                {418, ""},
                {422, "Unprocessable Content"},
                {431, "Request Header Fields Too Large"},
                {505, "HTTP Version Not Supported"},
                {511, "Network Authentication Required"},
                {299, ""},
                {599, ""},
                {600, ""},
                {65535, ""},
                {0, ""},
                {100, "Continue"},
                {103, "Early Hints"},
                {102, ""}};
    for (size_t i = 0; i < COUNT(some); i++) {
        const nb_slice phrase = nb_status_phrase(some[i].status);
        assert_int_equal(phrase.size, strlen(some[i].phrase));
        assert_memory_equal(phrase.data, some[i].phrase, phrase.size);
    }
}

static void test_chunk_heads_are_hexadecimal(void **state) {
    (void)state;
    nb_test_random random = {9};
    for (int i = 0; i < 20000; i++) {
        const uint64_t bytes = (nb_test_random_next(&random) >> nb_test_random_below(&random, 64)) | 1;
        char out[NB_CHUNK_HEAD_BYTES_MAX + 1], expected[32];
        const int size = snprintf(expected, sizeof expected, "%" PRIx64 "\r\n", bytes);
        out[NB_CHUNK_HEAD_BYTES_MAX] = 0x5a;
        assert_int_equal(nb_chunk_head_write(out, bytes), size);
        assert_memory_equal(out, expected, (size_t)size);
        assert_int_equal(out[NB_CHUNK_HEAD_BYTES_MAX], 0x5a);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_response_is_framed_as_its_facts_say),
        cmocka_unit_test(test_a_head_is_these_bytes),
        cmocka_unit_test(test_a_connection_that_is_handed_over_is_framed_by_its_new_owner),
        cmocka_unit_test(test_the_longest_head_fits_into_the_room_asked_for),
        cmocka_unit_test(test_phrases_are_the_registrys),
        cmocka_unit_test(test_chunk_heads_are_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
