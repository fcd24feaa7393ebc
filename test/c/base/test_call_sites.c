/*
 * test_call_sites.c - a place earns and loses the trust that its calls are quick.
 */
#include "support/test.h"

#include <string.h>

#include "base/call_sites.h"

enum { QUICK = 1000, MIDDLE = 500000, SLOW = 5000000, KEY = 42 };

static nb_call_sites sites;

static int empty(void **state) {
    (void)state;
    memset(&sites, 0, sizeof sites);
    return 0;
}

static nb_call_site *at(uint64_t key) { return nb_call_sites_find(&sites, key); }

/* Calls as whoever asks first would make them, each so long. Returns how many were made
   elsewhere. */
static uint32_t calls(uint64_t key, uint32_t count, int64_t took_ns) {
    uint32_t elsewhere = 0;
    for (uint32_t i = 0; i < count; i++) {
        nb_call_site *site = at(key);
        bool here = nb_call_site_is_trusted(site);
        nb_call_site_ended(site, here, took_ns);
        elsewhere += !here;
    }
    return elsewhere;
}

static void a_new_place_is_not_trusted(void **state) {
    (void)state;
    assert_false(nb_call_site_is_trusted(at(KEY)));
}

static void quick_calls_earn_trust(void **state) {
    (void)state;
    assert_int_equal(calls(KEY, 100, QUICK), NB_CALL_SITES_TRUST);
    assert_true(nb_call_site_is_trusted(at(KEY)));
    assert_false(nb_call_site_is_trusted(at(KEY + 1)));
}

static void calls_that_take_their_time_do_not(void **state) {
    (void)state;
    assert_int_equal(calls(KEY, 100, MIDDLE), 100);
    assert_int_equal(calls(KEY, 100, SLOW), 100);
}

static void two_slow_calls_take_it_away_and_each_time_the_way_back_is_longer(void **state) {
    (void)state;
    uint32_t way = NB_CALL_SITES_TRUST;
    calls(KEY, way, QUICK);
    for (uint32_t slips = 0; slips < NB_CALL_SITES_SLIPS_MAX + 3; slips++) {
        assert_int_equal(calls(KEY, 2, SLOW), 0);
        assert_int_equal(calls(KEY, 100000, QUICK), way);
        calls(KEY, NB_CALL_SITES_FORGIVE, MIDDLE); /* nothing is forgiven by these */
        at(KEY)->quick = 0;
        at(KEY)->slips = (uint16_t)(slips + 1 < NB_CALL_SITES_SLIPS_MAX ? slips + 1
                                                                        /* Nor by those that earned
                                                                           it. */
                                                                        : NB_CALL_SITES_SLIPS_MAX);
        if (slips < NB_CALL_SITES_SLIPS_MAX) way *= 2;
    }
    assert_int_equal(way, NB_CALL_SITES_TRUST << NB_CALL_SITES_SLIPS_MAX);
}

static void one_slow_call_is_no_habit(void **state) {
    (void)state;
    calls(KEY, NB_CALL_SITES_TRUST, QUICK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(calls(KEY, 1, SLOW), 0);
        assert_int_equal(calls(KEY, NB_CALL_SITES_NEAR_CALLS, QUICK), 0);
    }
    calls(KEY, 1, SLOW);
    calls(KEY, NB_CALL_SITES_NEAR_CALLS - 1, QUICK);
    calls(KEY, 1, SLOW);
    assert_false(nb_call_site_is_trusted(at(KEY)));
}

static void a_call_that_is_neither_changes_nothing(void **state) {
    (void)state;
    calls(KEY, NB_CALL_SITES_TRUST, QUICK);
    assert_int_equal(calls(KEY, 1000, MIDDLE), 0);
}

static void a_slip_is_forgiven_after_many_quick_calls(void **state) {
    (void)state;
    calls(KEY, NB_CALL_SITES_TRUST, QUICK);
    calls(KEY, 2, SLOW);
    assert_int_equal(at(KEY)->slips, 1);
    calls(KEY, NB_CALL_SITES_TRUST + NB_CALL_SITES_FORGIVE - 1, QUICK);
    assert_int_equal(at(KEY)->slips, 1);
    calls(KEY, 1, QUICK);
    assert_int_equal(at(KEY)->slips, 0);
    assert_true(nb_call_site_is_trusted(at(KEY)));
}

static void a_place_without_a_number_has_one(void **state) {
    (void)state;
    calls(0, NB_CALL_SITES_TRUST, QUICK);
    assert_true(nb_call_site_is_trusted(at(0)));
}

static void more_places_than_there_is_room_for_are_learned_anew(void **state) {
    (void)state;
    for (uint64_t key = 1; key <= 4 * NB_CALL_SITES_MAX; key++)
        assert_int_equal(calls(key, NB_CALL_SITES_TRUST + 1, QUICK), NB_CALL_SITES_TRUST);
    uint32_t trusted = 0;
    for (size_t i = 0; i < NB_CALL_SITES_MAX; i++)
        trusted += nb_call_site_is_trusted(&sites.slots[i]) && sites.slots[i].key != 0;
    assert_in_range(trusted, NB_CALL_SITES_MAX / 2, NB_CALL_SITES_MAX);
}

#define CASE(name) cmocka_unit_test_setup(name, empty)

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        CASE(a_new_place_is_not_trusted),
        CASE(quick_calls_earn_trust),
        CASE(calls_that_take_their_time_do_not),
        CASE(two_slow_calls_take_it_away_and_each_time_the_way_back_is_longer),
        CASE(one_slow_call_is_no_habit),
        CASE(a_call_that_is_neither_changes_nothing),
        CASE(a_slip_is_forgiven_after_many_quick_calls),
        CASE(a_place_without_a_number_has_one),
        CASE(more_places_than_there_is_room_for_are_learned_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
