/*
 * test_lane_rules.c - the application's rules: which one takes a request, and their bounds.
 */
#include "dispatch/lane_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { GET = 1 << NB_METHOD_GET, POST = 1 << NB_METHOD_POST };

static nb_lane_rules rules;

static int setup(void **state) {
    (void)state;
    memset(&rules, 0, sizeof rules);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

static void add(uint16_t methods, const char *pattern, uint16_t lane) {
    assert_status(NB_OK, nb_lane_rules_add(&rules, methods, text(pattern), lane));
}

/* -1: none takes it. The path lies in memory of exactly its size, so that ASan sees a byte read
   beyond it. */
static int lane_of(nb_method method, const char *path) {
    size_t size = strlen(path);
    char *exact = malloc(size);
    memcpy(exact, path, size);
    const nb_lane_rule *rule = nb_lane_rules_find(&rules, method, nb_slice_of(exact, size));
    free(exact);
    return rule ? rule->lane : -1;
}

static void the_first_that_takes_method_and_path_wins(void **state) {
    (void)state;
    add(GET, "/r/new", 0);
    add(GET | POST, "/r/\1", 2);
    add(GET, "/r/\2", 3);
    assert_int_equal(0, lane_of(NB_METHOD_GET, "/r/new"));
    assert_int_equal(2, lane_of(NB_METHOD_POST, "/r/new"));
    assert_int_equal(2, lane_of(NB_METHOD_GET, "/r/7"));
    assert_int_equal(3, lane_of(NB_METHOD_GET, "/r/7/x"));
    assert_int_equal(-1, lane_of(NB_METHOD_POST, "/r/7/x"));
    assert_int_equal(-1, lane_of(NB_METHOD_GET, "/"));
}

static void slashes_at_the_end_do_not_count(void **state) {
    (void)state;
    add(GET, "/r", 1);
    add(GET, "/", 2);
    assert_int_equal(1, lane_of(NB_METHOD_GET, "/r//"));
    assert_int_equal(2, lane_of(NB_METHOD_GET, "//"));
}

static void slashes_in_a_row_are_one(void **state) {
    (void)state;
    add(GET, "/r/\1/x", 1);
    const char *const same[] = {"//r/7/x", "/r//7/x", "/r/7///x//", "///r//7//x"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_int_equal(1, lane_of(NB_METHOD_GET, same[i]));
    assert_int_equal(-1, lane_of(NB_METHOD_GET, "/r//x"));
}

static void digits_of_an_encoded_byte_are_capitals(void **state) {
    (void)state;
    add(GET, "/%C3%BC/x", 1);
    add(GET, "/%2F/\1", 2);
    add(GET, "/%25c3", 3);
    add(GET, "/%E2%82%AC\2", 4);
    assert_int_equal(1, lane_of(NB_METHOD_GET, "/%c3%bc/x"));
    assert_int_equal(1, lane_of(NB_METHOD_GET, "//%c3%BC/x"));
    assert_int_equal(1, lane_of(NB_METHOD_GET, "/\xc3%bc/x"));
    assert_int_equal(2, lane_of(NB_METHOD_GET, "/%2f/%c3"));
    assert_int_equal(3, lane_of(NB_METHOD_GET, "/%25c3"));
    assert_int_equal(4, lane_of(NB_METHOD_GET, "/%e2%82%ac/%c"));
    const char *const others[] = {"/%cB%bc/x", "/%2%66/x", "/%", "/%e", "/%e2%82%a"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(-1, lane_of(NB_METHOD_GET, others[i]));
}

static void a_very_long_path_is_taken_as_a_short_one(void **state) {
    (void)state;
    enum { DIGITS = 3000 };
    char *path = malloc(DIGITS + 16);
    add(GET, "/r/\1/x", 1);
    for (int doubled = 0; doubled < 2; doubled++) {
        size_t begun = (size_t)sprintf(path, doubled ? "/r//" : "/r/");
        memset(path + begun, '7', DIGITS);
        strcpy(path + begun + DIGITS, "/x");
        assert_int_equal(1, lane_of(NB_METHOD_GET, path));
        path[begun + DIGITS + 1] = 'y';
        assert_int_equal(-1, lane_of(NB_METHOD_GET, path));
    }
    free(path);
}

static void what_is_no_rule_is_refused_and_a_full_table_takes_no_more(void **state) {
    (void)state;
    assert_status(NB_INVALID, nb_lane_rules_add(&rules, 0, text("/a"), 1));
    assert_status(NB_INVALID, nb_lane_rules_add(&rules, GET, text("a"), 1));
    assert_int_equal(0, rules.count + rules.text_bytes);
    for (unsigned i = 0; i < NB_LANE_RULES_MAX; i++)
        add(GET, "/a", 1);
    assert_status(NB_FULL, nb_lane_rules_add(&rules, GET, text("/a"), 1));

    setup(NULL);
    char *longest = malloc(NB_LANE_RULES_TEXT_BYTES);
    memset(longest, '/', NB_LANE_RULES_TEXT_BYTES);
    assert_status(NB_OK, nb_lane_rules_add(&rules, GET, nb_slice_of(longest, NB_LANE_RULES_TEXT_BYTES), 1));
    assert_status(NB_FULL, nb_lane_rules_add(&rules, GET, text("/"), 1));
    free(longest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_first_that_takes_method_and_path_wins),
        CASE(slashes_at_the_end_do_not_count),
        CASE(slashes_in_a_row_are_one),
        CASE(digits_of_an_encoded_byte_are_capitals),
        CASE(a_very_long_path_is_taken_as_a_short_one),
        CASE(what_is_no_rule_is_refused_and_a_full_table_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
