/*
 * test_fiber_choice.c - the oldest of many are kept, whatever the order in which they come.
 */
#include "admin/fiber_choice.h"

#include <stdlib.h>

#include "support/test.h"

static void the_oldest_are_kept_in_order(void **state) {
    (void)state;
    static nb_fiber_choice choice;
    for (uint32_t limit = 1; limit <= 20; limit++) {
        nb_fiber_choice_init(&choice, limit);
        /* each of 0 to 96 once: 97 is prime */
        for (uint32_t i = 0; i < 97; i++)
            nb_fiber_choice_offer(&choice, (nb_fiber_chosen){.since_ns = i * 41 % 97, .record = i});
        nb_fiber_choice_sort(&choice);
        assert_int_equal(97, choice.offered);
        assert_int_equal(limit, choice.count);
        for (uint32_t i = 0; i < limit; i++) {
            assert_int_equal(i, choice.chosen[i].since_ns);
            assert_int_equal(i, choice.chosen[i].record * 41 % 97);
        }
    }
}

static void fewer_than_the_limit_are_all_kept(void **state) {
    (void)state;
    static nb_fiber_choice choice;
    nb_fiber_choice_init(&choice, 10);
    nb_fiber_choice_sort(&choice);
    assert_int_equal(0, choice.count);
    nb_fiber_choice_offer(&choice, (nb_fiber_chosen){.since_ns = 2});
    nb_fiber_choice_offer(&choice, (nb_fiber_chosen){.since_ns = 1});
    nb_fiber_choice_sort(&choice);
    assert_int_equal(2, choice.count);
    assert_int_equal(1, choice.chosen[0].since_ns);
}

static void the_limit_has_bounds(void **state) {
    (void)state;
    static nb_fiber_choice choice;
    nb_fiber_choice_init(&choice, 0);
    assert_int_equal(1, choice.limit);
    nb_fiber_choice_init(&choice, UINT32_MAX);
    assert_int_equal(NB_FIBER_CHOICE_MAX, choice.limit);
    for (uint32_t i = 0; i < 2 * NB_FIBER_CHOICE_MAX; i++)
        nb_fiber_choice_offer(&choice, (nb_fiber_chosen){.since_ns = -(int64_t)i});
    nb_fiber_choice_sort(&choice);
    assert_int_equal(NB_FIBER_CHOICE_MAX, choice.count);
    assert_int_equal(-(int64_t)(2 * NB_FIBER_CHOICE_MAX - 1), choice.chosen[0].since_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_are_kept_in_order),
        cmocka_unit_test(fewer_than_the_limit_are_all_kept),
        cmocka_unit_test(the_limit_has_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
