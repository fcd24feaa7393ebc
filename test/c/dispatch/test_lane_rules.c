/*
 * test_lane_rules.c - the application's rules: which one takes a request, and their bounds.
 */
#include "dispatch/lane_rules.h"

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

/* -1: none takes it. */
static int lane_of(nb_method method, const char *path) {
    const nb_lane_rule *rule = nb_lane_rules_find(&rules, method, text(path));
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

static void a_very_long_path_is_taken_by_none(void **state) {
    (void)state;
    char path[NB_LANE_PATH_BYTES_MAX + 2];
    memset(path, '/', sizeof path);
    memset(path + 1, 'a', sizeof path - 2);
    path[NB_LANE_PATH_BYTES_MAX] = '\0';
    add(GET, "/\2", 1);
    assert_int_equal(1, lane_of(NB_METHOD_GET, path));
    path[NB_LANE_PATH_BYTES_MAX] = 'a';
    path[NB_LANE_PATH_BYTES_MAX + 1] = '\0';
    assert_int_equal(-1, lane_of(NB_METHOD_GET, path));
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
        CASE(a_very_long_path_is_taken_by_none),
        CASE(what_is_no_rule_is_refused_and_a_full_table_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
