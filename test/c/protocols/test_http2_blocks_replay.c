/*
 * test_http2_blocks_replay.c - replays the stored inputs of the fuzz target for field blocks of
 * HTTP/2.
 */
#include "fuzz/replay.h"

#define NB_FUZZ_ENTRY fuzz_http2_blocks
#include "fuzz/fuzz_http2_blocks.c"
#undef NB_FUZZ_ENTRY

#ifdef NB_HAVE_HTTP2

static void test_kept_inputs_of_field_blocks_hold(void **state) {
    (void)state;
    replay("http2_blocks", fuzz_http2_blocks);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_inputs_of_field_blocks_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
