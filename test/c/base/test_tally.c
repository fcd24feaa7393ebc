/*
 * test_tally.c - names are counted apart up to a bound, and all further ones together.
 */
#include "base/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static nb_tally tally;

static int empty(void **state) {
    (void)state;
    memset(&tally, 0, sizeof tally);
    return 0;
}

static uint64_t count_of(const nb_tally *of, uint32_t row) { return atomic_load(&of->rows[row].count); }

static void each_name_and_kind_has_its_row(void **state) {
    (void)state;
    assert_int_equal(0, nb_tally_row_of(&tally, 1, "a"));
    assert_int_equal(1, nb_tally_row_of(&tally, 1, "b"));
    assert_int_equal(2, nb_tally_row_of(&tally, 2, "a"));
    assert_int_equal(0, nb_tally_row_of(&tally, 1, "a"));
    nb_tally_count(&tally, 0, 1, 0);
    nb_tally_count(&tally, 0, 1, 500);
    assert_int_equal(2, count_of(&tally, 0));
    assert_int_equal(500, atomic_load(&tally.rows[0].sum_ns));
    assert_int_equal(3, nb_tally_used(&tally));
    assert_int_equal(2, nb_tally_total(&tally));
}

static void what_comes_after_the_last_row_is_counted_together(void **state) {
    (void)state;
    char name[8];
    for (unsigned i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "n%u", i);
        nb_tally_count(&tally, nb_tally_row_of(&tally, 0, name), 1, 10);
    }
    assert_int_equal(NB_TALLY_ROWS, nb_tally_used(&tally));
    assert_int_equal(50 - NB_TALLY_ROWS, count_of(&tally, NB_TALLY_OTHER));
    assert_int_equal(50, nb_tally_total(&tally));
    assert_int_equal(0, nb_tally_row_of(&tally, 0, "n0"));
}

static void a_long_name_is_cut_and_found_again(void **state) {
    (void)state;
    char name[2 * NB_TALLY_NAME_BYTES];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(0, nb_tally_row_of(&tally, 0, name));
    assert_int_equal(0, nb_tally_row_of(&tally, 0, name));
    assert_int_equal(NB_TALLY_NAME_BYTES - 1, strlen(tally.rows[0].name));
}

static void two_add_up_by_name(void **state) {
    (void)state;
    static nb_tally other;
    memset(&other, 0, sizeof other);
    nb_tally_count(&tally, nb_tally_row_of(&tally, 1, "a"), 1, 1);
    nb_tally_count(&other, nb_tally_row_of(&other, 1, "b"), 2, 2);
    nb_tally_count(&other, nb_tally_row_of(&other, 1, "a"), 4, 4);
    nb_tally_count(&other, NB_TALLY_OTHER, 8, 8);
    nb_tally_add(&tally, &other);
    assert_int_equal(5, count_of(&tally, 0));
    assert_int_equal(2, count_of(&tally, nb_tally_row_of(&tally, 1, "b")));
    assert_int_equal(8, count_of(&tally, NB_TALLY_OTHER));
    assert_int_equal(15, nb_tally_total(&tally));
}

static void *count_many(void *unused) {
    char name[8];
    (void)unused;
    for (unsigned i = 0; i < 40000; i++) {
        snprintf(name, sizeof name, "n%u", i / 1000);
        nb_tally_count(&tally, nb_tally_row_of(&tally, 0, name), 1, 1);
    }
    return NULL;
}

static void it_is_read_while_another_thread_counts(void **state) {
    (void)state;
    pthread_t writer = nb_test_thread(count_many, NULL);
    while (nb_tally_total(&tally) < 40000) {
        uint32_t used = nb_tally_used(&tally);
        if (used) assert_int_equal(used - 1, strtoul(tally.rows[used - 1].name + 1, NULL, 10));
    }
    nb_test_join(writer);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_name_and_kind_has_its_row, empty),
        cmocka_unit_test_setup(what_comes_after_the_last_row_is_counted_together, empty),
        cmocka_unit_test_setup(a_long_name_is_cut_and_found_again, empty),
        cmocka_unit_test_setup(two_add_up_by_name, empty),
        cmocka_unit_test_setup(it_is_read_while_another_thread_counts, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
