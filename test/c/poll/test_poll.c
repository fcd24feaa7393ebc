/*
 * test_poll.c - the choice of a backend, and the contract suite against every backend built here.
 */
#include "support/test.h"

#include <limits.h>

#include "os/clock.h"
#include "poll/poll.h"
#include "poll/poll_internal.h"
#include "support/poll_contract.h"

static const char *const names[] = {"epoll", "kqueue", "poll"};
enum { NAMES = sizeof names / sizeof names[0] };

static bool is_built(const char *name) {
    nb_poll *poll = NULL;
    nb_status status = nb_poll_create(name, &poll);
    nb_poll_destroy(poll);
    return status == NB_OK;
}

static void an_unknown_backend_is_unsupported(void **state) {
    (void)state;
    nb_poll *poll = NULL;
    assert_status(NB_UNSUPPORTED, nb_poll_create("select", &poll));
    assert_status(NB_UNSUPPORTED, nb_poll_create("", &poll));
    assert_null(poll);
}

static void a_backend_knows_its_name(void **state) {
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        nb_poll *poll;
        if (!is_built(names[i])) continue;
        assert_status(NB_OK, nb_poll_create(names[i], &poll));
        assert_string_equal(names[i], nb_poll_backend(poll));
        nb_poll_destroy(poll);
    }
}

static void the_default_is_the_best_that_is_built(void **state) {
    (void)state;
    nb_poll *poll;
    int best = 0;
    while (!is_built(names[best]))
        best++;
    assert_status(NB_OK, nb_poll_create(NULL, &poll));
    assert_string_equal(names[best], nb_poll_backend(poll));
    nb_poll_destroy(poll);
}

static void destroying_nothing_is_harmless(void **state) {
    (void)state;
    nb_poll_destroy(NULL);
}

static void milliseconds_are_rounded_up_and_bounded(void **state) {
    (void)state;
    assert_int_equal(-1, nb_poll_timeout_ms(-1));
    assert_int_equal(-1, nb_poll_timeout_ms(INT64_MIN));
    assert_int_equal(0, nb_poll_timeout_ms(0));
    assert_int_equal(1, nb_poll_timeout_ms(1));
    assert_int_equal(1, nb_poll_timeout_ms(NB_NS_PER_MS));
    assert_int_equal(2, nb_poll_timeout_ms(NB_NS_PER_MS + 1));
    assert_int_equal(INT_MAX, nb_poll_timeout_ms(INT64_MAX));
    assert_int_equal(INT_MAX, nb_poll_timeout_ms((INT_MAX - 1) * NB_NS_PER_MS + 1));
}

int main(void) {
    nb_test_alarm(170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_backend_is_unsupported),       cmocka_unit_test(a_backend_knows_its_name),
        cmocka_unit_test(the_default_is_the_best_that_is_built),   cmocka_unit_test(destroying_nothing_is_harmless),
        cmocka_unit_test(milliseconds_are_rounded_up_and_bounded),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < NAMES; i++) {
        if (is_built(names[i])) failed += nb_test_poll_contract(names[i]);
    }
    return failed;
}
