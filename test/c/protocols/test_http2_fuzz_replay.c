/*
 * test_http2_fuzz_replay.c - replays the stored inputs of the fuzz targets for whole sessions of
 * HTTP/2, and checks the stage that they run on.
 */
#include "fuzz/replay.h"

#define NB_FUZZ_ENTRY fuzz_http2_frames
#include "fuzz/fuzz_http2_frames.c"
#undef NB_FUZZ_ENTRY

#ifdef NB_HAVE_HTTP2

static void test_the_stage_answers(void **state) {
    (void)state;
    static nb_raw raw;
    http2_stage *stage = http2_stage_get();
    nb_raw_begin(&raw);
    nb_raw_headers(
        &raw, NB_RAW_END_HEADERS | NB_RAW_END_STREAM, 1,
        (const char *const[]){":method", "GET", ":scheme", "http", ":authority", "test", ":path", "/hello", NULL});
    http2_stage_connect(stage);
    http2_stage_send(stage, raw.bytes, raw.size);
    http2_stage_go(stage, 10, true, true);
    /* SETTINGS, WINDOW_UPDATE, the acknowledgement, HEADERS, DATA. */
    assert_int_equal(5, stage->peer.frames);
    assert_int_equal(NB_RAW_DATA, stage->peer.type);
    assert_int_equal(NB_RAW_END_STREAM, stage->peer.flags);
    http2_stage_leave(stage);
}

static void test_kept_inputs_of_frames_hold(void **state) {
    (void)state;
    replay("http2_frames", fuzz_http2_frames);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_stage_answers),
        cmocka_unit_test(test_kept_inputs_of_frames_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
