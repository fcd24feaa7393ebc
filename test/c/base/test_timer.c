/*
 * test_timer.c - the heap of deadlines, against a plain array as reference.
 */
#include "support/test.h"

#include <string.h>

#include "base/alloc.h"
#include "base/timer.h"

enum { NODES = 300 };

static void an_empty_heap_has_no_deadline_and_nothing_to_expire(void **state) {
    (void)state;
    nb_timers timers;
    nb_timers_init(&timers);
    assert_int_equal(INT64_MAX, nb_timers_next_ns(&timers));
    assert_null(nb_timers_expire(&timers, INT64_MAX));
    nb_timers_validate(&timers);
    nb_timers_deinit(&timers);
}

static void timers_expire_in_order_and_not_before_their_time(void **state) {
    (void)state;
    static const int64_t deadlines[] = {50, -3, 20, INT64_MAX, 20, INT64_MIN, 0};
    nb_timer nodes[7] = {{0}};
    nb_timers timers;
    nb_timers_init(&timers);
    for (int i = 0; i < 7; i++)
        assert_status(NB_OK, nb_timers_arm(&timers, &nodes[i], deadlines[i]));
    assert_ptr_equal(&nodes[5], nb_timers_expire(&timers, INT64_MIN));
    assert_int_equal(-3, nb_timers_next_ns(&timers));
    assert_null(nb_timers_expire(&timers, -4));
    assert_ptr_equal(&nodes[1], nb_timers_expire(&timers, -3));
    assert_ptr_equal(&nodes[6], nb_timers_expire(&timers, 30));
    nb_timer *a = nb_timers_expire(&timers, 30), *b = nb_timers_expire(&timers, 30);
    assert_true((a == &nodes[2] && b == &nodes[4]) || (a == &nodes[4] && b == &nodes[2]));
    assert_null(nb_timers_expire(&timers, 30));
    assert_ptr_equal(&nodes[0], nb_timers_expire(&timers, 50));
    assert_ptr_equal(&nodes[3], nb_timers_expire(&timers, INT64_MAX));
    assert_int_equal(0, nodes[3].index);
    nb_timers_deinit(&timers);
}

static void arming_again_moves_and_disarming_twice_is_harmless(void **state) {
    (void)state;
    nb_timer one = {0}, two = {0};
    nb_timers timers;
    nb_timers_init(&timers);
    nb_timers_arm(&timers, &one, 10);
    nb_timers_arm(&timers, &two, 20);
    nb_timers_arm(&timers, &one, 30);
    assert_int_equal(2, timers.count);
    assert_int_equal(20, nb_timers_next_ns(&timers));
    nb_timers_disarm(&timers, &two);
    nb_timers_disarm(&timers, &two);
    assert_int_equal(0, two.index);
    assert_int_equal(30, nb_timers_next_ns(&timers));
    nb_timers_deinit(&timers);
    assert_int_equal(0, one.index);
}

typedef struct world {
    nb_timers timers;
    nb_timer nodes[NODES];
    bool in[NODES];
    int64_t deadlines[NODES];
    size_t count;
} world;

static int64_t earliest(const world *w) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < NODES; i++) {
        if (w->in[i] && w->deadlines[i] < best) best = w->deadlines[i];
    }
    return best;
}

static void expire_one(world *w, int64_t now_ns) {
    int64_t expected = earliest(w);
    nb_timer *timer = nb_timers_expire(&w->timers, now_ns);
    if (w->count == 0 || expected > now_ns) {
        assert_null(timer);
        return;
    }
    assert_non_null(timer);
    size_t i = (size_t)(timer - w->nodes);
    assert_true(w->in[i]);
    assert_int_equal(expected, w->deadlines[i]);
    assert_int_equal(expected, timer->deadline_ns);
    w->in[i] = false;
    w->count--;
}

static void random_step(world *w, nb_test_random *random, int64_t range) {
    size_t i = (size_t)nb_test_random_below(random, NODES);
    int64_t when = (int64_t)nb_test_random_below(random, (uint64_t)range);
    switch (nb_test_random_below(random, 4)) {
    case 0:
    case 1:
        assert_status(NB_OK, nb_timers_arm(&w->timers, &w->nodes[i], when));
        if (!w->in[i]) w->count++;
        w->in[i] = true;
        w->deadlines[i] = when;
        break;
    case 2:
        nb_timers_disarm(&w->timers, &w->nodes[i]);
        if (w->in[i]) w->count--;
        w->in[i] = false;
        break;
    default:
        expire_one(w, when);
    }
}

static void random_use_agrees_with_a_plain_array(void **state) {
    (void)state;
    static const int64_t ranges[] = {5, 1000, INT64_MAX};
    static world w;
    for (int round = 0; round < 3; round++) {
        nb_test_random random = {(uint64_t)round};
        memset(&w, 0, sizeof w);
        nb_timers_init(&w.timers);
        for (int i = 0; i < 5000; i++) {
            random_step(&w, &random, ranges[round]);
            nb_timers_validate(&w.timers);
            assert_int_equal(w.count, w.timers.count);
            assert_int_equal(earliest(&w), nb_timers_next_ns(&w.timers));
        }
        while (w.count > 0)
            expire_one(&w, INT64_MAX);
        nb_timers_deinit(&w.timers);
    }
}

static void when_growing_fails_the_timer_is_out_and_the_others_are_in_order(void **state) {
    (void)state;
    static nb_timer nodes[200];
    long before = nb_alloc_live();
    nb_timers timers;
    nb_timers_init(&timers);
    unsigned failures = 0;
    for (int i = 0; i < 200; i++) {
        nb_alloc_fail_at(1);
        nb_status status = nb_timers_arm(&timers, &nodes[i], 1000 - i);
        nb_alloc_fail_at(0);
        if (status == NB_OK) continue;
        assert_status(NB_NO_MEMORY, status);
        assert_int_equal(0, nodes[i].index);
        nb_timers_validate(&timers);
        failures++;
        assert_status(NB_OK, nb_timers_arm(&timers, &nodes[i], 1000 - i));
    }
    assert_true(failures >= 2);
    nb_timers_validate(&timers);
    assert_int_equal(801, nb_timers_next_ns(&timers));
    nb_timers_deinit(&timers);
    assert_int_equal(before, nb_alloc_live());
}

static void validate_spoiled(void *pointer) {
    nb_timers *timers = pointer;
    nb_timers_validate(timers);
}

static void validation_finds_a_broken_order_and_a_broken_index(void **state) {
    (void)state;
    nb_timer nodes[3] = {{0}};
    nb_timers timers;
    nb_timers_init(&timers);
    for (int i = 0; i < 3; i++)
        nb_timers_arm(&timers, &nodes[i], i);
    nodes[1].index = 3;
    assert_true(nb_test_aborts(validate_spoiled, &timers));
    nodes[1].index = 2;
    assert_false(nb_test_aborts(validate_spoiled, &timers));
    timers.slots[1].deadline_ns = nodes[0].deadline_ns = 100;
    assert_true(nb_test_aborts(validate_spoiled, &timers));
    nb_timers_deinit(&timers);
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_has_no_deadline_and_nothing_to_expire),
        cmocka_unit_test(timers_expire_in_order_and_not_before_their_time),
        cmocka_unit_test(arming_again_moves_and_disarming_twice_is_harmless),
        cmocka_unit_test(random_use_agrees_with_a_plain_array),
        cmocka_unit_test(when_growing_fails_the_timer_is_out_and_the_others_are_in_order),
        cmocka_unit_test(validation_finds_a_broken_order_and_a_broken_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
