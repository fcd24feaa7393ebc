/*
 * test_date.c - dates (RFC 9110 section 5.6.7): written and compared with strftime, read in three
 * forms and compared with timegm, and invalid ones.
 */
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "http/date.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NOW INT64_C(1795330000)    /* 2026-11-22 */
#define LAST INT64_C(253402300799) /* 9999-12-31 23:59:59 */
#define UNTOUCHED INT64_C(-77)

static guarded memory;

/* Parses a text that ends at a guarded page. */
static bool parse_bytes(const char *text, size_t size, int64_t now_s, int64_t *epoch_s) {
    *epoch_s = UNTOUCHED;
    const bool valid = nb_http_date_parse(nb_slice_of(guarded_place(&memory, text, size), size), now_s, epoch_s);
    if (!valid) assert_int_equal(*epoch_s, UNTOUCHED);
    return valid;
}

static bool parse(const char *text, int64_t *epoch_s) { return parse_bytes(text, strlen(text), NOW, epoch_s); }

static void assert_reads(const char *text, int64_t expected) {
    int64_t epoch_s;
    if (!parse(text, &epoch_s) || epoch_s != expected)
        fail_msg("\"%s\" is read as %lld, not %lld", text, (long long)epoch_s, (long long)expected);
}

static void check_written(int64_t epoch_s) {
    char line[NB_DATE_LINE_BYTES + 1], expected[64];
    const time_t time = (time_t)epoch_s;
    struct tm utc;
    gmtime_r(&time, &utc);
    strftime(expected, sizeof expected, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
    memset(line, 0x5a, sizeof line);
    nb_date_line_write(line, epoch_s);
    assert_int_equal(line[NB_DATE_LINE_BYTES], 0x5a);
    line[NB_DATE_LINE_BYTES] = 0;
    assert_string_equal(line, expected);
    memset(line, 0x5a, sizeof line);
    nb_http_date_write(line, epoch_s);
    assert_int_equal(line[NB_HTTP_DATE_BYTES], 0x5a);
    assert_memory_equal(line, expected + 6, NB_HTTP_DATE_BYTES);
}

static void check_read(int64_t epoch_s) {
    char text[64];
    const time_t time = (time_t)epoch_s;
    struct tm utc;
    gmtime_r(&time, &utc);
    strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    assert_reads(text, epoch_s);
    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &utc);
    assert_reads(text, epoch_s);
    strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &utc);
    assert_reads(text, epoch_s);
    if (utc.tm_year < 77 || utc.tm_year > 176) return;
    strftime(text, sizeof text, "%A, %d-%b-%y %H:%M:%S GMT", &utc);
    if (utc.tm_year < 176) assert_reads(text, epoch_s);
}

static void over_many_times(void (*check)(int64_t)) {
    static const int64_t some[] = {0,         1,         784111777,  951782399,  951782400,
                                   951868799, 951868800, 4107542399, 4107542400, LAST};
    for (size_t i = 0; i < COUNT(some); i++)
        check(some[i]);
    nb_test_random random = {3};
    for (int i = 0; i < 30000; i++)
        check((int64_t)nb_test_random_below(&random, (uint64_t)LAST + 1));
    for (int64_t day = 0; day < 200 * 366; day++)
        check(day * 86400 + 86399);
}

static void test_dates_are_written_as_strftime_writes_them(void **state) {
    (void)state;
    over_many_times(check_written);
}

static void test_dates_are_read_in_their_three_forms(void **state) {
    (void)state;
    over_many_times(check_read);
}

static void test_times_that_have_no_date_are_held_to_the_nearest_that_has(void **state) {
    (void)state;
    char line[NB_DATE_LINE_BYTES], first[NB_DATE_LINE_BYTES], last[NB_DATE_LINE_BYTES];
    nb_date_line_write(first, 0);
    nb_date_line_write(last, LAST);
    nb_date_line_write(line, -1);
    assert_memory_equal(line, first, sizeof line);
    nb_date_line_write(line, INT64_MIN);
    assert_memory_equal(line, first, sizeof line);
    nb_date_line_write(line, INT64_MAX);
    assert_memory_equal(line, last, sizeof line);
}

static void test_the_examples_of_the_rfc(void **state) {
    (void)state;
    assert_reads("Sun, 06 Nov 1994 08:49:37 GMT", 784111777);
    assert_reads("Sunday, 06-Nov-94 08:49:37 GMT", 784111777);
    assert_reads("Sun Nov  6 08:49:37 1994", 784111777);
}

static void test_edges_that_are_dates(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t epoch_s;
    } cases[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Mon, 01 Jan 0001 00:00:00 GMT", INT64_C(-62135596800)},
        {"Sat, 01 Jan 0000 00:00:00 GMT", INT64_C(-62167219200)},
        {"Tue, 29 Feb 0000 12:00:00 GMT", INT64_C(-62162078400)},
        {"Fri, 31 Dec 9999 23:59:59 GMT", LAST},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
        {"Thu, 29 Feb 2024 00:00:00 GMT", 1709164800},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800}, /* a leap second is the second after it */
        {"Saturday, 31-Dec-16 23:59:60 GMT", 1483228800},
        {"Sat Dec 31 23:59:60 2016", 1483228800},
        {"Mon, 06 Nov 1994 08:49:37 GMT", 784111777}, /* it was a Sunday */
        {"Wednesday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov 06 08:49:37 1994", 784111777},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_reads(cases[i].text, cases[i].epoch_s);
}

static void test_what_is_no_date(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "0",
        "Sun",
        "Sun,",
        "784111777",
        "never",
        /* letter case counts */
        "sun, 06 Nov 1994 08:49:37 GMT",
        "SUN, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 NOV 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "sunday, 06-Nov-94 08:49:37 GMT",
        "Sun nov  6 08:49:37 1994",
        /* other zones */
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 UT ",
        "Sun, 06 Nov 1994 08:49:37 GXT",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37",
        "Sunday, 06-Nov-94 08:49:37 UTC",
        /* times that do not exist */
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Oct 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 30 Feb 2000 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT",
        "Sunday, 29-Feb-23 08:49:37 GMT",
        "Sun Feb 29 08:49:37 2023",
        "Sun Nov  0 08:49:37 1994",
        "Sun Nov 00 08:49:37 1994",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:60 GMT",
        "Sun, 06 Nov 1994 22:59:60 GMT",
        "Sun, 06 Nov 1994 23:59:61 GMT",
        "Sun, 06 Nov 1994 99:99:99 GMT",
        /* other shapes */
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov  994 08:49:37 GMT",
        "Sun, 06 Nov +994 08:49:37 GMT",
        "Sun, 06 Nov 1994  8:49:37 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT; length=9",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
        "Nov, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Sun 1994 08:49:37 GMT",
        "Sun, 06 anF 1994 08:49:37 GMT",
        "unM, 06 Nov 1994 08:49:37 GMT",
        "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sunda, 06-Nov-94 08:49:37 GMT",
        "Sundays, 06-Nov-94 08:49:37 GMT",
        "Wedday, 06-Nov-94 08:49:37 GMT",
        "Sunsday, 06-Nov-94 08:49:37 GMT",
        "Wednesdays, 06-Nov-94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov   6 08:49:37 994",
        "Sun Nov 6  08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sunday Nov  6 08:49:37 1994",
        "1994-11-06T08:49:37Z",
    };
    int64_t epoch_s;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (parse(cases[i], &epoch_s)) fail_msg("\"%s\" was taken for %lld", cases[i], (long long)epoch_s);
}

static void test_each_byte_of_a_date_counts(void **state) {
    (void)state;
    static const char *const dates[] = {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    int64_t epoch_s;
    for (size_t i = 0; i < COUNT(dates); i++) {
        char text[64];
        const size_t size = strlen(dates[i]);
        for (size_t at = 0; at < size; at++) {
            memcpy(text, dates[i], size);
            for (const char *wrong = "x/:*~"; *wrong; wrong++) {
                if ((text[at] = *wrong) != dates[i][at]) assert_false(parse_bytes(text, size, NOW, &epoch_s));
            }
            text[at] = 0;
            assert_false(parse_bytes(text, size, NOW, &epoch_s));
            assert_false(parse_bytes(dates[i], at, NOW, &epoch_s)); /* cut off */
        }
    }
}

/* Section 5.6.7: a year more than 50 years ahead is the last year in the past with these digits. */
static void test_two_digits_of_a_year_are_at_most_fifty_years_ahead(void **state) {
    (void)state;
    static const struct {
        const char *now, *text, *year;
    } cases[] = {
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Nov-26 08:49:37 GMT", "2026"},
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Nov-27 08:49:37 GMT", "2027"},
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Nov-76 08:49:37 GMT", "2076"},
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Dec-76 08:49:37 GMT", "1976"},
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Nov-77 08:49:37 GMT", "1977"},
        {"Sun, 22 Nov 2026 00:00:00 GMT", "Sunday, 06-Nov-00 08:49:37 GMT", "2000"},
        {"Thu, 22 Nov 1996 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "1994"},
        {"Thu, 22 Nov 1996 00:00:00 GMT", "Sunday, 06-Nov-05 08:49:37 GMT", "2005"},
        {"Thu, 22 Nov 1996 00:00:00 GMT", "Sunday, 06-Nov-47 08:49:37 GMT", "1947"},
        {"Thu, 01 Jan 1970 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "1994"},
        {"Thu, 01 Jan 1970 00:00:00 GMT", "Sunday, 06-Nov-21 08:49:37 GMT", "1921"},
        {"Sat, 22 Nov 2098 00:00:00 GMT", "Sunday, 06-Nov-48 08:49:37 GMT", "2148"},
        {"Sat, 22 Nov 2098 00:00:00 GMT", "Sunday, 06-Nov-49 08:49:37 GMT", "2049"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t now_s, found_s, expected_s;
        char expected[NB_HTTP_DATE_BYTES + 1];
        assert_true(parse(cases[i].now, &now_s));
        snprintf(expected, sizeof expected, "Sun, 06 %.3s %s 08:49:37 GMT", cases[i].text + 11, cases[i].year);
        assert_true(parse(expected, &expected_s));
        assert_true(parse_bytes(cases[i].text, strlen(cases[i].text), now_s, &found_s));
        if (found_s != expected_s) fail_msg("%s at %s is not %s", cases[i].text, cases[i].now, cases[i].year);
    }
}

static void test_a_broken_clock_breaks_no_date(void **state) {
    (void)state;
    static const int64_t clocks[] = {INT64_MIN, -1, 0, INT64_MAX};
    const char *const date = "Sunday, 06-Nov-94 08:49:37 GMT";
    for (size_t i = 0; i < COUNT(clocks); i++) {
        int64_t epoch_s;
        assert_true(parse_bytes(date, strlen(date), clocks[i], &epoch_s));
    }
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(128);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates_are_written_as_strftime_writes_them),
        cmocka_unit_test(test_dates_are_read_in_their_three_forms),
        cmocka_unit_test(test_times_that_have_no_date_are_held_to_the_nearest_that_has),
        cmocka_unit_test(test_the_examples_of_the_rfc),
        cmocka_unit_test(test_edges_that_are_dates),
        cmocka_unit_test(test_what_is_no_date),
        cmocka_unit_test(test_each_byte_of_a_date_counts),
        cmocka_unit_test(test_two_digits_of_a_year_are_at_most_fifty_years_ahead),
        cmocka_unit_test(test_a_broken_clock_breaks_no_date),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
