/*
 * test_head_parser.c - the slices of a head, and an exhaustive comparison with a slow reading of
 * the grammar.
 */
#include "support/test.h"

#include <stdio.h>

#include "http1/head_parser.h"
#include "http1/message.h"

static const nb_head_limits limits = {65536, NB_TARGET_BYTES_MAX, 100, NB_COMPLIANCE_COMMON};
static nb_head head;
static guarded memory;

static nb_status parse(const char *bytes, size_t *used, nb_refusal *refusal) {
    nb_head_parser parser;
    nb_head_parser_init(&parser);
    return nb_head_parse(&parser, bytes, strlen(bytes), &limits, &head, used, refusal);
}

static void parse_ok(const char *bytes) {
    size_t used = 0;
    nb_refusal refusal = {0, "-"};
    assert_status(NB_OK, parse(bytes, &used, &refusal));
    assert_int_equal(used, strlen(bytes));
}

#define assert_slice(expected, slice)                              \
    do {                                                           \
        assert_int_equal(strlen(expected), (slice).size);          \
        assert_memory_equal(expected, (slice).data, (slice).size); \
    } while (0)

static void test_a_head_is_told_in_slices(void **state) {
    (void)state;
    parse_ok("PATCH /a/b%20c?d=e?f HTTP/1.0\r\nHost:test\r\nX-Any: \t b  c\t \r\nContent-LENGTH: 5\r\nEmpty:\r\n\r\n");
    assert_slice("PATCH", head.method_text);
    assert_int_equal(head.method, NB_METHOD_PATCH);
    assert_int_equal(head.target_form, NB_TARGET_ORIGIN);
    assert_slice("/a/b%20c?d=e?f", head.target);
    assert_slice("/a/b%20c", head.path);
    assert_slice("d=e?f", head.query);
    assert_int_equal(head.authority.size, 0);
    assert_int_equal(head.scheme.size, 0);
    assert_int_equal(head.minor_version, 0);
    assert_int_equal(head.header_count, 4);
    assert_slice("Host", head.headers[0].name);
    assert_slice("test", head.headers[0].value);
    assert_int_equal(head.headers[0].field, NB_FIELD_HOST);
    assert_slice("X-Any", head.headers[1].name);
    assert_slice("b  c", head.headers[1].value);
    assert_int_equal(head.headers[1].field, NB_FIELD_OTHER);
    assert_slice("Content-LENGTH", head.headers[2].name);
    assert_int_equal(head.headers[2].field, NB_FIELD_CONTENT_LENGTH);
    assert_slice("", head.headers[3].value);
}

static void test_targets_are_told_by_form(void **state) {
    (void)state;
    parse_ok("GET http://a.b:80/c/?d HTTP/1.1\r\n\r\n");
    assert_int_equal(head.target_form, NB_TARGET_ABSOLUTE);
    assert_slice("http", head.scheme);
    assert_slice("a.b:80", head.authority);
    assert_slice("/c/", head.path);
    assert_slice("d", head.query);
    parse_ok("GET HTTPS://a?d HTTP/1.1\r\n\r\n");
    assert_slice("HTTPS", head.scheme);
    assert_slice("a", head.authority);
    assert_slice("/", head.path);
    assert_slice("d", head.query);
    parse_ok("GET https://[::1]:8 HTTP/1.1\r\n\r\n");
    assert_slice("[::1]:8", head.authority);
    assert_slice("/", head.path);
    assert_int_equal(head.query.size, 0);
    parse_ok("OPTIONS * HTTP/1.1\r\n\r\n");
    assert_int_equal(head.target_form, NB_TARGET_ASTERISK);
    assert_slice("*", head.path);
    parse_ok("\r\nCONNECT a:1 HTTP/1.1\r\n\r\n");
    assert_int_equal(head.target_form, NB_TARGET_AUTHORITY);
    assert_slice("a:1", head.authority);
    assert_int_equal(head.path.size, 0);
    parse_ok("GET /? HTTP/1.1\r\n\r\n");
    assert_slice("/", head.path);
    assert_int_equal(head.query.size, 0);
}

static void test_a_fragment_is_cut_off_and_other_bytes_stay_as_sent(void **state) {
    (void)state;
    parse_ok("GET /a?b#c?d#e HTTP/1.1\r\n\r\n");
    assert_slice("/a?b", head.target);
    assert_slice("/a", head.path);
    assert_slice("b", head.query);
    assert_int_equal(head.minor_version, 1);
    parse_ok("GET /# HTTP/1.0\r\n\r\n");
    assert_slice("/", head.target);
    assert_slice("/", head.path);
    assert_int_equal(head.query.size, 0);
    parse_ok("GET http://a#b HTTP/1.1\r\n\r\n");
    assert_slice("http://a", head.target);
    assert_slice("a", head.authority);
    assert_slice("/", head.path);
    parse_ok("GET /\xc3\xa9\\\xff?\x80\\# HTTP/1.1\r\n\r\n");
    assert_slice("/\xc3\xa9\\\xff", head.path);
    assert_slice("\x80\\", head.query);
}

static void test_known_methods_have_numbers_and_case_counts(void **state) {
    (void)state;
    for (int method = 1; method < NB_METHOD_COUNT; method++) {
        const nb_slice name = nb_method_name((nb_method)method);
        char bytes[64];
        snprintf(bytes, sizeof bytes, "%.*s %s HTTP/1.1\r\n\r\n", (int)name.size, name.data,
                 method == NB_METHOD_CONNECT ? "a:1" : "/");
        parse_ok(bytes);
        assert_int_equal(head.method, method);
        for (size_t i = 0; i < name.size; i++) {
            snprintf(bytes, sizeof bytes, "%.*s / HTTP/1.1\r\n\r\n", (int)name.size, name.data);
            bytes[i] = (char)(bytes[i] | 0x20);
            parse_ok(bytes);
            assert_int_equal(head.method, NB_METHOD_OTHER);
            assert_int_equal(head.method_text.size, name.size);
        }
    }
}

static void test_the_parser_is_ready_for_the_next_head_after_one(void **state) {
    (void)state;
    static const char two[] = "GET /1 HTTP/1.1\r\nA: b\r\n\r\nGET /2 HTTP/1.0\r\n\r\n";
    nb_head_parser parser;
    nb_refusal refusal;
    size_t first = 0, second = 0;
    nb_head_parser_init(&parser);
    assert_status(NB_INCOMPLETE, nb_head_parse(&parser, two, 10, &limits, &head, &first, &refusal));
    assert_int_equal(parser.scanned, 10);
    assert_status(NB_OK, nb_head_parse(&parser, two, sizeof two - 1, &limits, &head, &first, &refusal));
    assert_int_equal(first, 25);
    assert_status(NB_OK,
                  nb_head_parse(&parser, two + first, sizeof two - 1 - first, &limits, &head, &second, &refusal));
    assert_slice("/2", head.path);
    assert_int_equal(head.header_count, 0);
    assert_int_equal(first + second, sizeof two - 1);
}

static void test_the_parser_of_a_waiting_connection_is_small(void **state) {
    (void)state;
    assert_true(sizeof(nb_head_parser) < 64);
}

static void test_what_is_wrong_is_told_at_its_byte(void **state) {
    (void)state;
    /* the text up to the first wrong byte, and with it; more would change nothing */
    static const char *const begins[] = {
        "\n",
        "\r\r",
        "\r\n\r\n\r",
        " ",
        "G\"",
        "GET\t",
        "GET\r",
        "GET  ",
        "GET a",
        "GET hp",
        "GET httpx",
        "GET http:a",
        "GET http:/a",
        "GET httpsx",
        "GET *a",
        "GET /\r",
        "GET #",
        "GET /\"",
        "GET /\xc3\xa9\x7f",
        "GET /#\t",
        "CONNECT /",
        "GET / \r",
        "GET / h",
        "GET / HTTP/x",
        "GET / HTTP/11",
        "GET / HTTP/2.",
        "GET / HTTP/1.\r",
        "GET / HTTP/1.10",
        "GET / HTTP/1.1\n",
        "GET / HTTP/1.1\rH",
        "GET / HTTP/1.1\r\n ",
        "GET / HTTP/1.1\r\n:",
        "GET / HTTP/1.1\r\n\n",
        "GET / HTTP/1.1\r\nHost\r",
        "GET / HTTP/1.1\r\nHost ",
        "GET / HTTP/1.1\r\nHost: a\n",
        "GET / HTTP/1.1\r\nHost: a\rb",
        "GET / HTTP/1.1\r\nHost: a\x01",
        "GET / HTTP/1.1\r\nHost: a\r\n ",
        "GET / HTTP/1.1\r\nHost: a\r\n\rX",
    };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t size = strlen(begins[i]);
        const outcome o = message_read_bytewise(memory, &message_limits_usual, begins[i], size);
        if (o.status != NB_INVALID || o.refused_at != size)
            fail_msg("%s: %s at %zu", begins[i], nb_status_name(o.status), o.refused_at);
    }
}

static void test_limits_are_told_as_soon_as_they_are_passed(void **state) {
    (void)state;
    static const char bytes[] = "POST /abcdef HTTP/1.1\r\nA: b\r\nC: d\r\n\r\n";
    const struct {
        uint32_t head_bytes, target_bytes;
        uint16_t headers;
        int http_status;
        size_t at;
    } cases[] = {
        {1000, 7, 10, 0, 0},     {1000, 6, 10, 414, 12},  {1000, 1, 10, 414, 7}, {1000, 100, 2, 0, 0},
        {1000, 100, 1, 431, 30}, {1000, 100, 0, 431, 24}, {37, 100, 10, 0, 0},   {36, 100, 10, 431, 36},
        {10, 100, 10, 414, 10},  {3, 100, 10, 431, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const message_limits these = {
            {cases[i].head_bytes, cases[i].target_bytes, cases[i].headers, NB_COMPLIANCE_COMMON}, UINT64_MAX};
        const outcome whole = message_read_whole(memory, &these, bytes, sizeof bytes - 1);
        const outcome bytewise = message_read_bytewise(memory, &these, bytes, sizeof bytes - 1);
        assert_null(message_difference(&whole, &bytewise));
        if (cases[i].http_status == 0) {
            assert_int_equal(whole.head_bytes, 37); /* refused by framing alone: no Host */
            continue;
        }
        assert_status(NB_OVER_LIMIT, whole.status);
        assert_int_equal(cases[i].http_status, whole.refusal.http_status);
        assert_int_equal(cases[i].at, bytewise.refused_at);
    }
}

static void test_more_headers_than_there_is_room_for_are_refused_whatever_the_limit_says(void **state) {
    (void)state;
    static const message_limits generous = {{262144, 16384, UINT16_MAX, NB_COMPLIANCE_COMMON}, UINT64_MAX};
    static char bytes[8192];
    size_t size = (size_t)sprintf(bytes, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (unsigned i = 1; i < NB_HEADERS_MAX; i++)
        size += (size_t)sprintf(bytes + size, "A: %u\r\n", i);
    const size_t full = size + (size_t)sprintf(bytes + size, "\r\n");
    assert_status(NB_OK, message_read_whole(memory, &generous, bytes, full).status);
    size += (size_t)sprintf(bytes + size, "A: b\r\n\r\n");
    const outcome o = message_read_whole(memory, &generous, bytes, size);
    assert_status(NB_OVER_LIMIT, o.status);
    assert_int_equal(431, o.refusal.http_status);
}

/* The grammar read slowly and forwards (RFC 9112 section 5). -1: refused; 0: incomplete; else the
 * number of fields plus 1. */
static int slow_fields(const char *text, size_t size) {
    size_t at = 0;
    int fields = 0;
    for (;;) {
        const size_t line = at;
        bool colon = false;
        if (at < size && text[at] == '\r') {
            if (at + 1 == size) return 0;
            return text[at + 1] == '\n' ? fields + 1 : -1;
        }
        for (; at < size && text[at] != '\r'; at++) {
            const char c = text[at];
            if (!colon && c == ':') {
                if (at == line) return -1;
                colon = true;
            } else if (!colon && !((c >= 'a' && c <= 'z') || c == '-')) {
                return -1;
            } else if (colon && c != '\t' && (unsigned char)c < 0x20) {
                return -1;
            } else if (c == 0x7f) {
                return -1;
            }
        }
        if (at == size) return 0;
        if (!colon) return -1;
        if (at + 1 == size) return 0;
        if (text[at + 1] != '\n') return -1;
        fields++;
        at += 2;
    }
}

static void test_every_short_text_of_fields_is_read_as_the_grammar_says(void **state) {
    (void)state;
    static const char alphabet[] = {'a', ':', ' ', '\t', '\r', '\n', '\0', '-', '\x80'};
    enum { LETTERS = sizeof alphabet, LENGTH = 6 };
    static const char line[] = "GET / HTTP/1.1\r\n";
    char bytes[sizeof line + LENGTH + 2] = "GET / HTTP/1.1\r\n";
    char *const text = bytes + sizeof line - 1;
    unsigned digits[LENGTH] = {0};
    long accepted = 0;
    for (;;) {
        for (size_t i = 0; i < LENGTH; i++)
            text[i] = alphabet[digits[i]];
        text[LENGTH] = '\r';
        text[LENGTH + 1] = '\n';
        const int expected = slow_fields(text, LENGTH + 2);
        const size_t size = sizeof line - 1 + LENGTH + 2;
        nb_head_parser parser;
        nb_refusal refusal;
        size_t used = 0;
        nb_head_parser_init(&parser);
        const nb_status whole = nb_head_parse(&parser, guarded_place(&memory, bytes, size), size, &limits, &head, &used,
                                              &refusal);
        const int got = whole == NB_OK ? head.header_count + 1 : whole == NB_INCOMPLETE ? 0 : -1;
        if (got != expected) fail_msg("expected %d, got %d for %s", expected, got, text);
        nb_head_parser_init(&parser);
        nb_status pieces = nb_head_parse(&parser, bytes, sizeof line + 1, &limits, &head, &used, &refusal);
        for (size_t to = sizeof line + 2; pieces == NB_INCOMPLETE && to <= size; to++) {
            pieces = nb_head_parse(&parser, bytes, to, &limits, &head, &used, &refusal);
        }
        assert_status(whole, pieces);
        accepted += expected > 0;
        size_t i = 0;
        while (i < LENGTH && ++digits[i] == LETTERS)
            digits[i++] = 0;
        if (i == LENGTH) break;
    }
    assert_true(accepted > 1000);
}

/* Every byte value at every place of a head: at once and byte by byte give the same result, and
 * control bytes are refused everywhere. */
static void test_every_byte_at_every_place_is_judged_the_same_however_it_arrives(void **state) {
    (void)state;
    static const char good[] = "\r\nGET http://a.b:80/c?d HTTP/1.1\r\nHost: a.b:80\r\nAccept:  */* \r\n\r\n";
    char bytes[sizeof good];
    message_limits these = message_limits_usual;
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (unsigned c = 0; c < 256 * NB_COMPLIANCE_COUNT; c++) {
            memcpy(bytes, good, sizeof good);
            bytes[at] = (char)c;
            these.head.compliance = (nb_compliance)(c / 256);
            const outcome whole = message_read_whole(memory, &these, bytes, sizeof good - 1);
            const outcome bytewise = message_read_bytewise(memory, &these, bytes, sizeof good - 1);
            const char *const difference = message_difference(&whole, &bytewise);
            if (difference) fail_msg("%s differs with byte 0x%02x at %zu", difference, c, at);
            const unsigned char byte = (unsigned char)c;
            const bool control = (byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f;
            if (control && (whole.status == NB_OK || whole.status == NB_INCOMPLETE))
                fail_msg("byte 0x%02x at %zu is accepted", c, at);
        }
    }
}

int main(void) {
    nb_test_alarm(150);
    memory = guarded_create(65536);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_head_is_told_in_slices),
        cmocka_unit_test(test_targets_are_told_by_form),
        cmocka_unit_test(test_a_fragment_is_cut_off_and_other_bytes_stay_as_sent),
        cmocka_unit_test(test_known_methods_have_numbers_and_case_counts),
        cmocka_unit_test(test_the_parser_is_ready_for_the_next_head_after_one),
        cmocka_unit_test(test_the_parser_of_a_waiting_connection_is_small),
        cmocka_unit_test(test_what_is_wrong_is_told_at_its_byte),
        cmocka_unit_test(test_limits_are_told_as_soon_as_they_are_passed),
        cmocka_unit_test(test_more_headers_than_there_is_room_for_are_refused_whatever_the_limit_says),
        cmocka_unit_test(test_every_short_text_of_fields_is_read_as_the_grammar_says),
        cmocka_unit_test(test_every_byte_at_every_place_is_judged_the_same_however_it_arrives),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
