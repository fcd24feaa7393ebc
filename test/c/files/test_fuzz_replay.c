/*
 * test_fuzz_replay.c - replays the stored inputs of the fuzz targets for files/ and for dates.
 */
#include "fuzz/replay.h"

#define NB_FUZZ_ENTRY fuzz_path
#include "fuzz/fuzz_path.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_ranges
#include "fuzz/fuzz_ranges.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_date
#include "fuzz/fuzz_date.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_accept_encoding
#include "fuzz/fuzz_accept_encoding.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_conditions
#include "fuzz/fuzz_conditions.c"
#undef NB_FUZZ_ENTRY

static void test_kept_inputs_of_paths_hold(void **state) {
    (void)state;
    replay("path", fuzz_path);
}

static void test_kept_inputs_of_ranges_hold(void **state) {
    (void)state;
    replay("ranges", fuzz_ranges);
}

static void test_kept_inputs_of_dates_hold(void **state) {
    (void)state;
    replay("date", fuzz_date);
}

static void test_kept_inputs_of_accepted_codings_hold(void **state) {
    (void)state;
    replay("accept_encoding", fuzz_accept_encoding);
}

static void test_kept_inputs_of_conditions_hold(void **state) {
    (void)state;
    replay("conditions", fuzz_conditions);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_inputs_of_paths_hold),
        cmocka_unit_test(test_kept_inputs_of_ranges_hold),
        cmocka_unit_test(test_kept_inputs_of_dates_hold),
        cmocka_unit_test(test_kept_inputs_of_accepted_codings_hold),
        cmocka_unit_test(test_kept_inputs_of_conditions_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
