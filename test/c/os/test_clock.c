/*
 * test_clock.c - clocks that go forward and agree with each other.
 */
#include "support/test.h"

#include <time.h>

#include "os/clock.h"

static void monotonic_time_never_goes_back_and_does_go_on(void **state) {
    (void)state;
    int64_t first = nb_clock_monotonic_ns(), last = first;
    while (last == first) {
        int64_t now = nb_clock_monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
    for (int i = 0; i < 10000; i++) {
        int64_t now = nb_clock_monotonic_ns();
        assert_true(now >= last);
        last = now;
    }
}

/* A tick of the coarse clock is 10 ms at the most (CONFIG_HZ=100). Before and after bound it; a
   pause between cannot fail. */
static void coarse_time_is_a_little_behind(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t before = nb_clock_monotonic_ns(), coarse = nb_clock_coarse_ns(), after = nb_clock_monotonic_ns();
        assert_true(coarse <= after);
        assert_true(coarse >= before - 100 * NB_NS_PER_MS);
    }
}

static void a_threads_time_goes_on_while_it_runs_and_never_faster_than_the_clock(void **state) {
    (void)state;
    int64_t before = nb_clock_monotonic_ns(), first = nb_clock_thread_ns(), last = first;
    while (last == first)
        last = nb_clock_thread_ns();
    assert_true(last > first);
    assert_true(last - first <= nb_clock_monotonic_ns() - before);
}

static void wall_time_counts_seconds_since_1970(void **state) {
    (void)state;
    time_t before = time(NULL);
    int64_t now = nb_clock_wall_s();
    assert_in_range(now, before, time(NULL));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_never_goes_back_and_does_go_on),
        cmocka_unit_test(coarse_time_is_a_little_behind),
        cmocka_unit_test(a_threads_time_goes_on_while_it_runs_and_never_faster_than_the_clock),
        cmocka_unit_test(wall_time_counts_seconds_since_1970),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
