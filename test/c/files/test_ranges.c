/*
 * test_ranges.c - Range and Content-Range (RFC 9110 sections 14.1 to 14.4): one table, and random
 * sets against a map of bytes.
 */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "files/ranges.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define EXABYTE (UINT64_C(1) << 60)

static guarded memory;

static nb_ranges_result parse(const char *value, uint64_t size, nb_range ranges[NB_RANGES_MAX], uint16_t *count) {
    const size_t bytes = strlen(value);
    return nb_ranges_parse(nb_slice_of(guarded_place(&memory, value, bytes), bytes), size, ranges, count);
}

/* "whole", "none" (416), or the ranges as Content-Range has them: "0-499 600-601". */
static const char *describe(const char *value, uint64_t size) {
    static char text[1024];
    nb_range ranges[NB_RANGES_MAX];
    uint16_t count;
    const nb_ranges_result result = parse(value, size, ranges, &count);
    if (result == NB_RANGES_WHOLE) return "whole";
    if (result == NB_RANGES_UNSATISFIABLE) return "none";
    text[0] = 0;
    for (uint16_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%" PRIu64 "-%" PRIu64, i ? " " : "", ranges[i].offset,
                ranges[i].offset + ranges[i].bytes - 1);
    return text;
}

typedef struct range_case {
    const char *value;
    uint64_t size;
    const char *expected;
} range_case;

static void check(const range_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *const found = describe(cases[i].value, cases[i].size);
        if (strcmp(found, cases[i].expected) != 0)
            fail_msg("\"%s\" of %" PRIu64 ": %s, not %s", cases[i].value, cases[i].size, found, cases[i].expected);
    }
}

/* Section 14.1.2. */
static void test_the_examples_of_the_rfc(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=0-499", 10000, "0-499"},
        {"bytes=500-999", 10000, "500-999"},
        {"bytes=-500", 10000, "9500-9999"},
        {"bytes=9500-", 10000, "9500-9999"},
        {"bytes=0-0,-1", 10000, "0-0 9999-9999"},
        {"bytes= 0-999, 4500-5499, -1000", 10000, "0-999 4500-5499 9000-9999"},
        {"bytes=500-600,601-999", 10000, "500-999"},
        {"bytes=500-700,601-999", 10000, "500-999"},
    };
    check(cases, COUNT(cases));
}

static void test_one_range(void **state) {
    (void)state;
    static const range_case cases[] = {
        /* All of the file is still a 206: players ask like this whether ranges are served. */
        {"bytes=0-", 10, "0-9"},
        {"bytes=0-9", 10, "0-9"},
        {"bytes=0-10", 10, "0-9"}, /* section 14.1.2: a last-pos past the end is the end */
        {"bytes=0-0", 10, "0-0"},
        {"bytes=9-9", 10, "9-9"},
        {"bytes=9-", 10, "9-9"},
        {"bytes=-1", 10, "9-9"},
        {"bytes=-10", 10, "0-9"},
        {"bytes=-11", 10, "0-9"}, /* a longer suffix is all of the file */
        {"bytes=0-0", 1, "0-0"},
        {"bytes=-1", 1, "0-0"},
        {"bytes=00000000000000000000000000000001-0000000000000000000000000000000000002", 10, "1-2"},
        {"bytes=\t1-2 \t", 10, "1-2"},
    };
    check(cases, COUNT(cases));
}

static void test_numbers_past_64_bits(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=5-18446744073709551615", 10, "5-9"},
        {"bytes=5-18446744073709551616", 10, "5-9"},
        {"bytes=5-99999999999999999999999999999999", 10, "5-9"},
        {"bytes=-18446744073709551615", 10, "0-9"},
        {"bytes=-99999999999999999999999999999999", 10, "0-9"},
        {"bytes=18446744073709551615-", 10, "none"},
        {"bytes=18446744073709551616-", 10, "none"},
        {"bytes=99999999999999999999999999999999-", 10, "none"},
        {"bytes=99999999999999999999999999999999-5", 10, "whole"},
        {"bytes=18446744073709551616-18446744073709551617", 10, "none"},
        {"bytes=18446744073709551614-", UINT64_MAX, "18446744073709551614-18446744073709551614"},
        {"bytes=0-", UINT64_MAX, "0-18446744073709551614"},
        {"bytes=0-18446744073709551615", UINT64_MAX, "0-18446744073709551614"},
        {"bytes=-18446744073709551615", UINT64_MAX, "0-18446744073709551614"},
        {"bytes=1-,-18446744073709551614", UINT64_MAX, "1-18446744073709551614"},
        {"bytes=0-0,-1", UINT64_MAX, "0-0 18446744073709551614-18446744073709551614"},
        {"bytes=0-18446744073709551613,18446744073709551614-", UINT64_MAX, "0-18446744073709551614"},
        {"bytes=0-9223372036854775807,9223372036854775809-", UINT64_MAX, "whole"},
    };
    check(cases, COUNT(cases));
}

/* Section 14.1.2: a range is satisfiable if its first-pos is before the end, or its suffix is not
 * empty. Else 416 (section 15.5.17). */
static void test_what_cannot_be_satisfied(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=10-", 10, "none"},    {"bytes=10-10", 10, "none"},        {"bytes=11-12", 10, "none"},
        {"bytes=-0", 10, "none"},     {"bytes=-00", 10, "none"},          {"bytes=10-,-0,11-11", 10, "none"},
        {"bytes=-0,1-2", 10, "1-2"}, /* one satisfiable range is enough */
        {"bytes=1-2,10-", 10, "1-2"}, {"bytes=10-,1-2,20-30", 10, "1-2"},
    };
    check(cases, COUNT(cases));
}

/* Section 14.2: a Range of an empty file may be ignored. */
static void test_an_empty_file_is_sent_whole(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=0-", 0, "whole"},  {"bytes=0-0", 0, "whole"},    {"bytes=-1", 0, "whole"}, {"bytes=-0", 0, "whole"},
        {"bytes=5-9", 0, "whole"}, {"bytes=0-0,-1", 0, "whole"}, {"garbage", 0, "whole"},
    };
    check(cases, COUNT(cases));
}

/* Section 14.1.1: one invalid range makes the field invalid; section 14.2: a server may ignore
 * it. */
static void test_what_is_not_valid_is_ignored(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"", 10, "whole"},
        {"bytes", 10, "whole"},
        {"bytes=", 10, "whole"},
        {"bytes= ", 10, "whole"},
        {"bytes=,", 10, "whole"},
        {"bytes=,, ,", 10, "whole"},
        {"bytes=-", 10, "whole"},
        {"bytes=--1", 10, "whole"},
        {"bytes=1", 10, "whole"},
        {"bytes=2-1", 10, "whole"},
        {"bytes=20-19", 10, "whole"},
        {"bytes=2-1,3-4", 10, "whole"},
        {"bytes=3-4,2-1", 10, "whole"},
        {"bytes=1-2,x", 10, "whole"},
        {"bytes=1-2,10-,x", 10, "whole"},
        {"bytes=1-2;3-4", 10, "whole"},
        {"bytes=1 -2", 10, "whole"},
        {"bytes=1- 2", 10, "whole"},
        {"bytes=- 2", 10, "whole"},
        {"bytes=1-2 3-4", 10, "whole"},
        {"bytes=1-2-", 10, "whole"},
        {"bytes=1-2-3", 10, "whole"},
        {"bytes=+1-2", 10, "whole"},
        {"bytes=0x1-2", 10, "whole"},
        {"bytes=1-2a", 10, "whole"},
        {"bytes=a-2", 10, "whole"},
        {"bytes=1.0-2", 10, "whole"},
        {"bytes=\"1-2\"", 10, "whole"},
        {"bytes =1-2", 10, "whole"},
        {" bytes=1-2", 10, "whole"},
        {"bytes:1-2", 10, "whole"},
        {"bytes 1-2", 10, "whole"},
        {"bytes 1-2/10", 10, "whole"},
        {"bytes==1-2", 10, "whole"},
        {"1-2", 10, "whole"},
        {"=1-2", 10, "whole"},
        {"bytes=1-2, bytes=3-4", 10, "whole"},
        {"bytes=*", 10, "whole"},
        {"bytes=1\xe2\x80\x93"
         "2",
         10, "whole"}, /* an en dash */
        {"bytes=\xb2-3", 10, "whole"},
    };
    check(cases, COUNT(cases));
}

/* Section 14.1: units in any case. Section 14.2: an unknown unit is ignored. */
static void test_only_bytes_are_a_unit(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"BYTES=1-2", 10, "1-2"},    {"Bytes=1-2", 10, "1-2"},    {"byte=1-2", 10, "whole"},
        {"bytess=1-2", 10, "whole"}, {"xbytes=1-2", 10, "whole"}, {"seconds=1-2", 10, "whole"},
        {"none=1-2", 10, "whole"},   {"lines=1-2", 10, "whole"},
    };
    check(cases, COUNT(cases));
}

/* Section 5.6.1.2: empty elements of a list are skipped. */
static void test_empty_elements_are_skipped(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=,1-2", 10, "1-2"},
        {"bytes=1-2,", 10, "1-2"},
        {"bytes=1-2,,", 10, "1-2"},
        {"bytes= , ,\t1-2 , ", 10, "1-2"},
        {"bytes=1-2,,,,5000-5001,", 10000, "1-2 5000-5001"},
    };
    check(cases, COUNT(cases));
}

/* Section 15.3.7.2: parts are in the requested order. Section 14.2: overlapping ranges may be
 * merged. */
static void test_several_ranges(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=0-1,5-6", 10000, "0-1 5-6"},
        {"bytes=5-6,0-1", 10000, "5-6 0-1"}, /* in the requested order */
        {"bytes=-5,0-1,50-59", 10000, "9995-9999 0-1 50-59"},
        {"bytes=0-1,3-4", 10000, "0-1 3-4"}, /* a gap of one is kept */
        {"bytes=0-1,2-3", 10000, "0-3"},     /* touching */
        {"bytes=2-3,0-1", 10000, "0-3"},
        {"bytes=0-5,3-8", 10000, "0-8"},
        {"bytes=3-8,0-5", 10000, "0-8"},
        {"bytes=0-9,3-4", 10000, "0-9"},
        {"bytes=3-4,0-9", 10000, "0-9"},
        {"bytes=3-4,3-4", 10000, "3-4"},
        {"bytes=3-4,50-59,3-4", 10000, "3-4 50-59"},
        {"bytes=50-59,3-4,55-69", 10000, "50-69 3-4"},
        {"bytes=0-1,10-11,20-21,2-19", 10000, "0-21"}, /* one that joins three */
        {"bytes=90-91,0-1,10-11,20-21,2-19", 10000, "90-91 0-21"},
        {"bytes=20-21,90-91,0-1,10-11,2-19", 10000, "0-21 90-91"},
        {"bytes=0-1,90-91,10-11,2-9,80-81", 10000, "0-11 90-91 80-81"},
        {"bytes=0-,0-", 10000, "0-9999"},
        {"bytes=0-4999,5000-", 10000, "0-9999"},
        {"bytes=-1,0-9999", 10000, "0-9999"},
    };
    check(cases, COUNT(cases));
}

/* Section 17.15: several parts are not sent if they cost more than they save. */
static void test_parts_that_cost_more_than_all_of_it_are_not_made(void **state) {
    (void)state;
    static const range_case cases[] = {
        {"bytes=0-0,-1", 10, "whole"},
        {"bytes=0-0,-1", 2 * NB_RANGE_PART_COST_BYTES + 1, "whole"},
        {"bytes=0-0,-1", 2 * NB_RANGE_PART_COST_BYTES + 2, "0-0 257-257"},
        {"bytes=0-4999,5001-", 10000, "whole"},
        {"bytes=0-4871,5000-9871", 10000, "0-4871 5000-9871"},
        {"bytes=0-4871,5000-9872", 10000, "whole"},
        {"bytes=0-5000,4000-9000", 10000, "0-9000"}, /* one part has no extra cost */
        {"bytes=0-9998", 10000, "0-9998"},
    };
    check(cases, COUNT(cases));
}

static void test_more_ranges_than_there_is_room_for_are_ignored(void **state) {
    (void)state;
    char value[4096], expected[4096];
    for (unsigned asked = NB_RANGES_MAX - 1; asked <= NB_RANGES_MAX + 2; asked++) {
        strcpy(value, "bytes=");
        expected[0] = 0;
        for (unsigned i = 0; i < asked; i++) {
            sprintf(value + strlen(value), "%s%u-%u", i ? "," : "", i * 10, i * 10 + 4);
            sprintf(expected + strlen(expected), "%s%u-%u", i ? " " : "", i * 10, i * 10 + 4);
        }
        assert_string_equal(describe(value, 1000000), asked <= NB_RANGES_MAX ? expected : "whole");
    }
    strcpy(value, "bytes=");
    for (unsigned i = 0; i <= NB_RANGES_MAX; i++) /* the same range many times (CVE-2011-3192) */
        strcat(value, "0-,");
    assert_string_equal(describe(value, 1000000), "whole");
}

/* Random sets, compared with a map of one byte for each byte of the file. */
static void test_random_sets_are_the_bytes_asked_for(void **state) {
    (void)state;
    enum { SIZE = 6000 };
    static uint8_t wanted[SIZE], sent[SIZE];
    nb_test_random random = {11};
    for (int round = 0; round < 20000; round++) {
        char value[1024] = "bytes=";
        nb_range ranges[NB_RANGES_MAX];
        uint16_t count;
        memset(wanted, 0, sizeof wanted);
        memset(sent, 0, sizeof sent);
        const uint64_t specs = 1 + nb_test_random_below(&random, NB_RANGES_MAX);
        for (uint64_t i = 0; i < specs; i++) {
            const uint64_t first = nb_test_random_below(&random, 3000);
            const uint64_t last = first + nb_test_random_below(&random, 300);
            sprintf(value + strlen(value), "%s%" PRIu64 "-%" PRIu64, i ? "," : "", first, last);
            memset(wanted + first, 1, (size_t)(last - first + 1));
        }
        assert_int_equal(parse(value, SIZE, ranges, &count), NB_RANGES_SOME);
        for (uint16_t i = 0; i < count; i++)
            for (uint64_t at = ranges[i].offset; at < ranges[i].offset + ranges[i].bytes; at++)
                sent[at]++;
        assert_memory_equal(wanted, sent, SIZE); /* each once */
    }
}

/* Section 14.4. */
static void test_content_range(void **state) {
    (void)state;
    static const struct {
        nb_range range;
        uint64_t size;
        const char *expected;
    } cases[] = {
        {{0, 500}, 1234, "bytes 0-499/1234"},
        {{500, 500}, 1234, "bytes 500-999/1234"},
        {{500, 734}, 1234, "bytes 500-1233/1234"},
        {{734, 500}, 1234, "bytes 734-1233/1234"},
        {{0, 1}, 1, "bytes 0-0/1"},
        {{EXABYTE, 1}, EXABYTE + 1, "bytes 1152921504606846976-1152921504606846976/1152921504606846977"},
        {{UINT64_MAX - 1, 1}, UINT64_MAX, "bytes 18446744073709551614-18446744073709551614/18446744073709551615"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[NB_CONTENT_RANGE_BYTES_MAX + 1];
        memset(out, 0x5a, sizeof out);
        const size_t bytes = nb_content_range_write(out, cases[i].range, cases[i].size);
        assert_in_range(bytes, 1, NB_CONTENT_RANGE_BYTES_MAX);
        assert_int_equal(out[bytes], 0x5a);
        out[bytes] = 0;
        assert_string_equal(out, cases[i].expected);
    }
}

static void test_content_range_of_a_416(void **state) {
    (void)state;
    static const struct {
        uint64_t size;
        const char *expected;
    } cases[] = {{1234, "bytes */1234"}, {0, "bytes */0"}, {UINT64_MAX, "bytes */18446744073709551615"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[NB_CONTENT_RANGE_BYTES_MAX + 1] = {0};
        assert_int_equal(nb_content_range_unsatisfied_write(out, cases[i].size), strlen(cases[i].expected));
        assert_string_equal(out, cases[i].expected);
    }
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(4096);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_the_rfc),
        cmocka_unit_test(test_one_range),
        cmocka_unit_test(test_numbers_past_64_bits),
        cmocka_unit_test(test_what_cannot_be_satisfied),
        cmocka_unit_test(test_an_empty_file_is_sent_whole),
        cmocka_unit_test(test_what_is_not_valid_is_ignored),
        cmocka_unit_test(test_only_bytes_are_a_unit),
        cmocka_unit_test(test_empty_elements_are_skipped),
        cmocka_unit_test(test_several_ranges),
        cmocka_unit_test(test_parts_that_cost_more_than_all_of_it_are_not_made),
        cmocka_unit_test(test_more_ranges_than_there_is_room_for_are_ignored),
        cmocka_unit_test(test_random_sets_are_the_bytes_asked_for),
        cmocka_unit_test(test_content_range),
        cmocka_unit_test(test_content_range_of_a_416),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
