/*
 * test_conditional.c - the five preconditions (RFC 9110 section 13) by tables: each alone, lists of
 * tags, dates, and all together in their order.
 */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "files/conditional.h"
#include "http/date.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define MODIFIED INT64_C(784111777) /* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW (MODIFIED + 86400)

#define DATE_BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define DATE_SAME "Sun, 06 Nov 1994 08:49:37 GMT"
#define DATE_AFTER "Sun, 06 Nov 1994 08:49:38 GMT"
#define DATE_FUTURE "Mon, 07 Nov 1994 08:49:38 GMT" /* a second after NOW */

static nb_slice text(const char *string) { return string ? nb_slice_of(string, strlen(string)) : nb_slice_of(NULL, 0); }

static const nb_validators *validators_of(const char *etag) {
    static nb_validators validators;
    validators = (nb_validators){text(etag), MODIFIED};
    return &validators;
}

static void expect(nb_condition expected, const nb_file_request *request, const nb_validators *validators,
                   const char *about) {
    const nb_condition found = nb_conditional_decide(request, validators, NOW);
    if (found != expected) fail_msg("%s: %d, not %d", about, found, expected);
}

typedef struct list_case {
    const char *list, *etag;
    bool weakly, strongly; /* matches */
} list_case;

static void check_lists(const list_case *cases, size_t count) {
    guarded memory = guarded_create(1024);
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(cases[i].list);
        const nb_slice list = {guarded_place(&memory, cases[i].list, size), size};
        const nb_file_request none = {.method = NB_METHOD_GET, .if_none_match = list};
        const nb_file_request match = {.method = NB_METHOD_GET, .if_match = list};
        expect(cases[i].weakly ? NB_CONDITION_NOT_MODIFIED : NB_CONDITION_PASS, &none, validators_of(cases[i].etag),
               cases[i].list);
        expect(cases[i].strongly ? NB_CONDITION_PASS : NB_CONDITION_FAILED, &match, validators_of(cases[i].etag),
               cases[i].list);
    }
    guarded_destroy(&memory);
}

/* The table of section 8.8.3.2. */
static void test_tags_are_compared_weakly_and_strongly(void **state) {
    (void)state;
    static const list_case cases[] = {
        {"W/\"1\"", "W/\"1\"", true, false},
        {"W/\"2\"", "W/\"1\"", false, false},
        {"\"1\"", "W/\"1\"", true, false},
        {"W/\"1\"", "\"1\"", true, false},
        {"\"1\"", "\"1\"", true, true},
        {"\"2\"", "\"1\"", false, false},
        {"\"\"", "\"\"", true, true},
        {"\"\"", "\"1\"", false, false},
        {"\"A\"", "\"a\"", false, false}, /* byte by byte */
        {"\"a\"", "\"ab\"", false, false},
        {"\"ab\"", "\"a\"", false, false},
        {"\"\xc3\xa9\"", "\"\xc3\xa9\"", true, true}, /* obs-text */
        {"\"a\\\"", "\"a\\\"", true, true},           /* a backslash is a byte like any other */
        {"\"!#~\"", "\"!#~\"", true, true},
    };
    check_lists(cases, COUNT(cases));
}

/* Sections 13.1.1, 13.1.2: "*" matches any representation. Not in quotes, and not in a list. */
static void test_a_star_names_whatever_there_is(void **state) {
    (void)state;
    static const list_case cases[] = {
        {"*", "\"1\"", true, true},      {"*", "W/\"1\"", true, true},        {"*", NULL, true, true},
        {"*", "no tag", true, true},     {"\"*\"", "\"1\"", false, false},    {"\"*\"", "\"*\"", true, true},
        {"*, *", "\"1\"", false, false}, {"*, \"2\"", "\"1\"", false, false}, {"*, \"1\"", "\"1\"", true, true},
        {"**", "\"1\"", false, false},   {"*x", "\"1\"", false, false},       {"W/*", "\"1\"", false, false},
    };
    check_lists(cases, COUNT(cases));
}

/* Section 5.6.1. */
static void test_lists(void **state) {
    (void)state;
    static const list_case cases[] = {
        {"\"a\", \"b\"", "\"a\"", true, true},
        {"\"a\", \"b\"", "\"b\"", true, true},
        {"\"a\",\"b\",\"c\"", "\"b\"", true, true},
        {"\"a\" , \t \"b\"\t", "\"b\"", true, true},
        {"\"xyzzy\", \"r2d2xxxx\", \"c3piozzzz\"", "\"c3piozzzz\"", true, true},
        {"W/\"xyzzy\", W/\"r2d2xxxx\"", "W/\"r2d2xxxx\"", true, false},
        {"W/\"a\", \"a\"", "\"a\"", true, true},
        {"\"a\", \"b\"", "\"c\"", false, false},
        {",\"a\"", "\"a\"", true, true}, /* empty elements */
        {"\"a\",", "\"a\"", true, true},
        {", ,\t\"a\",,", "\"a\"", true, true},
        {",", "\"a\"", false, false},
        {" ", "\"a\"", false, false},
        {"\"a,b\"", "\"a,b\"", true, true}, /* a comma in a tag */
        {"\"x\", \"a,b\", \"y\"", "\"a,b\"", true, true},
        {"\"a,b\"", "\"b\"", false, false},
        {"\"x,\"b\",y\"", "\"b\"", false, false},
    };
    check_lists(cases, COUNT(cases));
}

static void test_what_is_no_tag_names_nothing(void **state) {
    (void)state;
    static const list_case cases[] = {
        {"", "\"a\"", false, false},
        {"a", "\"a\"", false, false},
        {"a", "a", false, false}, /* an application's tag without quotes */
        {"\"a\"", "a", false, false},
        {"\"a", "\"a\"", false, false},
        {"a\"", "\"a\"", false, false},
        {"'a'", "\"a\"", false, false},
        {"\"a\"x", "\"a\"", false, false},
        {"x\"a\"", "\"a\"", false, false},
        {"\"a\"\"a\"", "\"a\"", false, false},
        {"\"a\" \"a\"", "\"a\"", false, false},
        {"\"a\";q=1", "\"a\"", false, false},
        {"w/\"a\"", "\"a\"", false, false}, /* W/ is upper case */
        {"W\"a\"", "\"a\"", false, false},
        {"W /\"a\"", "\"a\"", false, false},
        {"W/ \"a\"", "\"a\"", false, false},
        {"W/a", "W/a", false, false},
        {"W/", "\"a\"", false, false},
        {"W", "\"a\"", false, false},
        {"\"", "\"a\"", false, false},
        {"\"a b\"", "\"a b\"", false, false}, /* no space in a tag */
        {"\"a\tb\"", "\"a\tb\"", false, false},
        {"\"a\"", "\"a\" ", false, false},
        {"\"a\"", "\"a\", \"b\"", false, false},
        {"\"a\"", "", false, false},
        {"\"a\"", NULL, false, false},
        {"\"\"", NULL, false, false},
        {"a, \"b\"", "\"b\"", true, true}, /* the rest of the list still counts */
        {"\"a\"x, \"b\"", "\"b\"", true, true},
        {"\"a b\", \"c\"", "\"c\"", true, true},
    };
    check_lists(cases, COUNT(cases));
}

/* Section 13.1.3. A date later than our clock is in no answer of ours. */
static void test_if_modified_since(void **state) {
    (void)state;
    static const struct {
        const char *date;
        nb_condition expected;
    } cases[] = {
        {DATE_BEFORE, NB_CONDITION_PASS},
        {DATE_SAME, NB_CONDITION_NOT_MODIFIED},
        {DATE_AFTER, NB_CONDITION_NOT_MODIFIED},
        {"Sunday, 06-Nov-94 08:49:36 GMT", NB_CONDITION_PASS},
        {"Sunday, 06-Nov-94 08:49:37 GMT", NB_CONDITION_NOT_MODIFIED},
        {"Sun Nov  6 08:49:37 1994", NB_CONDITION_NOT_MODIFIED},
        {"Mon, 07 Nov 1994 08:49:37 GMT", NB_CONDITION_NOT_MODIFIED}, /* now */
        {DATE_FUTURE, NB_CONDITION_PASS},
        {"Fri, 31 Dec 9999 23:59:59 GMT", NB_CONDITION_PASS},
        {"", NB_CONDITION_PASS},
        {"yesterday", NB_CONDITION_PASS},
        {"*", NB_CONDITION_PASS},
        {"\"a\"", NB_CONDITION_PASS},
        {"784111777", NB_CONDITION_PASS},
        {DATE_SAME ", " DATE_SAME, NB_CONDITION_PASS},
        {"Sun, 06 Nov 1994 08:49:37 CET", NB_CONDITION_PASS},
        {"Mon, 31 Nov 1994 08:49:37 GMT", NB_CONDITION_PASS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        nb_file_request request = {.method = NB_METHOD_GET, .if_modified_since = text(cases[i].date)};
        expect(cases[i].expected, &request, validators_of("\"a\""), cases[i].date);
        request.method = NB_METHOD_HEAD;
        expect(cases[i].expected, &request, validators_of(NULL), cases[i].date);
    }
}

/* Section 13.1.4. */
static void test_if_unmodified_since(void **state) {
    (void)state;
    static const struct {
        const char *date;
        nb_condition expected;
    } cases[] = {
        {DATE_BEFORE, NB_CONDITION_FAILED},
        {DATE_SAME, NB_CONDITION_PASS},
        {DATE_AFTER, NB_CONDITION_PASS},
        {DATE_FUTURE, NB_CONDITION_PASS},
        {"Sunday, 06-Nov-94 08:49:36 GMT", NB_CONDITION_FAILED},
        {"Sun Nov  6 08:49:36 1994", NB_CONDITION_FAILED},
        {"", NB_CONDITION_PASS}, /* not valid: ignored */
        {"never", NB_CONDITION_PASS},
        {DATE_BEFORE ", " DATE_BEFORE, NB_CONDITION_PASS},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const nb_file_request request = {.method = NB_METHOD_GET, .if_unmodified_since = text(cases[i].date)};
        expect(cases[i].expected, &request, validators_of("\"a\""), cases[i].date);
    }
}

/* Sections 13.1.3, 13.1.4: ignored when there is no date to compare with. */
static void test_without_a_date_dates_are_ignored(void **state) {
    (void)state;
    const nb_validators undated = {text("\"a\""), NB_NO_DATE};
    const nb_file_request since = {.method = NB_METHOD_GET, .if_modified_since = text(DATE_AFTER)};
    const nb_file_request until = {.method = NB_METHOD_GET, .if_unmodified_since = text(DATE_BEFORE)};
    expect(NB_CONDITION_PASS, &since, &undated, "If-Modified-Since");
    expect(NB_CONDITION_PASS, &until, &undated, "If-Unmodified-Since");
}

/* A file with a time in the future is newer than any date of a client. */
static void test_a_file_from_the_future_is_always_modified(void **state) {
    (void)state;
    const nb_validators ahead = {text("\"a\""), NOW + 1000};
    const nb_file_request since = {.method = NB_METHOD_GET, .if_modified_since = text("Mon, 07 Nov 1994 08:49:37 GMT")};
    expect(NB_CONDITION_PASS, &since, &ahead, "If-Modified-Since");
}

/* Section 13.2.2, the whole table: each field absent, true, or false. */
static void test_the_five_in_their_order(void **state) {
    (void)state;
    enum { ABSENT, TRUE, FALSE };
    for (int c = 0; c < 81; c++) {
        const int match = c % 3, unmodified = c / 3 % 3, none = c / 9 % 3, modified = c / 27;
        const char *const tags[] = {NULL, "\"mine\"", "\"other\""};
        const nb_file_request request = {.method = NB_METHOD_GET,
                                         .if_match = text(tags[match]),
                                         .if_unmodified_since = text(unmodified == ABSENT ? NULL
                                                                     : unmodified == TRUE ? DATE_SAME
                                                                                          : DATE_BEFORE),
                                         .if_none_match = text(none == ABSENT ? NULL
                                                               : none == TRUE ? tags[FALSE]
                                                                              : tags[TRUE]),
                                         .if_modified_since = text(modified == ABSENT ? NULL
                                                                   : modified == TRUE ? DATE_BEFORE
                                                                                      : DATE_SAME)};
        const bool failed = match == FALSE || (match == ABSENT && unmodified == FALSE);
        const bool same = none == FALSE || (none == ABSENT && modified == FALSE);
        char about[64];
        snprintf(about, sizeof about, "IM %d IUS %d INM %d IMS %d", match, unmodified, none, modified);
        expect(failed ? NB_CONDITION_FAILED
               : same ? NB_CONDITION_NOT_MODIFIED
                      : NB_CONDITION_PASS,
               &request, validators_of("\"mine\""), about);
    }
}

static void test_a_field_that_cannot_be_used_still_stands_for_the_weaker_one(void **state) {
    (void)state;
    const nb_file_request none = {
        .method = NB_METHOD_GET, .if_none_match = text(""), .if_modified_since = text(DATE_SAME)};
    const nb_file_request match = {
        .method = NB_METHOD_GET, .if_match = text(""), .if_unmodified_since = text(DATE_SAME)};
    expect(NB_CONDITION_PASS, &none, validators_of("\"a\""), "If-None-Match");
    expect(NB_CONDITION_FAILED, &match, validators_of("\"a\""), "If-Match");
}

/* Section 13.2.1: conditions come before the action, and the answer to another method comes after
 * it. */
static void test_other_methods_have_been_done_already(void **state) {
    (void)state;
    for (int method = 0; method < NB_METHOD_COUNT; method++) {
        const bool asked = method == NB_METHOD_GET || method == NB_METHOD_HEAD;
        const nb_file_request none = {.method = (uint16_t)method, .if_none_match = text("*")};
        const nb_file_request match = {.method = (uint16_t)method, .if_match = text("\"b\"")};
        expect(asked ? NB_CONDITION_NOT_MODIFIED : NB_CONDITION_PASS, &none, validators_of("\"a\""), "If-None-Match");
        expect(asked ? NB_CONDITION_FAILED : NB_CONDITION_PASS, &match, validators_of("\"a\""), "If-Match");
    }
}

static void test_no_condition_is_no_condition(void **state) {
    (void)state;
    const nb_file_request request = {.method = NB_METHOD_GET};
    expect(NB_CONDITION_PASS, &request, validators_of("\"a\""), "nothing");
    expect(NB_CONDITION_PASS, &request, validators_of(NULL), "nothing, no tag");
}

/* Section 13.1.5: the same strong tag, or exactly the same date. */
static void test_if_range(void **state) {
    (void)state;
    static const struct {
        const char *if_range, *etag;
        bool holds;
    } cases[] = {
        {NULL, "\"a\"", true},
        {"\"a\"", "\"a\"", true},
        {"\"b\"", "\"a\"", false},
        {"W/\"a\"", "\"a\"", false},
        {"\"a\"", "W/\"a\"", false},
        {"W/\"a\"", "W/\"a\"", false},
        {"\"a\", \"b\"", "\"a\"", false}, /* one, not a list */
        {"\"a\" ", "\"a\"", false},
        {"*", "\"a\"", false},
        {"a", "\"a\"", false},
        {"a", "a", false},
        {"\"a\"", NULL, false},
        {"\"\"", NULL, false},
        {"", "\"a\"", false},
        {DATE_SAME, "\"a\"", true}, /* the date counts beside a tag */
        {DATE_SAME, NULL, true},
        {"Sunday, 06-Nov-94 08:49:37 GMT", NULL, true},
        {"Sun Nov  6 08:49:37 1994", NULL, true},
        {DATE_BEFORE, NULL, false},
        {DATE_AFTER, NULL, false}, /* exactly: not "since" */
        {DATE_FUTURE, NULL, false},
        {DATE_SAME ", " DATE_SAME, NULL, false},
        {"Sun, 06 Nov 1994 08:49:37", NULL, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        nb_file_request request = {
            .method = NB_METHOD_GET, .range = text("bytes=0-1"), .if_range = text(cases[i].if_range)};
        if (nb_conditional_range_holds(&request, validators_of(cases[i].etag), NOW) != cases[i].holds)
            fail_msg("%s of %s", cases[i].if_range, cases[i].etag);
        request.range = text(NULL);
        assert_false(nb_conditional_range_holds(&request, validators_of(cases[i].etag), NOW));
    }
}

/* Section 8.8.2.2: a date is weak while the file may change again within it. */
static void test_a_young_date_is_no_strong_validator(void **state) {
    (void)state;
    static const struct {
        int64_t now_s;
        bool holds;
    } cases[] = {{MODIFIED - 1, false},
                 {MODIFIED, false},
                 {MODIFIED + 1, false},
                 {MODIFIED + NB_STRONG_DATE_AGE_S - 1, false},
                 {MODIFIED + NB_STRONG_DATE_AGE_S, true},
                 {NOW, true}};
    const nb_file_request request = {.method = NB_METHOD_GET, .range = text("bytes=0-1"), .if_range = text(DATE_SAME)};
    const nb_validators undated = {text("\"a\""), NB_NO_DATE};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(nb_conditional_range_holds(&request, validators_of(NULL), cases[i].now_s), cases[i].holds);
    assert_false(nb_conditional_range_holds(&request, &undated, NOW));
}

/* Section 14.2: GET is the only method for which range handling is defined. */
static void test_ranges_are_for_get_alone(void **state) {
    (void)state;
    for (int method = 0; method < NB_METHOD_COUNT; method++) {
        const nb_file_request request = {.method = (uint16_t)method, .range = text("bytes=0-1")};
        assert_int_equal(nb_conditional_range_holds(&request, validators_of("\"a\""), NOW), method == NB_METHOD_GET);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags_are_compared_weakly_and_strongly),
        cmocka_unit_test(test_a_star_names_whatever_there_is),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_what_is_no_tag_names_nothing),
        cmocka_unit_test(test_if_modified_since),
        cmocka_unit_test(test_if_unmodified_since),
        cmocka_unit_test(test_without_a_date_dates_are_ignored),
        cmocka_unit_test(test_a_file_from_the_future_is_always_modified),
        cmocka_unit_test(test_the_five_in_their_order),
        cmocka_unit_test(test_a_field_that_cannot_be_used_still_stands_for_the_weaker_one),
        cmocka_unit_test(test_other_methods_have_been_done_already),
        cmocka_unit_test(test_no_condition_is_no_condition),
        cmocka_unit_test(test_if_range),
        cmocka_unit_test(test_a_young_date_is_no_strong_validator),
        cmocka_unit_test(test_ranges_are_for_get_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
