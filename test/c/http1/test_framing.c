/*
 * test_framing.c - the framing of a head, over all of versions x targets x Host x Transfer-Encoding
 * x Content-Length, compared with the policy as a list of rules. Then Connection, Expect, Upgrade.
 */
#include "support/test.h"

#include <stdio.h>

#include "http1/framing.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static nb_head head;

static void add(nb_field field, const char *value) {
    head.headers[head.header_count++] = (nb_header){nb_field_name(field), nb_slice_of(value, strlen(value)), field};
}

static void add_other(void) {
    head.headers[head.header_count++] = (nb_header){NB_SLICE("X-Any"), NB_SLICE("5"), NB_FIELD_OTHER};
}

static void begin(nb_method method, nb_target_form form, uint8_t minor_version) {
    memset(&head, 0, sizeof head);
    head.method = method;
    head.target_form = form;
    head.minor_version = minor_version;
    if (form != NB_TARGET_ABSOLUTE) return;
    head.authority = NB_SLICE("test:80");
    head.scheme = NB_SLICE("http");
}

typedef struct values {
    const char *lines[2]; /* NULL: no line */
    int answer;           /* the number itself, or the status of its refusal */
} values;

/* Alone, in HTTP/1.1. */
static const values hosts[] = {
    {{NULL, NULL}, 400},  {{"test:80", NULL}, 0}, {{"TEST:80", NULL}, 0},        {{"", NULL}, 0},
    {{"a/b", NULL}, 400}, {{"test", NULL}, 0},    {{"test:80", "test:80"}, 400}, {{"", "test:80"}, 400},
    {{"test:", NULL}, 0}, {{"a,b", NULL}, 0},     {{"test:81", NULL}, 0},
};
static const values codings[] = {
    {{NULL, NULL}, 0},
    {{"chunked", NULL}, 0},
    {{"CHUNKED", NULL}, 0},
    {{"gzip", NULL}, 501},
    {{"identity", NULL}, 501},
    {{"gzip, chunked", NULL}, 501},
    {{"gzip ,\tdeflate , chunked", NULL}, 501},
    {{"chunked, gzip", NULL}, 400},
    {{"gzip, deflate", NULL}, 400},
    {{"chunked, chunked", NULL}, 400},
    {{"chunked, gzip, chunked", NULL}, 400},
    {{"", NULL}, 400},
    {{",", NULL}, 400},
    {{"chunked,", NULL}, 400},
    {{",chunked", NULL}, 400},
    {{"gzip,,chunked", NULL}, 400},
    {{"chunked;a=b", NULL}, 400},
    {{"\"chunked\"", NULL}, 400},
    {{"chunked", "chunked"}, 400},
    {{"gzip", "chunked"}, 400},
    {{"chunked", ""}, 400},
};
static const values lengths[] = {
    {{NULL, NULL}, 0},
    {{"5", NULL}, 5},
    {{"0", NULL}, 0},
    {{"0010", NULL}, 10},
    {{"100", NULL}, 100},
    {{"101", NULL}, 413},
    {{"18446744073709551615", NULL}, 413},
    {{"18446744073709551616", NULL}, 413},
    {{"99999999999999999999999999", NULL}, 413},
    {{"99999999999999999999999999.", NULL}, 400},
    {{"", NULL}, 400},
    {{"+5", NULL}, 400},
    {{"5 5", NULL}, 400},
    {{"5,5", NULL}, 400},
    {{"5", "5"}, 400},
    {{"5", "0"}, 400},
    {{"x", "5"}, 400},
};

#define BODY_MAX 100

static bool same_host(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        if ((*a | 0x20) != (*b | 0x20)) return false;
    }
    return *a == *b;
}

/* The policy as a list of rules; the first that matches counts. 0: served. What is ambiguous comes
 * before what is not served. */
static int expected_answer(nb_method method, nb_target_form form, int minor, nb_compliance compliance,
                           const values *host, const values *coding, const values *length) {
    const char *const h = host->lines[0];
    const bool strict = compliance == NB_COMPLIANCE_STRICT;
    const bool past_64_bits = length->lines[0] && strlen(length->lines[0]) >= 20 &&
                              strcmp(length->lines[0], "18446744073709551615") > 0;
    const bool length_refused = length->answer == 400 || length->lines[1] || past_64_bits;
    if (host->lines[1]) return 400;
    if (!h && minor == 1) return 400;
    if (h && *h == 0 && minor == 1 && strict) return 400;
    if (h && *h && host->answer == 400) return 400;
    if (h && strcmp(h, "test:") == 0 && strict) return 400;
    if (h && strchr(h, ',') && compliance != NB_COMPLIANCE_LENIENT) return 400;
    const bool own_port = h && (strcmp(h, "test") == 0 || strcmp(h, "test:") == 0);
    const bool same = h && (same_host(h, "test:80") || (own_port && !strict));
    const bool ignored = !h || (*h == 0 && minor == 0);
    if (form == NB_TARGET_ABSOLUTE && !ignored && !same) return 400;
    if (form == NB_TARGET_ASTERISK && method != NB_METHOD_OPTIONS) return 400;
    if (coding->lines[0] && minor == 0) return 400;
    if (coding->lines[0] && length->lines[0]) return 400;
    if (coding->lines[0] && coding->answer) return coding->answer;
    if (length->lines[0] && length_refused) return length->answer == 413 ? 413 : 400;
    if (method == NB_METHOD_CONNECT) return 405;
    return length->answer == 413 ? 413 : 0;
}

static void check(nb_method method, nb_target_form form, int minor, nb_compliance compliance, const values *host,
                  const values *coding, const values *length) {
    begin(method, form, (uint8_t)minor);
    for (int i = 0; i < 2; i++) {
        if (coding->lines[i]) add(NB_FIELD_TRANSFER_ENCODING, coding->lines[i]);
        add_other();
        if (host->lines[i]) add(NB_FIELD_HOST, host->lines[i]);
        if (length->lines[i]) add(NB_FIELD_CONTENT_LENGTH, length->lines[i]);
    }
    nb_framing framing;
    memset(&framing, 0xa5, sizeof framing);
    const nb_framing untouched = framing;
    nb_refusal refusal = {0, NULL};
    const nb_status status = nb_framing_decide(&head, BODY_MAX, compliance, &framing, &refusal);
    const int expected = expected_answer(method, form, minor, compliance, host, coding, length);
    const int got = status == NB_OK ? 0 : refusal.http_status;
    if (got != expected) {
        fail_msg("expected %d, got %d (%s): compliance %d, method %d, form %d, HTTP/1.%d, Host %s, Transfer-Encoding "
                 "%s, Content-Length %s",
                 expected, got, refusal.reason, compliance, method, form, minor, host->lines[0], coding->lines[0],
                 length->lines[0]);
    }
    if (expected) {
        assert_status(expected == 413 ? NB_OVER_LIMIT : NB_INVALID, status);
        assert_non_null(refusal.reason);
        assert_memory_equal(&untouched, &framing, sizeof framing);
        return;
    }
    assert_int_equal(framing.body, coding->lines[0]     ? NB_BODY_CHUNKED
                                   : length->answer > 0 ? NB_BODY_LENGTH
                                                        : NB_BODY_NONE);
    assert_int_equal(framing.content_length, length->answer);
    assert_int_equal(framing.keep_alive, minor == 1);
    const char *const authority = form == NB_TARGET_ABSOLUTE ? "test:80" : host->lines[0] ? host->lines[0] : "";
    assert_true(nb_slice_equal(framing.host, nb_slice_of(authority, strlen(authority))));
}

static void test_every_combination_is_decided_by_the_policy(void **state) {
    (void)state;
    static const nb_method methods[] = {NB_METHOD_GET, NB_METHOD_POST, NB_METHOD_OPTIONS, NB_METHOD_CONNECT,
                                        NB_METHOD_OTHER};
    long checked = 0;
    enum { FORMS = NB_TARGET_ASTERISK + 1, HEADS = FORMS * 2 * NB_COMPLIANCE_COUNT };
    for (size_t m = 0; m < COUNT(methods); m++) {
        for (int one = 0; one < HEADS; one++) {
            for (size_t h = 0; h < COUNT(hosts); h++) {
                for (size_t c = 0; c < COUNT(codings); c++) {
                    for (size_t l = 0; l < COUNT(lengths); l++, checked++) {
                        check(methods[m], (nb_target_form)(one % FORMS), one / FORMS % 2,
                              (nb_compliance)(one / FORMS / 2), &hosts[h], &codings[c], &lengths[l]);
                    }
                }
            }
        }
    }
    assert_int_equal(checked, COUNT(methods) * HEADS * COUNT(hosts) * COUNT(codings) * COUNT(lengths));
}

static nb_framing decide(void) {
    nb_framing framing;
    nb_refusal refusal = {0, "-"};
    assert_status(NB_OK, nb_framing_decide(&head, UINT64_MAX, NB_COMPLIANCE_COMMON, &framing, &refusal));
    return framing;
}

static void test_connection_decides_whether_another_request_may_come(void **state) {
    (void)state;
    static const struct {
        const char *lines[3];
        bool kept_10, kept_11;
    } cases[] = {
        {{NULL}, false, true},
        {{"close"}, false, false},
        {{"Close"}, false, false},
        {{"keep-alive"}, true, true},
        {{"Keep-Alive"}, true, true},
        {{"KEEP-ALIVE, close"}, false, false},
        {{"close", "keep-alive"}, false, false},
        {{"keep-alive", "close"}, false, false},
        {{"te , \t close\t, x"}, false, false},
        {{",,close,"}, false, false},
        {{",", "", "keep-alive"}, true, true},
        {{"x-close"}, false, true},
        {{"closed"}, false, true},
        {{"\"close\""}, false, true},
        {{"close;a=b"}, false, true},
        {{"keep-alive;timeout=5"}, false, true},
        {{""}, false, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (uint8_t minor = 0; minor < 2; minor++) {
            begin(NB_METHOD_GET, NB_TARGET_ORIGIN, minor);
            add(NB_FIELD_HOST, "test");
            for (int line = 0; line < 3 && cases[i].lines[line]; line++)
                add(NB_FIELD_CONNECTION, cases[i].lines[line]);
            const bool expected = minor ? cases[i].kept_11 : cases[i].kept_10;
            if (decide().keep_alive != expected) fail_msg("case %zu (%s), HTTP/1.%u", i, cases[i].lines[0], minor);
        }
    }
}

static void test_upgrade_is_told_when_connection_names_it_in_http_11(void **state) {
    (void)state;
    for (uint8_t minor = 0; minor < 2; minor++) {
        for (int named = 0; named < 2; named++) {
            for (int field = 0; field < 2; field++) {
                begin(NB_METHOD_GET, NB_TARGET_ORIGIN, minor);
                add(NB_FIELD_HOST, "test");
                if (named) add(NB_FIELD_CONNECTION, "keep-alive, Upgrade");
                if (field) add(NB_FIELD_UPGRADE, "websocket");
                assert_int_equal(decide().upgrade, minor && named && field);
            }
        }
    }
}

static void test_expect_waits_for_100_only_in_http_11_and_only_with_a_body(void **state) {
    (void)state;
    static const char *const bodies[] = {NULL, "0", "5", "chunked"};
    for (uint8_t minor = 0; minor < 2; minor++) {
        for (size_t body = 0; body < COUNT(bodies); body++) {
            if (minor == 0 && body == 3) continue;
            begin(NB_METHOD_POST, NB_TARGET_ORIGIN, minor);
            add(NB_FIELD_HOST, "test");
            add(NB_FIELD_EXPECT, "100-CONTINUE");
            if (bodies[body]) add(body == 3 ? NB_FIELD_TRANSFER_ENCODING : NB_FIELD_CONTENT_LENGTH, bodies[body]);
            assert_int_equal(decide().expect_continue, minor == 1 && body >= 2);
        }
    }
}

static void test_another_expect_is_417_in_http_11_and_ignored_in_10(void **state) {
    (void)state;
    static const char *const others[] = {"", "100", "100-continue, x", "x", "100-continue;a=b"};
    for (size_t i = 0; i < COUNT(others); i++) {
        nb_framing framing;
        nb_refusal refusal;
        begin(NB_METHOD_POST, NB_TARGET_ORIGIN, 1);
        add(NB_FIELD_HOST, "test");
        add(NB_FIELD_CONTENT_LENGTH, "5");
        add(NB_FIELD_EXPECT, others[i]);
        assert_status(NB_INVALID, nb_framing_decide(&head, 100, NB_COMPLIANCE_LENIENT, &framing, &refusal));
        assert_int_equal(417, refusal.http_status);
        head.minor_version = 0;
        assert_false(decide().expect_continue);
    }
}

static bool decides_same(const char *authority, const char *scheme, const char *host, nb_compliance compliance) {
    nb_framing framing;
    nb_refusal refusal;
    begin(NB_METHOD_GET, NB_TARGET_ABSOLUTE, 1);
    head.authority = nb_slice_of(authority, strlen(authority));
    head.scheme = nb_slice_of(scheme, strlen(scheme));
    add(NB_FIELD_HOST, host);
    return nb_framing_decide(&head, 100, compliance, &framing, &refusal) == NB_OK;
}

static void test_the_host_of_an_absolute_target_is_compared_whole_and_in_any_case(void **state) {
    (void)state;
    static const struct {
        const char *host;
        bool same, same_but_port; /* written alike; alike without a default port */
    } cases[] = {
        {"azAZ.09-_~:80", true, true},    {"AZaz.09-_~:80", true, true},  {"azAZ.09-_~:81", false, false},
        {"azAZ.09-_~", false, true},      {"azAZ.09-_~:", false, true},   {"azAY.09-_~:80", false, false},
        {"bzAZ.09-_~:80", false, false},  {"azAZ.09-_~:8", false, false}, {"azAZ.09-_~:080", false, false},
        {"azAZ.09-_~:443", false, false}, {"azAZ.09-_~80", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const host = cases[i].host;
        assert_int_equal(cases[i].same, decides_same("azAZ.09-_~:80", "http", host, NB_COMPLIANCE_STRICT));
        assert_int_equal(cases[i].same_but_port, decides_same("azAZ.09-_~:80", "http", host, NB_COMPLIANCE_COMMON));
        assert_int_equal(cases[i].same, decides_same("azAZ.09-_~:80", "https", host, NB_COMPLIANCE_COMMON));
    }
    assert_true(decides_same("a", "https", "A:443", NB_COMPLIANCE_COMMON));
    assert_true(decides_same("[::1]", "http", "[::1]:80", NB_COMPLIANCE_COMMON));
    assert_false(decides_same("[::1:80]", "http", "[::1]:80", NB_COMPLIANCE_COMMON));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_combination_is_decided_by_the_policy),
        cmocka_unit_test(test_the_host_of_an_absolute_target_is_compared_whole_and_in_any_case),
        cmocka_unit_test(test_connection_decides_whether_another_request_may_come),
        cmocka_unit_test(test_upgrade_is_told_when_connection_names_it_in_http_11),
        cmocka_unit_test(test_expect_waits_for_100_only_in_http_11_and_only_with_a_body),
        cmocka_unit_test(test_another_expect_is_417_in_http_11_and_ignored_in_10),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
