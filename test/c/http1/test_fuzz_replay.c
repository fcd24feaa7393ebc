/*
 * test_fuzz_replay.c - replays the stored inputs of the fuzz targets for http1/.
 */
#include "fuzz/replay.h"

#define NB_FUZZ_ENTRY fuzz_head
#include "fuzz/fuzz_head.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_framing
#include "fuzz/fuzz_framing.c"
#undef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY fuzz_chunked
#include "fuzz/fuzz_chunked.c"
#undef NB_FUZZ_ENTRY

static void test_kept_inputs_of_the_head_hold(void **state) {
    (void)state;
    replay("head", fuzz_head);
}

static void test_kept_inputs_of_the_framing_hold(void **state) {
    (void)state;
    replay("framing", fuzz_framing);
}

static void test_kept_inputs_of_the_chunked_coding_hold(void **state) {
    (void)state;
    replay("chunked", fuzz_chunked);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_inputs_of_the_head_hold),
        cmocka_unit_test(test_kept_inputs_of_the_framing_hold),
        cmocka_unit_test(test_kept_inputs_of_the_chunked_coding_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
