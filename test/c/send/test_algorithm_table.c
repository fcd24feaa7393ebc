/*
 * test_algorithm_table.c - the table of algorithms: which are added, how one is found by name and
 * number, and how many there may be.
 */
#include "send/algorithms.h"

#include "support/test.h"

static nb_step no_step(nb_download *download, uint64_t budget) {
    (void)download, (void)budget;
    return NB_STEP_FAILED;
}

static void only_an_algorithm_that_can_be_is_added_and_once(void **state) {
    (void)state;
    static const nb_algorithm fine = {
        .abi = NB_ALGORITHM_ABI, .bytes = sizeof(nb_algorithm), .name = "of_a_test", .step = no_step};
    uint16_t number = 0, before = nb_algorithms_count();
    nb_algorithm wrong[9];
    for (int i = 0; i < 9; i++)
        wrong[i] = fine;
    wrong[0].abi = NB_ALGORITHM_ABI + 1;
    wrong[1].bytes = sizeof(nb_algorithm) - 1;
    wrong[2].name = "Upper";
    wrong[3].name = "";
    wrong[4].name = "a_name_too_long_";
    wrong[5].step = NULL;
    wrong[6].state_bytes = NB_ALGORITHM_STATE_BYTES_MAX + 1;
    wrong[7].runs = NB_RUNS_ON_WORKERS + 1;
    wrong[8].name = "1st";
    for (int i = 0; i < 9; i++)
        assert_status(NB_INVALID, nb_algorithms_add(&wrong[i], &number));
    assert_status(NB_OK, nb_algorithms_add(&fine, &number));
    assert_int_equal(before + 1, number);
    assert_int_equal(number, nb_algorithms_find("of_a_test"));
    assert_ptr_equal(&fine, nb_algorithms_get(number));
    assert_status(NB_EXISTS, nb_algorithms_add(&fine, &number));
    assert_int_equal(NB_ALGORITHM_DEFAULT, nb_algorithms_find("of_nobody"));
    assert_null(nb_algorithms_get(NB_ALGORITHM_DEFAULT));
    assert_null(nb_algorithms_get((uint16_t)(number + 1)));
}

static void the_table_is_bounded(void **state) {
    (void)state;
    static nb_algorithm many[NB_ALGORITHMS_MAX];
    static char names[NB_ALGORITHMS_MAX][4];
    uint16_t number;
    for (unsigned i = 0; i < NB_ALGORITHMS_MAX; i++) {
        names[i][0] = 'x';
        names[i][1] = (char)('a' + i);
        many[i] = (nb_algorithm){
            .abi = NB_ALGORITHM_ABI, .bytes = sizeof(nb_algorithm), .name = names[i], .step = no_step};
        nb_status status = nb_algorithms_add(&many[i], &number);
        assert_status(i + 1 < NB_ALGORITHMS_MAX && nb_algorithms_find(names[i]) ? NB_OK : NB_FULL, status);
    }
    assert_int_equal(NB_ALGORITHMS_MAX, nb_algorithms_count());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_algorithm_that_can_be_is_added_and_once),
        cmocka_unit_test(the_table_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
