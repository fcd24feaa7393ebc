/*
 * test_slowest.c - which requests are kept, which make way, and that a reader sees whole ones only,
 * whatever another process has written.
 */
#include "intake/slowest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define SECOND INT64_C(1000000000)

static nb_slowest *slowest;
static nb_slow_request request, found;

static int setup(void **state) {
    (void)state;
    slowest = calloc(1, sizeof *slowest);
    memset(&request, 0, sizeof request);
    return slowest ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    free(slowest);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Returns whether it was kept. */
static bool offer_with(uint64_t key, int64_t duration_ns, int64_t now_ns, uint32_t waits) {
    uint32_t record = nb_slowest_place(slowest, key, duration_ns, now_ns);
    if (record == NB_SLOWEST_NONE) return false;
    assert_true(record < NB_SLOWEST_RECORDS);
    request.about.key = key;
    request.about.duration_ns = duration_ns;
    request.about.ended_ns = now_ns;
    request.about.extra = waits > 0;
    request.waterfall.count = waits;
    for (uint32_t i = 0; i < waits; i++)
        request.waterfall.waits[i] = (nb_waited){.began_ns = duration_ns, .ended_ns = duration_ns};
    snprintf(request.about.line, sizeof request.about.line, "GET /%d", (int)key);
    nb_slowest_put(slowest, record, &request);
    return true;
}

static bool offer(uint64_t key, int64_t duration_ns, int64_t now_ns) { return offer_with(key, duration_ns, now_ns, 0); }

/* How many requests of the class are there, and their durations together. */
static unsigned kept(uint64_t key, int64_t *sum_ns) {
    unsigned count = 0;
    *sum_ns = 0;
    for (uint32_t i = 0; i < NB_SLOWEST_RECORDS; i++) {
        uint64_t own;
        int64_t duration_ns, ended_ns;
        bool there = nb_slowest_peek(slowest, i, &own, &duration_ns, &ended_ns);
        assert_int_equal(there, nb_slowest_read(slowest, i, &found));
        if (!there || own != key) continue;
        assert_int_equal(duration_ns, found.about.duration_ns);
        assert_int_equal(ended_ns, found.about.ended_ns);
        count++;
        *sum_ns += duration_ns;
    }
    return count;
}

static void the_slowest_of_a_class_stay(void **state) {
    (void)state;
    int64_t sum_ns;
    assert_int_equal(0, kept(7, &sum_ns));
    for (int64_t i = 1; i <= 4; i++)
        assert_true(offer(7, i * 10, SECOND));
    assert_false(offer(7, 10, SECOND));
    assert_false(offer(7, 5, SECOND));
    assert_true(offer(7, 25, SECOND));
    assert_int_equal(4, kept(7, &sum_ns));
    assert_int_equal(20 + 30 + 40 + 25, sum_ns);
}

static void what_is_too_old_makes_way_first(void **state) {
    (void)state;
    int64_t sum_ns, later_ns = SECOND + NB_SLOWEST_KEPT_NS + 1;
    for (int64_t i = 1; i <= 3; i++)
        assert_true(offer(7, i * 100, later_ns - 5));
    assert_true(offer(7, 9000, SECOND));
    assert_true(offer(7, 1, later_ns));
    assert_false(offer(7, 1, later_ns));
    assert_int_equal(4, kept(7, &sum_ns));
    assert_int_equal(601, sum_ns);
}

static void a_class_that_is_faster_than_all_makes_way_for_a_slower_one(void **state) {
    (void)state;
    int64_t sum_ns;
    for (uint64_t key = 1; key <= NB_SLOWEST_CLASSES; key++) {
        assert_true(offer(key, (int64_t)key * 100, SECOND));
        assert_true(offer(key, (int64_t)key * 100 - 1, SECOND));
    }
    assert_false(offer(99, 100, SECOND));
    assert_true(offer(99, 101, SECOND));
    assert_int_equal(0, kept(1, &sum_ns));
    assert_int_equal(1, kept(99, &sum_ns));
    assert_int_equal(2, kept(2, &sum_ns));
    assert_true(offer(98, 102, SECOND));
    assert_int_equal(0, kept(99, &sum_ns));
}

static void a_record_has_the_waits_that_there_are(void **state) {
    (void)state;
    assert_true(offer_with(7, 5, SECOND, 3));
    assert_true(nb_slowest_read(slowest, 0, &found));
    assert_int_equal(3, found.waterfall.count);
    assert_int_equal(5, found.waterfall.waits[2].began_ns);
    assert_int_equal(0, found.waterfall.waits[3].began_ns);
    assert_string_equal("GET /7", found.about.line);
    assert_true(offer_with(8, 5, SECOND, NB_WATERFALL_WAITS_MAX));
    assert_true(nb_slowest_read(slowest, NB_SLOWEST_EACH, &found));
    assert_int_equal(5, found.waterfall.waits[NB_WATERFALL_WAITS_MAX - 1].ended_ns);
}

static void damage_by_another_process_stays_within_the_bounds(void **state) {
    (void)state;
    assert_true(offer_with(7, 5, SECOND, 3));
    for (unsigned byte = 0; byte < 256; byte += 51) {
        nb_slow_record *record = &slowest->records[0];
        memset(record, (int)byte, sizeof *record);
        atomic_store(&record->sequence, 4);
        if (!nb_slowest_read(slowest, 0, &found)) {
            assert_int_equal(0, byte);
            continue;
        }
        assert_true(found.waterfall.count <= NB_WATERFALL_WAITS_MAX);
        assert_true(strlen(found.about.line) < sizeof found.about.line);
        assert_true(strlen(found.about.id) < sizeof found.about.id);
        assert_true(strlen(found.about.trace) < sizeof found.about.trace);
        for (uint32_t i = 0; i < found.waterfall.count; i++) {
            const nb_waited *wait = &found.waterfall.waits[i];
            assert_true(wait->text_bytes <= sizeof wait->text);
            assert_true(wait->line <= NB_WATERFALL_LINES_MAX);
            if (wait->line) assert_true(strlen(found.waterfall.lines[wait->line - 1]) < NB_WATERFALL_LINE_BYTES);
        }
        assert_null(found.about.account.waterfall);
    }
    atomic_store(&slowest->records[0].sequence, 5);
    assert_false(nb_slowest_read(slowest, 0, &found));
}

static atomic_bool over;

/* All waits of a request have its duration, and all have as many waits as that says. */
static void *write_all_the_time(void *argument) {
    (void)argument;
    for (int64_t i = 1; !atomic_load(&over); i++)
        (void)offer_with(7, i, SECOND, (uint32_t)(i % NB_WATERFALL_WAITS_MAX) + 1);
    return NULL;
}

static void a_reader_never_sees_halves_of_two(void **state) {
    (void)state;
    static nb_slow_request read;
    pthread_t thread;
    atomic_store(&over, false);
    assert_int_equal(0, pthread_create(&thread, NULL, write_all_the_time, NULL));
    for (unsigned whole = 0; whole < 2000;) {
        if (!nb_slowest_read(slowest, whole % NB_SLOWEST_EACH, &read)) continue;
        assert_int_equal(read.about.duration_ns % NB_WATERFALL_WAITS_MAX + 1, read.waterfall.count);
        for (uint32_t i = 0; i < read.waterfall.count; i++)
            assert_int_equal(read.about.duration_ns, read.waterfall.waits[i].began_ns);
        whole++;
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_slowest_of_a_class_stay),
        CASE(what_is_too_old_makes_way_first),
        CASE(a_class_that_is_faster_than_all_makes_way_for_a_slower_one),
        CASE(a_record_has_the_waits_that_there_are),
        CASE(damage_by_another_process_stays_within_the_bounds),
        CASE(a_reader_never_sees_halves_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
