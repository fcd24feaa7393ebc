/*
 * test_http2_priority.c - the value of Priority as a dictionary of structured fields (RFC 9218
 * section 4, RFC 9651 section 3.2).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http2/http2_priority.h"
#include "support/test.h"

static const nb_http2_priority before = {5, true};

/* Copied to the end of a block of its own, so that a byte read behind it is found. */
static bool read_copy(const char *value, size_t bytes, nb_http2_priority *priority) {
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, value, bytes);
    *priority = before;
    bool read = nb_http2_priority_read(nb_slice_of(copy, bytes), priority);
    free(copy);
    return read;
}

static void valid_values(void **state) {
    (void)state;
    static const struct {
        const char *value;
        nb_http2_priority priority;
    } cases[] = {
        {"", {5, true}},
        {"   ", {5, true}},
        {"u=0", {0, true}},
        {"u=7", {7, true}},
        {"i", {5, true}},
        {"i=?0", {5, false}},
        {"u=2, i=?0", {2, false}},
        {"i=?0,u=1", {1, false}},
        {"u=2 \t, \t i=?0  ", {2, false}},
        {"u=1, u=4", {4, true}},
        {"u=1, u=8", {1, true}}, /* the second is out of range, and ignored */
        {"u=-1", {5, true}},
        {"u=-0", {0, true}},
        {"u=000000000000003", {3, true}},
        {"u=999999999999999", {5, true}},
        {"u=1.0", {5, true}},
        {"u=?1", {5, true}},
        {"u", {5, true}},
        {"u=\"1\"", {5, true}},
        {"u=a", {5, true}},
        {"u=(1)", {5, true}},
        {"i=0", {5, true}},
        {"i=?0;x", {5, false}},
        {"u=1;u=2;  a=b;c=\"d\\\"\\\\\"", {1, true}},
        {"x=1, u=2", {2, true}},
        {"*a-b_c.d*=*t/o:k, u=2", {2, true}},
        {"a=:aGk=:, b=::, u=2", {2, true}},
        {"a=@-1700000000, u=2", {2, true}},
        {"a=%\"f%c3%bc\", u=2", {2, true}},
        {"a=(), b=( 1  x;y=2 \"z\" );q, c=(a b), u=2", {2, true}},
        {"a=-1.125, u=2", {2, true}},
        {"a=123456789012.123, u=2", {2, true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nb_http2_priority found;
        if (!read_copy(cases[i].value, strlen(cases[i].value), &found)) fail_msg("\"%s\" is valid", cases[i].value);
        if (found.urgency != cases[i].priority.urgency || found.incremental != cases[i].priority.incremental)
            fail_msg("\"%s\": %u, %d", cases[i].value, found.urgency, found.incremental);
    }
}

/* They begin with what is valid: none of it counts. */
static void malformed_values_change_nothing(void **state) {
    (void)state;
    static const char *const values[] = {
        "u=1,",     "u=1, ",      "u=1,,i",   ",u=1",       "u=1 i",    "u=1;",     "u=1; ;a",
        "u=",       "u=1, =1",    "U=1",      "u=1, 1",     "u=1, i=?", "u=1, i=?2", "u=1, i=? 1",
        "u=1, a=(", "u=1, a=(1",  "u=1, a=)", "u=1, a=(1\"x\")", "u=1, a=\"",  "u=1, a=\"\\",  "u=1, a=\"\\n\"",
        "u=1.",     "u=1.1234",   "u=--1",    "u=-",        "u=1, a=1234567890123.1", "u=1234567890123456",
        "u=1, a=:", "u=1, a=:!:", "u=1, a=@", "u=1, a=@1.5", "u=1, a=%",  "u=1, a=%\"%FF\"", "u=1, a=%\"%f",
        "\tu=1",    "u=1\x7f",    "u=1, \xc3\xa4", "u=1, a=[", "u =1",     "u= 1",    "u=1\r",
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        nb_http2_priority found;
        if (read_copy(values[i], strlen(values[i]), &found)) fail_msg("\"%s\" is malformed", values[i]);
        if (found.urgency != before.urgency || found.incremental != before.incremental)
            fail_msg("\"%s\" counts", values[i]);
    }
    nb_http2_priority found;
    assert_false(read_copy("u=1\0", 4, &found));
    assert_false(read_copy("u=1, a=\"\0\"", 10, &found));
}

static unsigned random_state = 1;

static unsigned random_below(unsigned count) {
    random_state = random_state * 1103515245u + 12345u;
    return (random_state >> 16) % count;
}

/* Bytes that the grammar knows, in any order, and all bytes. Whatever comes: what is read is in
 * range, and what is malformed counts nothing. */
static void any_bytes_are_read_or_refused(void **state) {
    (void)state;
    static const char known[] = "uuuiia019=,;?()\"\\: @%*-._ \t/~";
    unsigned valid = 0;
    for (unsigned round = 0; round < 200000; round++) {
        char value[24];
        size_t bytes = random_below(sizeof value + 1);
        bool any = random_below(8) == 0;
        for (size_t i = 0; i < bytes; i++)
            value[i] = any ? (char)random_below(256) : known[random_below(sizeof known - 1)];
        nb_http2_priority found;
        bool read = read_copy(value, bytes, &found);
        valid += read;
        assert_true(found.urgency < NB_HTTP2_URGENCIES);
        if (!read) assert_true(found.urgency == before.urgency && found.incremental == before.incremental);
    }
    assert_true(valid > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_values),
        cmocka_unit_test(malformed_values_change_nothing),
        cmocka_unit_test(any_bytes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
