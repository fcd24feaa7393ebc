/*
 * test_observed.c - which requests are observed, which observations stay, and that a reader sees
 * whole ones only, whatever another process has written.
 */
#include "intake/observed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define SECOND INT64_C(1000000000)

static nb_observed *observed;
static nb_observed_request request, found;

static int setup(void **state) {
    (void)state;
    observed = calloc(1, sizeof *observed);
    memset(&request, 0, sizeof request);
    return observed ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    free(observed);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* With so many waits, of which each has two frames; all have the same time. */
static void put(uint64_t key, int64_t ended_ns, uint32_t waits) {
    nb_observation *observation = &request.observation;
    request.about.key = key;
    request.about.ended_ns = ended_ns;
    nb_observation_begin(observation);
    for (uint16_t i = 0; i < waits; i++) {
        char name[24];
        int size = snprintf(name, sizeof name, "A#x%u", (unsigned)i);
        uint32_t number = nb_observation_frame(observation, NB_SLICE("/a.rb"), i, nb_slice_of(name, (size_t)size),
                                               false);
        uint16_t numbers[] = {(uint16_t)number, 0};
        nb_observed_wait facts = {.began_ns = ended_ns};
        nb_observation_add(observation, &facts, NB_SLICE("pg"), numbers, 2);
    }
    nb_observed_put(observed, &request);
}

static unsigned kept(uint64_t key, int64_t *sum_ns) {
    unsigned count = 0;
    *sum_ns = 0;
    for (uint32_t i = 0; i < NB_OBSERVED_RECORDS; i++) {
        uint64_t own;
        int64_t ended_ns;
        bool there = nb_observed_peek(observed, i, &own, &ended_ns);
        assert_int_equal(there, nb_observed_read(observed, i, &found));
        if (!there || own != key) continue;
        assert_int_equal(ended_ns, found.about.ended_ns);
        count++;
        *sum_ns += ended_ns;
    }
    return count;
}

/* Fills every place; the class 1 was observed longest ago. */
static void fill(int64_t first_ns) {
    for (uint64_t key = 1; key <= NB_OBSERVED_CLASSES; key++) {
        assert_true(nb_observed_begin(observed, key, first_ns + (int64_t)(key - 1) * SECOND));
        put(key, first_ns, 1);
    }
}

static void the_first_of_a_class_are_observed_at_once_then_one_a_second(void **state) {
    (void)state;
    for (unsigned i = 0; i < NB_OBSERVED_EACH; i++)
        assert_true(nb_observed_begin(observed, 7, 5 * SECOND));
    assert_false(nb_observed_begin(observed, 7, 6 * SECOND - 1));
    assert_true(nb_observed_begin(observed, 7, 6 * SECOND));
    assert_false(nb_observed_begin(observed, 7, 6 * SECOND + 1));
    assert_true(nb_observed_begin(observed, 8, 6 * SECOND + 1));
}

static void so_many_begin_in_a_second(void **state) {
    (void)state;
    for (uint64_t i = 0; i < NB_OBSERVED_BEGUN_MAX; i++)
        assert_true(nb_observed_begin(observed, 1 + i / 2, 5 * SECOND + (int64_t)i));
    assert_false(nb_observed_begin(observed, 99, 5 * SECOND + 100));
    assert_true(nb_observed_begin(observed, 99, 6 * SECOND));
}

static void the_newest_of_a_class_stay_and_are_counted(void **state) {
    (void)state;
    int64_t sum_ns;
    assert_true(nb_observed_begin(observed, 7, SECOND));
    assert_int_equal(0, kept(7, &sum_ns));
    for (int64_t i = 1; i <= 7; i++)
        put(7, i, 2);
    assert_int_equal(4, kept(7, &sum_ns));
    assert_int_equal(4 + 5 + 6 + 7, sum_ns);
    uint32_t counts = 0;
    for (uint32_t i = 0; i < NB_OBSERVED_EACH; i++) {
        assert_true(nb_observed_read(observed, i, &found));
        assert_int_equal(found.about.ended_ns, found.about.extra);
        counts += found.about.extra;
    }
    assert_int_equal(4 + 5 + 6 + 7, counts);
}

static void a_class_that_was_not_observed_for_long_makes_way(void **state) {
    (void)state;
    int64_t sum_ns, first_ns = SECOND;
    fill(first_ns);
    int64_t later_ns = first_ns + 31 * SECOND + NB_OBSERVED_QUIET_NS;
    assert_true(nb_observed_begin(observed, 99, later_ns));
    assert_true(nb_observed_begin(observed, 98, later_ns));
    assert_int_equal(0, kept(1, &sum_ns));
    assert_int_equal(0, kept(2, &sum_ns));
    assert_int_equal(1, kept(3, &sum_ns));
    put(99, later_ns, 1);
    assert_int_equal(1, kept(99, &sum_ns));
    put(1, later_ns, 1);
    assert_int_equal(0, kept(1, &sum_ns));
}

static void where_all_are_busy_one_makes_way_each_second(void **state) {
    (void)state;
    int64_t sum_ns, now_ns = 33 * SECOND;
    fill(SECOND);
    assert_true(nb_observed_begin(observed, 99, now_ns));
    assert_int_equal(0, kept(1, &sum_ns));
    assert_false(nb_observed_begin(observed, 98, now_ns + SECOND - 1));
    assert_int_equal(1, kept(2, &sum_ns));
    assert_true(nb_observed_begin(observed, 98, now_ns + SECOND));
    assert_int_equal(0, kept(2, &sum_ns));
    assert_int_equal(1, kept(3, &sum_ns));
}

static void a_record_has_what_was_observed(void **state) {
    (void)state;
    assert_true(nb_observed_begin(observed, 7, SECOND));
    snprintf(request.about.line, sizeof request.about.line, "GET /x");
    put(7, 5, NB_OBSERVED_WAITS_MAX);
    memset(&found, 0xee, sizeof found);
    assert_true(nb_observed_read(observed, 0, &found));
    const nb_observation *observation = &found.observation;
    assert_string_equal("GET /x", found.about.line);
    assert_int_equal(NB_OBSERVED_WAITS_MAX, observation->wait_count);
    for (uint32_t i = 0; i < observation->wait_count; i++) {
        const nb_observed_wait *wait = &observation->waits[i];
        const nb_observed_frame *frame = &observation->frames[observation->numbers[wait->stack]];
        char name[24];
        int size = snprintf(name, sizeof name, "A#x%u", (unsigned)i);
        nb_slice text = nb_observation_text(observation, frame->name);
        assert_int_equal(2, wait->depth);
        assert_int_equal(i, frame->line);
        assert_int_equal(size, text.size);
        assert_memory_equal(name, text.data, text.size);
    }
}

static void damage_by_another_process_stays_within_the_bounds(void **state) {
    (void)state;
    assert_true(nb_observed_begin(observed, 7, SECOND));
    put(7, 5, 3);
    for (unsigned byte = 0; byte < 256; byte += 17) {
        nb_observed_record *record = &observed->records[0];
        memset(record, (int)byte, sizeof *record);
        atomic_store(&record->sequence, 4);
        if (!nb_observed_read(observed, 0, &found)) {
            assert_int_equal(0, byte);
            continue;
        }
        const nb_observation *observation = &found.observation;
        assert_true(observation->wait_count <= NB_OBSERVED_WAITS_MAX);
        assert_true(observation->frame_count <= NB_OBSERVED_FRAMES_MAX);
        assert_true(observation->text_bytes <= NB_OBSERVED_TEXT_BYTES);
        assert_true(strlen(found.about.line) < sizeof found.about.line);
        assert_true(strlen(found.about.id) < sizeof found.about.id);
        assert_true(strlen(found.about.trace) < sizeof found.about.trace);
        assert_null(found.about.account.waterfall);
        for (uint32_t i = 0; i < observation->wait_count; i++)
            assert_true(observation->waits[i].stack + observation->waits[i].depth <= observation->number_count);
    }
    atomic_store(&observed->records[0].sequence, 5);
    assert_false(nb_observed_read(observed, 0, &found));
}

static atomic_bool over;

static void *write_all_the_time(void *argument) {
    (void)argument;
    (void)nb_observed_begin(observed, 7, SECOND);
    for (int64_t i = 1; !atomic_load(&over); i++)
        put(7, i, (uint32_t)(i % 100) + 1);
    return NULL;
}

/* All waits of a request have its time, and there are as many as that says, in as many frames. */
static void a_reader_never_sees_halves_of_two(void **state) {
    (void)state;
    static nb_observed_request read;
    pthread_t thread;
    atomic_store(&over, false);
    assert_int_equal(0, pthread_create(&thread, NULL, write_all_the_time, NULL));
    for (unsigned whole = 0; whole < 2000;) {
        if (!nb_observed_read(observed, whole % NB_OBSERVED_EACH, &read)) continue;
        const nb_observation *observation = &read.observation;
        assert_int_equal(read.about.ended_ns % 100 + 1, observation->wait_count);
        assert_int_equal(observation->wait_count, observation->frame_count);
        for (uint32_t i = 0; i < observation->wait_count; i++) {
            assert_int_equal(read.about.ended_ns, observation->waits[i].began_ns);
            assert_int_equal(i, observation->frames[observation->numbers[observation->waits[i].stack]].line);
        }
        whole++;
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(the_first_of_a_class_are_observed_at_once_then_one_a_second),
        CASE(so_many_begin_in_a_second),
        CASE(the_newest_of_a_class_stay_and_are_counted),
        CASE(a_class_that_was_not_observed_for_long_makes_way),
        CASE(where_all_are_busy_one_makes_way_each_second),
        CASE(a_record_has_what_was_observed),
        CASE(damage_by_another_process_stays_within_the_bounds),
        CASE(a_reader_never_sees_halves_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
