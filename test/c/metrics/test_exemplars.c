/*
 * test_exemplars.c - one exemplar a bucket, the newest, read whole while another thread records.
 */
#include "metrics/exemplars.h"

#include <pthread.h>
#include <string.h>

#include "support/test.h"

static nb_exemplars exemplars;

static int setup(void **state) {
    (void)state;
    memset(&exemplars, 0, sizeof exemplars);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void record(uint64_t number, int64_t duration_ns) {
    nb_exemplar exemplar = {.trace = {number, number}, .duration_ns = duration_ns, .wall_ns = (int64_t)number};
    nb_exemplars_record(&exemplars, &exemplar);
}

static void a_bucket_without_a_trace_has_none(void **state) {
    (void)state;
    nb_exemplar read;
    for (unsigned i = 0; i < NB_DURATION_BUCKETS; i++)
        assert_false(nb_exemplars_read(&exemplars, i, &read));
}

static void a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed(void **state) {
    (void)state;
    nb_exemplar read;
    for (unsigned i = 0; i < NB_DURATION_BOUNDS; i++) {
        int64_t bound_ns = (int64_t)nb_duration_bounds_ns[i];
        record(i + 1, bound_ns);
        assert_true(nb_exemplars_read(&exemplars, i, &read));
        assert_int_equal(bound_ns, read.duration_ns);
        assert_int_equal(i + 1, read.trace.high);
        assert_false(nb_exemplars_read(&exemplars, i + 1, &read));
    }
    record(99, INT64_MAX);
    assert_true(nb_exemplars_read(&exemplars, NB_DURATION_BOUNDS, &read));
    record(100, -5);
    assert_true(nb_exemplars_read(&exemplars, 0, &read));
    assert_int_equal(100, read.wall_ns);
}

static void the_newest_takes_the_place_of_the_one_before(void **state) {
    (void)state;
    nb_exemplar read;
    record(1, 5);
    record(2, 7);
    assert_true(nb_exemplars_read(&exemplars, 0, &read));
    assert_int_equal(2, read.trace.low);
    assert_int_equal(7, read.duration_ns);
}

static atomic_bool over;

static void *record_all_the_time(void *argument) {
    (void)argument;
    for (uint64_t i = 1; !atomic_load(&over); i++)
        record(i, 5);
    return NULL;
}

static void a_reader_never_sees_halves_of_two(void **state) {
    (void)state;
    pthread_t thread;
    unsigned whole = 0;
    atomic_store(&over, false);
    assert_int_equal(0, pthread_create(&thread, NULL, record_all_the_time, NULL));
    while (whole < 10000) {
        nb_exemplar read;
        if (!nb_exemplars_read(&exemplars, 0, &read)) continue;
        assert_int_equal(read.trace.high, read.trace.low);
        assert_int_equal(read.trace.high, read.wall_ns);
        whole++;
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_bucket_without_a_trace_has_none),
        CASE(a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed),
        CASE(the_newest_takes_the_place_of_the_one_before),
        CASE(a_reader_never_sees_halves_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
