/*
 * test_pool_gauges.c - what the last minute of a pool was like, and that a reader sees whole
 * records only, whatever another process has written.
 */
#include "intake/pool_gauges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)
/* The beginning of a slice. */
#define START (1000 * NB_POOL_SLICE_NS)

static nb_pool_gauge gauge, found;
static nb_pool_gauges gauges;

static int setup(void **state) {
    (void)state;
    memset(&gauges, 0, sizeof gauges);
    nb_pool_gauge_init(&gauge, NB_POOL_KIND_sequel, NB_SLICE("shop"), 2);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

/* The minute as it is at that time. */
static nb_pool_minute minute_at(int64_t now_ns) {
    nb_pool_gauge copy = gauge;
    (void)nb_pool_gauge_tell(&copy, NB_POOL_CHANGED, gauge.in_use, gauge.waiting, now_ns);
    return nb_pool_gauge_minute(&copy);
}

static void tell(nb_pool_event event, uint32_t in_use, uint32_t waiting, int64_t now_ns) {
    (void)nb_pool_gauge_tell(&gauge, event, in_use, waiting, now_ns);
}

static void a_pool_at_which_nobody_waits_needs_no_other_size(void **state) {
    (void)state;
    tell(NB_POOL_ACQUIRED, 1, 0, START);
    tell(NB_POOL_ACQUIRED, 2, 0, START + MS);
    tell(NB_POOL_CHANGED, 1, 0, START + 2 * MS);
    nb_pool_minute minute = minute_at(START + SECOND);
    assert_int_equal(2, minute.demand_max);
    assert_int_equal(2, minute.acquired);
    assert_int_equal(0, minute.waited);
    assert_int_equal(0, minute.waited_ns);
    assert_int_equal(0, minute.would_do);
    assert_false(minute.held_back);
}

static void it_would_do_with_as_many_as_were_wanted_at_once(void **state) {
    (void)state;
    tell(NB_POOL_ACQUIRED, 2, 0, START);
    tell(NB_POOL_WAITS, 2, 1, START);
    tell(NB_POOL_WAITS, 2, 2, START + 10 * MS);
    tell(NB_POOL_CHANGED, 1, 2, START + 30 * MS);
    tell(NB_POOL_ACQUIRED, 2, 1, START + 30 * MS);
    tell(NB_POOL_ACQUIRED, 2, 0, START + 40 * MS);
    nb_pool_minute minute = minute_at(START + SECOND);
    assert_int_equal(4, minute.demand_max);
    assert_int_equal(4, minute.would_do);
    assert_int_equal(3, minute.acquired);
    assert_int_equal(2, minute.waited);
    assert_int_equal(60 * MS, minute.waited_ns);
    assert_int_equal(60 * MS, gauge.waited_ns_total);
}

static void a_trifle_is_no_reason_for_another_size(void **state) {
    (void)state;
    tell(NB_POOL_WAITS, 2, 1, START);
    tell(NB_POOL_ACQUIRED, 2, 0, START + MS - 1);
    assert_int_equal(0, minute_at(START + SECOND).would_do);
    tell(NB_POOL_WAITS, 2, 1, START + SECOND);
    tell(NB_POOL_ACQUIRED, 2, 0, START + SECOND + MS + 1);
    assert_int_equal(3, minute_at(START + SECOND + MS + 1).would_do);
}

static void those_that_wait_still_are_counted(void **state) {
    (void)state;
    tell(NB_POOL_WAITS, 2, 1, START);
    tell(NB_POOL_WAITS, 2, 2, START + SECOND);
    nb_pool_minute minute = minute_at(START + 3 * SECOND);
    assert_int_equal(5 * SECOND, minute.waited_ns);
    assert_int_equal(4, minute.would_do);
    /* They began longer ago than the window. */
    minute = minute_at(START + 10 * NB_POOL_WINDOW_NS + SECOND);
    assert_int_equal(0, minute.waited);
    assert_int_equal(2 * (NB_POOL_WINDOW_NS - NB_POOL_SLICE_NS + SECOND), minute.waited_ns);
    assert_int_equal(4, minute.would_do);
    nb_pool_gauge copy = gauge;
    (void)nb_pool_gauge_tell(&copy, NB_POOL_CHANGED, 2, 2, START + 10 * NB_POOL_WINDOW_NS);
    assert_int_equal(20 * NB_POOL_WINDOW_NS - SECOND, copy.waited_ns_total);
}

static void what_is_older_than_the_window_is_forgotten(void **state) {
    (void)state;
    tell(NB_POOL_WAITS, 2, 3, START);
    tell(NB_POOL_HELD_BACK, 2, 4, START);
    tell(NB_POOL_ACQUIRED, 1, 0, START + SECOND);
    int64_t last_ns = START + NB_POOL_WINDOW_NS - 1;
    assert_int_equal(6, minute_at(last_ns).would_do);
    assert_true(minute_at(last_ns).held_back);
    nb_pool_minute minute = minute_at(last_ns + 1);
    assert_int_equal(1, minute.demand_max);
    assert_int_equal(0, minute.waited + minute.acquired + minute.would_do);
    assert_int_equal(0, minute.waited_ns);
    assert_false(minute.held_back);
}

static void time_is_counted_where_it_passes(void **state) {
    (void)state;
    tell(NB_POOL_WAITS, 2, 1, START + 4 * SECOND);
    assert_true(nb_pool_gauge_tell(&gauge, NB_POOL_CHANGED, 2, 0, START + 7 * SECOND));
    assert_false(nb_pool_gauge_tell(&gauge, NB_POOL_CHANGED, 2, 0, START + 8 * SECOND));
    assert_int_equal(1 * SECOND, gauge.slices[0 + 1000 % NB_POOL_SLICES].waited_ns);
    assert_int_equal(2 * SECOND, gauge.slices[1 + 1000 % NB_POOL_SLICES].waited_ns);
    /* The clock of another thread is behind. */
    assert_false(nb_pool_gauge_tell(&gauge, NB_POOL_ACQUIRED, 1, 0, START));
    assert_int_equal(1, minute_at(START + 9 * SECOND).acquired);
}

static void one_without_a_limit_is_never_too_small(void **state) {
    (void)state;
    nb_pool_gauge_init(&gauge, NB_POOL_KIND_active_record, NB_SLICE("primary"), 0);
    tell(NB_POOL_WAITS, 2, 3, START);
    assert_int_equal(0, minute_at(START + 3 * SECOND).would_do);
}

static void it_is_idle_when_nothing_was_for_the_whole_window(void **state) {
    (void)state;
    tell(NB_POOL_ACQUIRED, 1, 0, START);
    assert_false(nb_pool_gauge_is_idle(&gauge, START + 2 * NB_POOL_WINDOW_NS));
    tell(NB_POOL_CHANGED, 0, 0, START);
    assert_false(nb_pool_gauge_is_idle(&gauge, START + NB_POOL_WINDOW_NS));
    assert_true(nb_pool_gauge_is_idle(&gauge, START + NB_POOL_WINDOW_NS + 1));
}

static void the_end_of_a_long_name_is_kept(void **state) {
    (void)state;
    static const char end[] = "/app/models/shop.rb:12";
    char name[200];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - strlen(end), end, strlen(end));
    nb_pool_gauge_init(&gauge, NB_POOL_KIND_fibers, nb_slice_of(name, sizeof name), 2);
    assert_int_equal(NB_POOL_NAME_BYTES - 1, strlen(gauge.name));
    assert_string_equal(end, gauge.name + strlen(gauge.name) - strlen(end));
    nb_pool_gauge_init(&gauge, NB_POOL_KIND_fibers, nb_slice_of(NULL, 0), 2);
    assert_string_equal("", gauge.name);
}

static void kinds_have_names(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < NB_POOL_KINDS; kind++)
        assert_int_equal(kind, nb_pool_kind_named(nb_pool_kind_name(kind)));
    assert_int_equal(NB_POOL_KINDS, nb_pool_kind_named("pond"));
    assert_string_equal("bulkhead", nb_pool_kind_name(NB_POOL_KINDS));
}

static void a_reader_brings_a_record_up_to_now(void **state) {
    (void)state;
    assert_false(nb_pool_gauges_read(&gauges, 3, START, &found));
    tell(NB_POOL_WAITS, 2, 2, START);
    nb_pool_gauges_put(&gauges, 3, &gauge);
    assert_false(nb_pool_gauge_tell(&gauge, NB_POOL_WAITS, 2, 3, START + SECOND));
    nb_pool_gauges_put_numbers(&gauges, 3, &gauge);
    assert_true(nb_pool_gauges_read(&gauges, 3, START + 2 * SECOND, &found));
    assert_string_equal("shop", found.name);
    assert_int_equal(NB_POOL_KIND_sequel, found.kind);
    assert_int_equal(2, found.size);
    assert_int_equal(3, found.waiting);
    assert_int_equal(2, found.waited_total);
    assert_int_equal(5 * SECOND, found.waited_ns_total);
    assert_int_equal(5 * SECOND, nb_pool_gauge_minute(&found).waited_ns);
    nb_pool_gauges_clear(&gauges, 3);
    assert_false(nb_pool_gauges_read(&gauges, 3, START, &found));
}

static void damage_by_another_process_stays_within_the_bounds(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        for (int64_t now_ns = -1; now_ns < INT64_MAX / 4; now_ns = now_ns * 3 + 2 * START) {
            memset(&gauges.records[0], (int)byte, sizeof gauges.records[0]);
            atomic_store(&gauges.records[0].sequence, 4);
            /* a kind that there is */
            atomic_store(&gauges.records[0].words[0], UINT64_C(0xffffffff00000001));
            if (!nb_pool_gauges_read(&gauges, 0, now_ns, &found)) continue;
            assert_true(strlen(found.name) < NB_POOL_NAME_BYTES);
            (void)nb_pool_gauge_minute(&found);
        }
    }
    memset(&gauges.records[0], 0x7f, sizeof gauges.records[0]);
    atomic_store(&gauges.records[0].sequence, 4);
    assert_false(nb_pool_gauges_read(&gauges, 0, START, &found));
    atomic_store(&gauges.records[0].sequence, 5);
    assert_false(nb_pool_gauges_read(&gauges, 0, START, &found));
}

static atomic_bool over;

/* As many are in use as wait, always; the name says the same. */
static void *write_all_the_time(void *argument) {
    nb_pool_gauge own;
    (void)argument;
    for (uint32_t i = 1; !atomic_load(&over); i++) {
        char letter = (char)('a' + i % 26);
        nb_pool_gauge_init(&own, NB_POOL_KIND_sequel, nb_slice_of(&letter, 1), 2);
        (void)nb_pool_gauge_tell(&own, NB_POOL_WAITS, i % 26, i % 26, START);
        nb_pool_gauges_put(&gauges, 0, &own);
        nb_pool_gauges_put_numbers(&gauges, 0, &own);
    }
    return NULL;
}

static void a_reader_never_sees_halves_of_two(void **state) {
    (void)state;
    pthread_t thread;
    atomic_store(&over, false);
    assert_int_equal(0, pthread_create(&thread, NULL, write_all_the_time, NULL));
    for (unsigned whole = 0; whole < 2000;) {
        if (!nb_pool_gauges_read(&gauges, 0, START, &found)) continue;
        assert_int_equal(found.in_use, found.waiting);
        assert_int_equal('a' + (int)found.in_use, found.name[0]);
        whole++;
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_pool_at_which_nobody_waits_needs_no_other_size),
        CASE(it_would_do_with_as_many_as_were_wanted_at_once),
        CASE(a_trifle_is_no_reason_for_another_size),
        CASE(those_that_wait_still_are_counted),
        CASE(what_is_older_than_the_window_is_forgotten),
        CASE(time_is_counted_where_it_passes),
        CASE(one_without_a_limit_is_never_too_small),
        CASE(it_is_idle_when_nothing_was_for_the_whole_window),
        CASE(the_end_of_a_long_name_is_kept),
        CASE(kinds_have_names),
        CASE(a_reader_brings_a_record_up_to_now),
        CASE(damage_by_another_process_stays_within_the_bounds),
        CASE(a_reader_never_sees_halves_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
