/*
 * test_http2_message.c - which requests are malformed (RFC 9113 sections 8.1.1, 8.2, 8.3).
 */
#include "support/test.h"

#include <string.h>

#include "http/head.h"
#include "http2/http2_message.h"

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

#define USUAL ":method", "POST", ":scheme", "https", ":authority", "test", ":path", "/a?b"

/* fields: name, value, ..., NULL. */
static bool takes(nb_http2_message *message, bool trailers, const char *const fields[], bool ends) {
    nb_http2_message_begin(message, trailers);
    for (size_t i = 0; fields[i]; i += 2) {
        if (!nb_http2_message_field(message, text(fields[i]), text(fields[i + 1]))) return false;
    }
    return nb_http2_message_end(message, ends);
}

static void well_formed_requests_are_taken(void **state) {
    (void)state;
    static const char *const requests[][16] = {
        {USUAL},
        {":path", "/", ":authority", "test", ":scheme", "http", ":method", "GET"},
        {":method", "GET", ":scheme", "http", ":path", "/", "host", "test"},
        {":method", "CONNECT", ":authority", "test:443"},
        {":method", "OPTIONS", ":scheme", "http", ":path", "*"},
        {USUAL, "x-a", "a \t b", "x-b", "", "te", "trailers"},
        {USUAL, "te", "Trailers", "x-!#$%&'*+-.^_`|~0", "\x80\xff"},
        {USUAL, "content-length", "0", "connections", "1", "up-grade", "1"},
    };
    nb_http2_message message;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (!takes(&message, false, requests[i], true)) fail_msg("request %zu", i);
    }
}

static void malformed_requests_are_not(void **state) {
    (void)state;
    static const char *const requests[][16] = {
        {NULL},
        {"x-a", "1"},
        {"x-a", "1", USUAL},
        {":method", "GET", ":scheme", "http", ":authority", "test"},
        {":method", "GET", ":path", "/", ":authority", "test"},
        {":scheme", "http", ":path", "/", ":authority", "test"},
        {":method", "", ":scheme", "http", ":path", "/"},
        {":method", "GET", ":scheme", "", ":path", "/"},
        {":method", "GET", ":scheme", "http", ":path", ""},
        {USUAL, ":path", "/"},
        {USUAL, ":status", "200"},
        {USUAL, ":protocol", "websocket"},
        {USUAL, ":", "1"},
        {USUAL, ":Path", "/"},
        {":method", "CONNECT", ":authority", "test", ":path", "/"},
        {":method", "CONNECT", ":authority", "test", ":scheme", "http"},
        {":method", "CONNECT"},
        {USUAL, "", "1"},
        {USUAL, "Upper", "1"},
        {USUAL, "a b", "1"},
        {USUAL, "a:", "1"},
        {USUAL, "a\x7f", "1"},
        {USUAL, "a\x80", "1"},
        {USUAL, "x-a", "1\r\n"},
        {USUAL, "x-a", "a\nb"},
        {USUAL, "x-a", "a\x01z"},
        {USUAL, "x-a", "a long value with DEL: \x7f."},
        {USUAL, "x-a", " 1"},
        {USUAL, "x-a", "1\t"},
        {USUAL, "x-a", " "},
        {USUAL, "connection", "close"},
        {USUAL, "keep-alive", "1"},
        {USUAL, "proxy-connection", "close"},
        {USUAL, "transfer-encoding", "chunked"},
        {USUAL, "upgrade", "h2c"},
        {USUAL, "te", "gzip"},
        {USUAL, "content-length", ""},
        {USUAL, "content-length", "+1"},
        {USUAL, "content-length", "10000000000000000000"},
        {USUAL, "content-length", "3", "content-length", "3"},
        {USUAL, "content-length", "1"}, /* and nothing follows */
        {":method", "GET", ":scheme", "http", ":path", "/a\nb"},
    };
    nb_http2_message message;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (takes(&message, false, requests[i], true)) fail_msg("request %zu", i);
    }
    nb_http2_message_begin(&message, false);
    assert_false(nb_http2_message_field(&message, text("x-a"), nb_slice_of("a\0b", 3)));
}

static void the_length_is_known(void **state) {
    (void)state;
    nb_http2_message message;
    assert_true(takes(&message, false, (const char *const[]){USUAL, NULL}, false));
    assert_true(message.content_length == NB_CONTENT_LENGTH_UNKNOWN);
    assert_true(takes(&message, false, (const char *const[]){USUAL, "content-length", "012", NULL}, false));
    assert_int_equal(12, message.content_length);
    assert_true(
        takes(&message, false, (const char *const[]){USUAL, "content-length", "9999999999999999999", NULL}, false));
    assert_true(message.content_length == 9999999999999999999u);
}

/* Section 8.1: they end the message, and have no pseudo-fields. */
static void trailers_have_rules_of_their_own(void **state) {
    (void)state;
    static const char *const sum[] = {"x-sum", "1", NULL}, *const length[] = {"content-length", "x", NULL};
    nb_http2_message message;
    assert_true(takes(&message, true, sum, true));
    assert_false(takes(&message, true, sum, false));
    assert_true(takes(&message, true, length, true));
    assert_true(message.content_length == NB_CONTENT_LENGTH_UNKNOWN);
    assert_false(takes(&message, true, (const char *const[]){":path", "/", NULL}, true));
    assert_false(takes(&message, true, (const char *const[]){"x-sum", "1\n", NULL}, true));
    assert_false(takes(&message, true, (const char *const[]){"upgrade", "h2c", NULL}, true));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_requests_are_taken),
        cmocka_unit_test(malformed_requests_are_not),
        cmocka_unit_test(the_length_is_known),
        cmocka_unit_test(trailers_have_rules_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
