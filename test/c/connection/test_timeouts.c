/*
 * test_timeouts.c - the timeout queues against a naive reference, with time as an argument.
 */
#include "connection/timeouts.h"

#include <stddef.h>

#include "support/test.h"

enum { NODES = 60, STEPS = 40000 };

typedef struct reference {
    nb_timeout_class kind;
    int64_t deadline_ns, armed;
} reference;

static int64_t earliest(const reference *nodes) {
    int64_t first = INT64_MAX;
    for (int i = 0; i < NODES; i++)
        if (nodes[i].kind != NB_TIMEOUT_NONE && nodes[i].deadline_ns < first) first = nodes[i].deadline_ns;
    return first;
}

static void expire_all(nb_timeouts *timeouts, nb_timeout *nodes, reference *expected, int64_t now) {
    nb_timeout_class kind = NB_TIMEOUT_NONE;
    for (nb_timeout *node; (node = nb_timeouts_expire(timeouts, now, &kind));) {
        ptrdiff_t i = node - nodes;
        assert_true(expected[i].kind == kind);
        assert_true(expected[i].deadline_ns <= now);
        assert_true(node->kind == NB_TIMEOUT_NONE);
        expected[i].kind = NB_TIMEOUT_NONE;
    }
    assert_true(earliest(expected) > now);
}

static void random_use_agrees_with_a_naive_reference(void **state) {
    (void)state;
    nb_timeouts timeouts;
    nb_timeout nodes[NODES];
    reference expected[NODES] = {{NB_TIMEOUT_NONE, 0, 0}};
    nb_test_random random = {3};
    int64_t now = 1000;
    nb_timeouts_init(&timeouts);
    for (int i = 1; i < NB_TIMEOUT_CLASSES; i++)
        timeouts.length_ns[i] = 37 * i;
    for (int i = 0; i < NODES; i++)
        nb_timeout_init(&nodes[i]);
    for (int64_t step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)nb_test_random_below(&random, NODES);
        nb_timeout_class kind = (nb_timeout_class)nb_test_random_below(&random, NB_TIMEOUT_CLASSES);
        nb_timeouts_set(&timeouts, &nodes[i], kind, now);
        expected[i] = (reference){kind, now + 37 * (int64_t)kind, step};
        assert_int_equal(earliest(expected), nb_timeouts_next_ns(&timeouts));
        nb_timeout *oldest = nb_timeouts_oldest(&timeouts, NB_TIMEOUT_IDLE);
        for (int other = 0; other < NODES; other++)
            if (expected[other].kind == NB_TIMEOUT_IDLE)
                assert_true(expected[other].armed >= expected[oldest - nodes].armed);
        now += (int64_t)nb_test_random_below(&random, 9);
        if (step % 4 == 0) expire_all(&timeouts, nodes, expected, now);
    }
    expire_all(&timeouts, nodes, expected, INT64_MAX - 1);
    assert_int_equal(INT64_MAX, nb_timeouts_next_ns(&timeouts));
}

static void a_deadline_comes_at_its_nanosecond_and_no_sooner(void **state) {
    (void)state;
    nb_timeouts timeouts;
    nb_timeout node;
    nb_timeout_class kind;
    nb_timeouts_init(&timeouts);
    nb_timeout_init(&node);
    timeouts.length_ns[NB_TIMEOUT_HEADER] = 100;
    nb_timeouts_set(&timeouts, &node, NB_TIMEOUT_HEADER, 50);
    assert_null(nb_timeouts_expire(&timeouts, 149, &kind));
    assert_ptr_equal(&node, nb_timeouts_expire(&timeouts, 150, &kind));
    assert_int_equal(NB_TIMEOUT_HEADER, kind);
    assert_null(nb_timeouts_expire(&timeouts, INT64_MAX, &kind));
}

static void disarming_takes_out_and_may_be_repeated(void **state) {
    (void)state;
    nb_timeouts timeouts;
    nb_timeout first, second;
    nb_timeouts_init(&timeouts);
    nb_timeout_init(&first);
    nb_timeout_init(&second);
    nb_timeouts_set(&timeouts, &first, NB_TIMEOUT_IDLE, 1);
    nb_timeouts_set(&timeouts, &second, NB_TIMEOUT_IDLE, 2);
    assert_ptr_equal(&first, nb_timeouts_oldest(&timeouts, NB_TIMEOUT_IDLE));
    assert_ptr_equal(&second, nb_timeouts_after(&timeouts, &first));
    assert_null(nb_timeouts_after(&timeouts, &second));
    nb_timeouts_set(&timeouts, &first, NB_TIMEOUT_IDLE, 3); /* moves to the end */
    assert_ptr_equal(&second, nb_timeouts_oldest(&timeouts, NB_TIMEOUT_IDLE));
    nb_timeouts_set(&timeouts, &second, NB_TIMEOUT_NONE, 4);
    nb_timeouts_set(&timeouts, &second, NB_TIMEOUT_NONE, 4);
    nb_timeouts_set(&timeouts, &first, NB_TIMEOUT_NONE, 4);
    assert_null(nb_timeouts_oldest(&timeouts, NB_TIMEOUT_IDLE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_agrees_with_a_naive_reference),
        cmocka_unit_test(a_deadline_comes_at_its_nanosecond_and_no_sooner),
        cmocka_unit_test(disarming_takes_out_and_may_be_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
