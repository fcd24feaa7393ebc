/*
 * test_crowds.c - which requests are alike, who is counted, and who is held.
 */
#include "intake/crowds.h"

#include "support/test.h"

static uint64_t like(const char *method, const char *path) {
    return nb_like_of((nb_slice){method, strlen(method)}, (nb_slice){path, strlen(path)});
}

static void paths_are_alike_but_for_parts_with_digits(void **state) {
    (void)state;
    assert_true(like("GET", "/notes/17") == like("GET", "/notes/18"));
    assert_true(like("GET", "/notes/17/edit") == like("GET", "/notes/a1b2/edit"));
    assert_true(like("GET", "/notes/17") != like("POST", "/notes/17"));
    assert_true(like("GET", "/notes/17") != like("GET", "/notes/17/edit"));
    assert_true(like("GET", "/notes/new") != like("GET", "/notes/old"));
    assert_true(like("GET", "/notes/new") != like("GET", "/notesnew"));
    assert_true(like("GET", "") != 0);
}

static void what_follows_the_first_bytes_of_a_path_does_not_count(void **state) {
    (void)state;
    char one[NB_LIKE_PATH_BYTES + 8], other[NB_LIKE_PATH_BYTES + 8];
    memset(one, 'x', sizeof(one));
    memset(other, 'x', sizeof(other));
    other[NB_LIKE_PATH_BYTES] = 'y';
    assert_true(nb_like_of(NB_SLICE("GET"), (nb_slice){one, sizeof(one)}) ==
                nb_like_of(NB_SLICE("GET"), (nb_slice){other, sizeof(other)}));
    other[NB_LIKE_PATH_BYTES - 1] = 'y';
    assert_true(nb_like_of(NB_SLICE("GET"), (nb_slice){one, sizeof(one)}) !=
                nb_like_of(NB_SLICE("GET"), (nb_slice){other, sizeof(other)}));
}

static void a_like_is_held_while_enough_are_half_done_and_the_processor_is_busy(void **state) {
    (void)state;
    nb_crowds crowds = {0};
    uint16_t place = NB_CROWD_NONE;
    for (unsigned i = 0; i < NB_CROWD_SIZE; i++) {
        crowds.working = true;
        assert_false(nb_crowds_hold(&crowds, 7));
        place = nb_crowds_join(&crowds, 7, 0);
        assert_int_not_equal(NB_CROWD_NONE, place);
    }
    assert_true(nb_crowds_hold(&crowds, 7));
    assert_false(nb_crowds_hold(&crowds, 8));
    assert_false(nb_crowds_hold(&crowds, 0));
    crowds.working = false;
    assert_false(nb_crowds_hold(&crowds, 7));
    crowds.working = true;
    nb_crowds_leave(&crowds, place, 0);
    assert_false(nb_crowds_hold(&crowds, 7));
}

/* Each of them may be waiting for the one that is held. */
static void where_none_ends_one_more_enters_now_and_then(void **state) {
    (void)state;
    nb_crowds crowds = {.working = true};
    uint16_t place = NB_CROWD_NONE;
    int64_t now_ns = 5;
    for (unsigned i = 0; i < NB_CROWD_SIZE; i++)
        place = nb_crowds_join(&crowds, 7, now_ns);
    nb_crowds_stay(&crowds, place, now_ns + NB_CROWD_PATIENCE_NS - 1);
    assert_true(nb_crowds_hold(&crowds, 7));
    for (unsigned more = 0; more < 3; more++) {
        nb_crowds_stay(&crowds, place, now_ns += NB_CROWD_PATIENCE_NS);
        assert_false(nb_crowds_hold(&crowds, 7));
        nb_crowds_stay(&crowds, place, now_ns + NB_CROWD_PATIENCE_NS / 2);
        assert_false(nb_crowds_hold(&crowds, 7));
        nb_crowds_join(&crowds, 7, now_ns);
        assert_true(nb_crowds_hold(&crowds, 7));
    }
    for (unsigned left = 0; left < 3; left++) {
        nb_crowds_leave(&crowds, place, now_ns);
        assert_true(nb_crowds_hold(&crowds, 7));
    }
    nb_crowds_leave(&crowds, place, now_ns);
    assert_false(nb_crowds_hold(&crowds, 7));
}

static void two_likes_of_one_place_are_not_taken_for_each_other(void **state) {
    (void)state;
    nb_crowds crowds = {.working = true};
    uint16_t place = nb_crowds_join(&crowds, 7, 0);
    for (unsigned i = 0; i <= NB_CROWD_SIZE; i++) {
        assert_int_equal(NB_CROWD_NONE, nb_crowds_join(&crowds, 7 + NB_CROWDS_MAX, 0));
    }
    assert_false(nb_crowds_hold(&crowds, 7 + NB_CROWDS_MAX));
    nb_crowds_leave(&crowds, NB_CROWD_NONE, 0);
    nb_crowds_leave(&crowds, place, 0);
    assert_int_equal(place, nb_crowds_join(&crowds, 7 + NB_CROWDS_MAX, 0));
}

static void one_that_is_shut_is_held_until_it_is_opened(void **state) {
    (void)state;
    nb_crowds crowds = {0};
    assert_false(nb_crowds_any(&crowds));
    assert_true(nb_crowds_shut(&crowds, 7));
    assert_false(nb_crowds_shut(&crowds, 7));
    assert_true(nb_crowds_any(&crowds));
    assert_true(nb_crowds_hold(&crowds, 7));
    assert_false(nb_crowds_hold(&crowds, 8));
    assert_false(nb_crowds_hold(&crowds, 7 + NB_CROWDS_MAX));
    assert_false(nb_crowds_shut(&crowds, 7 + NB_CROWDS_MAX));
    nb_crowds_open(&crowds, 7 + NB_CROWDS_MAX);
    nb_crowds_open(&crowds, 8);
    assert_true(nb_crowds_hold(&crowds, 7));
    nb_crowds_open(&crowds, 7);
    nb_crowds_open(&crowds, 7);
    assert_false(nb_crowds_hold(&crowds, 7));
    assert_false(nb_crowds_any(&crowds));
    assert_true(nb_crowds_shut(&crowds, 7 + NB_CROWDS_MAX));
}

static void a_place_is_kept_by_those_who_are_counted_and_by_who_has_shut_it(void **state) {
    (void)state;
    nb_crowds crowds = {0};
    uint16_t place = nb_crowds_join(&crowds, 7, 0);
    assert_true(nb_crowds_shut(&crowds, 7));
    nb_crowds_leave(&crowds, place, 0);
    assert_true(nb_crowds_hold(&crowds, 7));
    assert_int_equal(place, nb_crowds_join(&crowds, 7, 0));
    nb_crowds_open(&crowds, 7);
    assert_false(nb_crowds_hold(&crowds, 7));
    assert_false(nb_crowds_shut(&crowds, 7 + NB_CROWDS_MAX));
    nb_crowds_leave(&crowds, place, 0);
    assert_true(nb_crowds_shut(&crowds, 7 + NB_CROWDS_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_alike_but_for_parts_with_digits),
        cmocka_unit_test(what_follows_the_first_bytes_of_a_path_does_not_count),
        cmocka_unit_test(a_like_is_held_while_enough_are_half_done_and_the_processor_is_busy),
        cmocka_unit_test(where_none_ends_one_more_enters_now_and_then),
        cmocka_unit_test(two_likes_of_one_place_are_not_taken_for_each_other),
        cmocka_unit_test(one_that_is_shut_is_held_until_it_is_opened),
        cmocka_unit_test(a_place_is_kept_by_those_who_are_counted_and_by_who_has_shut_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
