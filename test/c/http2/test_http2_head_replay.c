/*
 * test_http2_head_replay.c - replays the stored inputs of the fuzz target for the fields of a
 * request.
 */
#include "fuzz/replay.h"

#define NB_FUZZ_ENTRY fuzz_http2_head
#include "fuzz/fuzz_http2_head.c"
#undef NB_FUZZ_ENTRY

static void test_kept_inputs_of_heads_hold(void **state) {
    (void)state;
    replay("http2_head", fuzz_http2_head);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_inputs_of_heads_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
