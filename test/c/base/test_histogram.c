/*
 * test_histogram.c - every duration lands in a bucket that is at most a thirty-second wide, and
 * quantiles are right to that.
 */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/histogram.c"

static nb_histogram histogram;

static int empty(void **state) {
    (void)state;
    memset(&histogram, 0, sizeof histogram);
    return 0;
}

static void each_bucket_begins_where_the_one_before_ends(void **state) {
    (void)state;
    uint64_t begin = 0;
    for (unsigned i = 0; i < NB_HISTOGRAM_BUCKETS; i++) {
        assert_int_equal(i, bucket_of(begin >> NB_HISTOGRAM_UNIT_BITS));
        assert_int_equal(i, bucket_of(end_of(i) >> NB_HISTOGRAM_UNIT_BITS));
        assert_true(end_of(i) - begin <= 64 + begin / 32);
        begin = end_of(i) + 1;
    }
    assert_true(begin == UINT64_C(1) << (NB_HISTOGRAM_RANGE_BITS + NB_HISTOGRAM_UNIT_BITS));
    assert_int_equal(NB_HISTOGRAM_BUCKETS - 1, bucket_of(UINT64_MAX >> NB_HISTOGRAM_UNIT_BITS));
}

static void nothing_recorded_is_nothing(void **state) {
    (void)state;
    uint64_t bound = 1000, count = 7;
    assert_int_equal(0, nb_histogram_count(&histogram));
    assert_int_equal(0, nb_histogram_quantile_ns(&histogram, 990));
    assert_int_equal(0, nb_histogram_at_most(&histogram, &bound, &count, 1));
    assert_int_equal(0, count);
}

static void what_is_past_the_range_or_before_it_counts_at_its_ends(void **state) {
    (void)state;
    nb_histogram_record(&histogram, -5);
    nb_histogram_record(&histogram, INT64_MAX);
    assert_int_equal(2, nb_histogram_count(&histogram));
    assert_true(nb_histogram_quantile_ns(&histogram, 500) < 64);
    assert_true(nb_histogram_quantile_ns(&histogram, 1000) == INT64_MAX);
    assert_true(atomic_load(&histogram.sum_ns) == INT64_MAX);
}

static int ascending(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

enum { SAMPLES = 5000 };

/* Durations of all sizes: the exponent is drawn first. */
static void quantiles_are_right_within_a_thirty_second(void **state) {
    (void)state;
    static uint64_t samples[SAMPLES];
    nb_test_random random = {20261121};
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = nb_test_random_below(&random, UINT64_C(2) << nb_test_random_below(&random, 40));
        nb_histogram_record(&histogram, (int64_t)samples[i]);
    }
    qsort(samples, SAMPLES, sizeof *samples, ascending);
    for (unsigned permille = 1; permille <= 1000; permille++) {
        uint64_t exact = samples[(SAMPLES * permille + 999) / 1000 - 1];
        uint64_t told = nb_histogram_quantile_ns(&histogram, permille);
        if (told < exact || told > exact + exact / 32 + 64) fail_msg("%u: %lu for %lu", permille, told, exact);
    }
    assert_true(nb_histogram_quantile_ns(&histogram, 1000) == samples[SAMPLES - 1]);
}

static void counts_up_to_a_bound_miss_no_more_than_its_own_bucket(void **state) {
    (void)state;
    static const uint64_t bounds[] = {1000, 1000000, 250000000, UINT64_C(60000000000)};
    uint64_t counts[4], exact[4] = {0}, nearly[4] = {0}, sum = 0;
    nb_test_random random = {7};
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t sample = nb_test_random_below(&random, UINT64_C(2) << nb_test_random_below(&random, 37));
        nb_histogram_record(&histogram, (int64_t)sample);
        sum += sample;
        for (int b = 0; b < 4; b++) {
            exact[b] += sample <= bounds[b];
            nearly[b] += sample <= bounds[b] - bounds[b] / 32 - 64;
        }
    }
    assert_int_equal(SAMPLES, nb_histogram_at_most(&histogram, bounds, counts, 4));
    for (int b = 0; b < 4; b++) {
        assert_true(counts[b] <= exact[b]);
        assert_true(counts[b] >= nearly[b]);
    }
    assert_true(atomic_load(&histogram.sum_ns) == sum);
}

static void *record_many(void *argument) {
    for (int i = 0; i < SAMPLES; i++)
        nb_histogram_record(argument, i * 100);
    return NULL;
}

static void what_came_since_is_told_apart(void **state) {
    (void)state;
    static nb_histogram earlier, since;
    memset(&earlier, 0, sizeof earlier);
    nb_histogram_record(&histogram, 1000000);
    nb_histogram_advance(&earlier, &histogram, &since);
    assert_int_equal(1, nb_histogram_count(&since));
    nb_histogram_record(&histogram, 2000);
    nb_histogram_record(&histogram, 3000);
    nb_histogram_advance(&earlier, &histogram, &since);
    assert_int_equal(2, nb_histogram_count(&since));
    assert_int_equal(5000, atomic_load(&since.sum_ns));
    assert_in_range(nb_histogram_quantile_ns(&since, 1000), 3000, 3000 + 3000 / 32 + 64);
    nb_histogram_advance(&earlier, &histogram, &since);
    assert_int_equal(0, nb_histogram_count(&since));
    assert_int_equal(3, nb_histogram_count(&earlier));
}

static void it_is_read_while_another_thread_records(void **state) {
    (void)state;
    pthread_t writer = nb_test_thread(record_many, &histogram);
    uint64_t before = 0;
    while (before < SAMPLES) {
        uint64_t count = nb_histogram_count(&histogram);
        assert_true(count >= before);
        (void)nb_histogram_quantile_ns(&histogram, 500);
        before = count;
    }
    nb_test_join(writer);
    assert_int_equal(SAMPLES, nb_histogram_count(&histogram));
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_bucket_begins_where_the_one_before_ends, empty),
        cmocka_unit_test_setup(nothing_recorded_is_nothing, empty),
        cmocka_unit_test_setup(what_is_past_the_range_or_before_it_counts_at_its_ends, empty),
        cmocka_unit_test_setup(quantiles_are_right_within_a_thirty_second, empty),
        cmocka_unit_test_setup(counts_up_to_a_bound_miss_no_more_than_its_own_bucket, empty),
        cmocka_unit_test_setup(what_came_since_is_told_apart, empty),
        cmocka_unit_test_setup(it_is_read_while_another_thread_records, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
