/*
 * test_account.c - the parts of a wait and of a request, and what is counted as nothing.
 */
#include "intake/account.h"

#include "support/test.h"

static nb_account begun(void) {
    nb_account account = {0};
    nb_account_facts facts = {.exchange = 7, .head_ns = 5, .body_ns = 6, .arrived_ns = 100, .taken_ns = 130};
    nb_account_begin(&account, &facts);
    return account;
}

static void an_account_begins_with_what_came_before(void **state) {
    (void)state;
    nb_account account = begun();
    assert_int_equal(5, account.head_ns);
    assert_int_equal(6, account.body_ns);
    assert_int_equal(30, account.queue_ns);
    assert_int_equal(130, account.taken_ns);
    assert_int_equal(0, account.head_sent_ns);
    assert_int_equal(0, account.ran_ns);
    assert_int_equal(0, account.waited_ns);
}

static void nothing_of_the_request_before_is_left(void **state) {
    (void)state;
    nb_account fresh = begun(), used = begun();
    nb_account_facts facts = {.exchange = 7, .head_ns = 5, .body_ns = 6, .arrived_ns = 100, .taken_ns = 130};
    nb_account_waited(&used, NB_FIBER_WAIT_sleep, 140, 150, 160);
    nb_account_ran(&used, 4);
    used.head_sent_ns = used.gc_ns = 9;
    used.allocated = 9;
    used.waiting = true;
    used.observed = NB_ACCOUNT_OBSERVED;
    nb_account_begin(&used, &facts);
    assert_memory_equal(&fresh, &used, sizeof used);
}

static void a_clock_that_went_back_counts_as_nothing(void **state) {
    (void)state;
    nb_account account = {0};
    nb_account_facts facts = {.exchange = 7, .head_ns = -1, .body_ns = -2, .arrived_ns = 100, .taken_ns = 90};
    nb_account_begin(&account, &facts);
    assert_int_equal(0, account.head_ns);
    assert_int_equal(0, account.body_ns);
    assert_int_equal(0, account.queue_ns);
    nb_account_ran(&account, -4);
    assert_int_equal(0, account.ran_ns);
}

static void it_is_one_requests(void **state) {
    (void)state;
    nb_account account = begun(), none = {0};
    assert_true(nb_account_is(&account, 7));
    assert_false(nb_account_is(&account, 8));
    assert_false(nb_account_is(&none, 0));
    assert_false(nb_account_is(NULL, 7));
}

/* began, ready, ended; expected: of its kind, of the turn. */
static void a_wait_is_its_kind_until_it_is_over_and_a_turn_from_then_on(void **state) {
    (void)state;
    static const int64_t rows[][5] = {
        {100, 150, 170, 50, 20}, {100, 0, 170, 70, 0},   {100, 100, 170, 0, 70}, {100, 170, 170, 70, 0},
        {100, 90, 170, 0, 70},   {100, 200, 170, 70, 0}, {100, 150, 90, 0, 0},   {100, 100, 100, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        nb_account account = begun();
        nb_account_waited(&account, NB_FIBER_WAIT_database, rows[i][0], rows[i][1], rows[i][2]);
        assert_int_equal(rows[i][3], account.wait_ns[NB_FIBER_WAIT_database]);
        assert_int_equal(rows[i][4], account.wait_ns[NB_FIBER_WAIT_turn]);
        assert_int_equal(1, account.waits[NB_FIBER_WAIT_database]);
        assert_int_equal(0, account.waits[NB_FIBER_WAIT_turn]);
    }
}

static void waits_add_up_by_kind_and_never_exceed_what_has_passed(void **state) {
    (void)state;
    nb_account account = begun();
    nb_account_waited(&account, NB_FIBER_WAIT_lock, 140, 150, 151);
    nb_account_waited(&account, NB_FIBER_WAIT_lock, 160, 180, 180);
    nb_account_waited(&account, NB_FIBER_WAIT_http, 190, 250, 260);
    nb_account_waited(&account, NB_FIBER_WAIT_turn, 270, 270, 290);
    assert_int_equal(30, account.wait_ns[NB_FIBER_WAIT_lock]);
    assert_int_equal(2, account.waits[NB_FIBER_WAIT_lock]);
    assert_int_equal(60, account.wait_ns[NB_FIBER_WAIT_http]);
    assert_int_equal(31, account.wait_ns[NB_FIBER_WAIT_turn]);
    assert_int_equal(1, account.waits[NB_FIBER_WAIT_turn]);
    assert_int_equal(121, account.waited_ns);
    assert_true(account.waited_ns <= 290 - account.taken_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_begins_with_what_came_before),
        cmocka_unit_test(nothing_of_the_request_before_is_left),
        cmocka_unit_test(a_clock_that_went_back_counts_as_nothing),
        cmocka_unit_test(it_is_one_requests),
        cmocka_unit_test(a_wait_is_its_kind_until_it_is_over_and_a_turn_from_then_on),
        cmocka_unit_test(waits_add_up_by_kind_and_never_exceed_what_has_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
