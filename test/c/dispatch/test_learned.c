/*
 * test_learned.c - when request classes go to the lane because they have stalled, when they
 * return, and for how long. The test sets the time.
 */
#include "dispatch/learned.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

static nb_learned learned;
static int64_t now_ns;

static int setup(void **state) {
    (void)state;
    memset(&learned, 0, sizeof learned);
    now_ns = NB_NS_PER_S;
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }
static bool stalls(const char *path) { return nb_learned_stalled(&learned, NB_METHOD_GET, text(path), now_ns); }
static bool in_lane(const char *path) { return nb_learned_in_lane(&learned, NB_METHOD_GET, text(path)); }
static bool returns(void) { return nb_learned_return(&learned, now_ns); }

static void stalls_until_learned(const char *path) {
    for (unsigned i = 1; i < NB_LEARNED_AFTER; i++)
        assert_false(stalls(path));
    assert_true(stalls(path));
}

static void those_that_stall_again_and_again_are_in_the_lane(void **state) {
    (void)state;
    assert_false(stalls("/r/1"));
    assert_false(stalls("/r/22"));
    assert_false(in_lane("/r/1"));
    assert_true(stalls("/r/a3"));
    assert_true(in_lane("/r/4"));
    assert_false(in_lane("/r/x"));
    assert_false(in_lane("/r/4/x"));
    assert_false(nb_learned_in_lane(&learned, NB_METHOD_POST, text("/r/4")));
    assert_false(stalls("/r/5")); /* begun before */
    assert_int_equal(1, learned.learned_total);
}

static void those_that_stall_now_and_then_are_not(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        now_ns += NB_LEARNED_AGAIN_NS + 1;
        assert_false(stalls("/r"));
    }
}

static void when_their_time_is_over_they_are_back_on_trial(void **state) {
    (void)state;
    stalls_until_learned("/r");
    now_ns += NB_LEARNED_STAY_NS - 1;
    assert_false(returns());
    now_ns += 1;
    assert_true(returns());
    assert_false(returns());
    assert_false(in_lane("/r"));
    assert_int_equal(0, learned.in_lane);
    assert_int_equal(1, learned.returned_total);
}

static void one_stall_on_trial_and_they_are_in_it_for_twice_as_long(void **state) {
    (void)state;
    int64_t stay_ns = NB_LEARNED_STAY_NS;
    stalls_until_learned("/r");
    for (int i = 0; i < 10; i++) {
        now_ns += stay_ns;
        assert_true(returns());
        now_ns += stay_ns - 1;
        assert_true(stalls("/r"));
        stay_ns = stay_ns * 2 < NB_LEARNED_STAY_MAX_NS ? stay_ns * 2 : NB_LEARNED_STAY_MAX_NS;
        now_ns += stay_ns - 1;
        assert_false(returns());
        now_ns += 1 - stay_ns;
    }
    assert_int_equal(NB_LEARNED_STAY_MAX_NS, stay_ns);
}

static void those_that_stood_their_trial_begin_anew(void **state) {
    (void)state;
    stalls_until_learned("/r");
    now_ns += NB_LEARNED_STAY_NS;
    assert_true(returns());
    now_ns += NB_LEARNED_STAY_NS;
    stalls_until_learned("/r");
    now_ns += NB_LEARNED_STAY_NS;
    assert_true(returns());
}

static void a_full_table_forgets_those_that_have_not_stalled_for_longest_and_never_one_in_the_lane(void **state) {
    (void)state;
    char path[16];
    stalls_until_learned("/first");
    for (unsigned i = 0; i < NB_LEARNED_MAX; i++) {
        now_ns++;
        snprintf(path, sizeof path, "/%c%c", 'a' + i / 26, 'a' + i % 26);
        assert_false(stalls(path));
    }
    assert_true(in_lane("/first"));
    assert_false(stalls("/ab")); /* its second */
    assert_true(stalls("/ab"));
    stalls_until_learned("/aa"); /* forgotten, so it takes as many as ever */
    for (unsigned i = 0; i < NB_LEARNED_MAX; i++) {
        snprintf(path, sizeof path, "/%c%c%c", 'x', 'a' + i / 26, 'a' + i % 26);
        for (unsigned j = 0; j < NB_LEARNED_AFTER; j++)
            stalls(path);
    }
    assert_int_equal(NB_LEARNED_MAX, learned.in_lane);
    assert_true(in_lane("/first"));
    assert_false(stalls("/more"));
}

static void of_a_path_that_is_too_long_nothing_is_learned(void **state) {
    (void)state;
    char path[NB_LEARNED_PATTERN_BYTES + 2];
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    for (int i = 0; i < 10; i++)
        assert_false(stalls(path));
    path[sizeof path - 2] = '\0';
    stalls_until_learned(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(those_that_stall_again_and_again_are_in_the_lane),
        CASE(those_that_stall_now_and_then_are_not),
        CASE(when_their_time_is_over_they_are_back_on_trial),
        CASE(one_stall_on_trial_and_they_are_in_it_for_twice_as_long),
        CASE(those_that_stood_their_trial_begin_anew),
        CASE(a_full_table_forgets_those_that_have_not_stalled_for_longest_and_never_one_in_the_lane),
        CASE(of_a_path_that_is_too_long_nothing_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
