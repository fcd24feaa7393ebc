/*
 * test_dispatch_spares.c - spare executors: when one is called, which executors count as blocked,
 * what a spare is handed, and how its channels come and go with those of the executor it helps.
 */
#include "support/dispatch.h"

/* Executor 0 has a spare, and that has one. */
enum { STALL = 10 * NB_NS_PER_MS, SPARES = 2 };

static int setup(void **state) {
    open_dispatch(100);
    f.dispatch.spare_after_ns = STALL;
    for (int i = 0; i <= SPARES; i++) {
        link_executor(i, is_shared(state));
        atomic_store(&board_of(i)->figures.fibers_limit, 100);
        if (i > 0) f.links[i - 1]->spare = f.links[i];
    }
    assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, &f.links[0]->channels[0]));
    look_after(0);
    return 0;
}

static void all_ask(void) {
    for (int i = 0; i <= SPARES; i++)
        ask(i, 8);
}

/* It runs another fiber from now on. */
static void switches(int i) { switched(i, f.now_ns); }

static bool is_called(int i) {
    return atomic_load(&board_of(i)->call.asked_ns) != atomic_load(&board_of(i)->call.answered_ns);
}

/* The spare has found Ruby's lock free, for the first time or again. blocked: the executors before
   it have not moved meanwhile. */
static void responses(int i, bool blocked) {
    assert_true(is_called(i));
    for (int before = 0; before < i && blocked; before++)
        atomic_store(&board_of(before)->pulse.blocked_ns, atomic_load(&board_of(before)->pulse.switched_ns));
    atomic_store(&board_of(i)->call.answered_ns, atomic_load(&board_of(i)->call.asked_ns));
}

/* One comes, and goes to any executor or waits. */
static void request(void) {
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, exchange(), message(sizeof(nb_request_message), -1)));
}

/* The executor begins with its next request; false: there is none. */
static bool begins(int i) {
    for (nb_message *found; (found = next(i));) {
        if (begin(found)) return true;
    }
    return false;
}

/* It begins with a request that keeps it. */
static void stalls(int i) {
    request();
    assert_true(begins(i));
    switches(i);
    look_after(LONG);
}

static void is_blocked(int i) {
    stalls(i);
    request();
    look_after(STALL);
    responses(i + 1, true);
    look_after(QUICK);
}

/* --- when it is called --- */

static void one_whose_executor_has_nothing_that_waits_is_not_called(void **state) {
    (void)state;
    all_ask();
    stalls(0);
    look_after(STALL);
    assert_false(is_called(1));
    assert_false(f.dispatch.calls_spare);
    assert_int_equal(1, f.dispatch.count);
}

static void one_is_called_when_work_has_waited_as_long_as_its_executor_ran_one_fiber(void **state) {
    (void)state;
    all_ask();
    stalls(0);
    request();
    look_after(LONG);
    assert_false(is_called(1));
    assert_true(f.dispatch.calls_spare); /* the loop looks often */
    look_after(STALL);
    assert_true(is_called(1));
    assert_int_equal(f.now_ns, atomic_load(&board_of(1)->call.asked_ns));
}

static void what_was_given_and_not_begun_with_waits_too(void **state) {
    (void)state;
    all_ask();
    request();
    request();
    assert_true(begins(0));
    switches(0);
    look_after(LONG + STALL);
    assert_null(nb_waiting_first(&f.dispatch.waiting));
    assert_true(is_called(1));
}

static void it_is_asked_again_when_it_has_answered_and_a_millisecond_later(void **state) {
    (void)state;
    all_ask();
    stalls(0);
    request();
    look_after(STALL);
    int64_t asked_ns = f.now_ns;
    look_after(STALL);
    /* it waits for the lock */
    assert_int_equal(asked_ns, atomic_load(&board_of(1)->call.asked_ns));
    responses(1, false);
    look_after(QUICK);
    assert_true(is_called(1)); /* long ago */
    responses(1, false);
    look_after(QUICK);
    assert_false(is_called(1));
    look_after(LONG);
    assert_true(is_called(1));
}

/* --- what it is given --- */

static void it_is_given_nothing_until_its_executor_is_blocked(void **state) {
    (void)state;
    all_ask();
    stalls(0);
    request();
    look_after(STALL);
    responses(1, false);
    look_after(QUICK);
    assert_false(begins(1));
    look_after(LONG);
    responses(1, true);
    look_after(QUICK);
    assert_true(begins(1));
    assert_false(begins(0));
}

static void all_that_its_executor_was_given_goes_to_it(void **state) {
    (void)state;
    all_ask();
    for (int i = 0; i < 5; i++)
        request();
    assert_true(begins(0));
    switches(0);
    look_after(LONG + STALL);
    responses(1, true);
    look_after(QUICK);
    for (int i = 0; i < 4; i++)
        assert_true(begins(1));
    assert_false(begins(0));
}

static void when_its_executor_moves_new_requests_are_that_ones_again(void **state) {
    (void)state;
    all_ask();
    is_blocked(0);
    assert_true(begins(1));
    switches(0);
    look_after(QUICK);
    request();
    assert_false(begins(1));
    assert_true(begins(0));
}

static void one_that_has_not_begun_when_its_executor_moves_gives_back(void **state) {
    (void)state;
    all_ask();
    is_blocked(0);
    switches(0);
    look_after(LONG); /* it has ignored the request for long; its executor runs for as long */
    switches(0);
    look_after(QUICK);
    assert_false(begins(1));
    assert_true(begins(0));
}

/* The executor and its first spare: the second has begun. */
static void both_are_blocked(void) {
    all_ask();
    is_blocked(0);
    assert_true(begins(1));
    switches(1);
    look_after(LONG);
    request();
    look_after(STALL);
    assert_false(is_called(1));
    responses(2, true);
    look_after(QUICK);
    assert_true(begins(2));
}

static void a_spare_that_is_blocked_has_a_spare_and_that_needs_both_to_be(void **state) {
    (void)state;
    both_are_blocked();
    switches(0); /* the first is back */
    look_after(QUICK);
    request();
    assert_false(begins(2));
    assert_true(begins(0));
}

static void where_the_spare_is_kept_too_its_own_answers_for_both(void **state) {
    (void)state;
    both_are_blocked();
    switches(0); /* the first is back, and is kept again */
    look_after(QUICK);
    stalls(0);
    request();
    look_after(STALL);
    assert_false(is_called(1));
    responses(2, true);
    look_after(QUICK);
    assert_true(begins(2));
}

static void beyond_the_last_spare_one_request_is_in_its_hands_and_nobody_is_called(void **state) {
    (void)state;
    both_are_blocked();
    switches(2);
    look_after(LONG);
    request();
    look_after(STALL);
    assert_int_equal(3, f.dispatch.count);
    assert_false(begins(0) || begins(1));
    assert_true(begins(2));
}

static void together_they_are_given_no_more_than_the_executor_has_fibers(void **state) {
    (void)state;
    all_ask();
    atomic_store(&board_of(0)->figures.fibers_limit, 2);
    stalls(0);
    atomic_store(&board_of(0)->figures.running, 1);
    atomic_store(&board_of(0)->figures.taken, 1);
    request();
    look_after(STALL);
    responses(1, true);
    look_after(QUICK);
    request();
    assert_true(begins(1)); /* the first of the two */
    atomic_store(&board_of(1)->figures.running, 1);
    atomic_store(&board_of(1)->figures.taken, 1);
    assert_false(begins(1));
    switches(0);
    look_after(QUICK);
    assert_false(begins(0)); /* nor is that one, while its spare runs the other */
    atomic_store(&board_of(1)->figures.running, 0);
    assert_true(begins(0));
}

static void a_grant_just_before_the_loop_sleeps_keeps_it_awake(void **state) {
    (void)state;
    all_ask();
    stalls(0);
    ask(0, 0);
    request();
    look_after(STALL);
    assert_non_null(nb_waiting_first(&f.dispatch.waiting));
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    responses(1, true);
    assert_true(nb_dispatch_announce_sleep(&f.dispatch));
}

static void a_spare_adds_nothing_to_what_the_queue_may_hold(void **state) {
    (void)state;
    f.dispatch.waiting_max = 1;
    atomic_store(&board_of(0)->asked_max, 1);
    for (int i = 1; i <= SPARES; i++)
        atomic_store(&board_of(i)->asked_max, 100);
    all_ask();
    is_blocked(0);
    assert_true(begins(1));
    for (int i = 0; i <= SPARES; i++)
        ask(i, 0);
    request();
    nb_request_message *one_more = message(sizeof *one_more, -1);
    assert_status(NB_FULL, nb_dispatch_message(&f.dispatch, exchange(), one_more));
    nb_free(one_more);
}

/* --- comings and goings --- */

static void when_its_executor_is_retired_it_is_too_and_none_is_called(void **state) {
    (void)state;
    all_ask();
    is_blocked(0);
    nb_dispatch_retire(&f.dispatch, &f.dispatch.channels[0]);
    nb_dispatch_pump(&f.dispatch);
    assert_true(f.dispatch.channels[1].retired);
    begins(1);
    switches(1);
    request();
    look_after(LONG + STALL);
    assert_int_equal(2, f.dispatch.count);
    assert_false(begins(1));
}

static void its_channel_goes_with_that_of_its_executor(void **state) {
    (void)state;
    all_ask();
    is_blocked(0);
    assert_int_equal(2, f.dispatch.count);
    nb_dispatch_remove(&f.dispatch, &f.dispatch.channels[1]); /* with that of its own spare */
    assert_int_equal(1, f.dispatch.count);
    assert_null(nb_dispatch_spare_of(&f.dispatch, &f.dispatch.channels[0]));
    request();
    look_after(LONG + STALL);
    assert_int_equal(1, f.dispatch.count);
}

/* A link of the same process; its spare is `spare`. */
static nb_link *link_with(nb_link *spare) {
    const nb_wake *wake = &f.wake;
    nb_link *link;
    assert_status(NB_OK, nb_link_create(&wake, 1, &link));
    link->spare = spare;
    return link;
}

static void called_spares_leave_the_places_of_workers_free(void **state) {
    (void)state;
    nb_dispatch_channel *last;
    nb_link *first = NULL;
    for (unsigned i = 0; i <= NB_SPARES_MAX + 1; i++)
        first = link_with(first);
    assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, &first->channels[0]));
    last = nb_dispatch_find(&f.dispatch, &first->channels[0]);
    for (unsigned i = 0; i < NB_SPARES_MAX; i++) {
        assert_status(NB_OK, nb_dispatch_spare_add(&f.dispatch, last));
        last = nb_dispatch_spare_of(&f.dispatch, last);
    }
    assert_status(NB_FULL, nb_dispatch_spare_add(&f.dispatch, last));
    assert_non_null(last->uncalled_spare);
    for (unsigned left = nb_dispatch_free_places(&f.dispatch); left > 0; left--) {
        assert_int_equal(left, nb_dispatch_free_places(&f.dispatch));
        assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, &link_with(NULL)->channels[0]));
    }
    nb_link *more = link_with(NULL);
    assert_status(NB_FULL, nb_dispatch_channel_add(&f.dispatch, &more->channels[0]));
    nb_link_destroy_all(more);
    assert_int_equal(NB_CHANNELS_MAX, f.dispatch.count);
}

static void in_a_lane_threads_of_workers_have_the_places_of_spares_too(void **state) {
    (void)state;
    assert_int_equal(NB_PLACES_MAX - 1, nb_dispatch_free_places(&f.dispatch));
    f.dispatch.lane = 1;
    assert_int_equal(NB_CHANNELS_MAX - 1, nb_dispatch_free_places(&f.dispatch));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(one_whose_executor_has_nothing_that_waits_is_not_called),
        CASE(one_is_called_when_work_has_waited_as_long_as_its_executor_ran_one_fiber),
        CASE(what_was_given_and_not_begun_with_waits_too),
        CASE(it_is_asked_again_when_it_has_answered_and_a_millisecond_later),
        CASE(it_is_given_nothing_until_its_executor_is_blocked),
        SHARED_CASE(it_is_given_nothing_until_its_executor_is_blocked),
        CASE(all_that_its_executor_was_given_goes_to_it),
        SHARED_CASE(all_that_its_executor_was_given_goes_to_it),
        CASE(when_its_executor_moves_new_requests_are_that_ones_again),
        CASE(one_that_has_not_begun_when_its_executor_moves_gives_back),
        CASE(a_spare_that_is_blocked_has_a_spare_and_that_needs_both_to_be),
        CASE(where_the_spare_is_kept_too_its_own_answers_for_both),
        CASE(beyond_the_last_spare_one_request_is_in_its_hands_and_nobody_is_called),
        CASE(together_they_are_given_no_more_than_the_executor_has_fibers),
        CASE(a_grant_just_before_the_loop_sleeps_keeps_it_awake),
        CASE(a_spare_adds_nothing_to_what_the_queue_may_hold),
        CASE(when_its_executor_is_retired_it_is_too_and_none_is_called),
        CASE(its_channel_goes_with_that_of_its_executor),
        SHARED_CASE(its_channel_goes_with_that_of_its_executor),
        CASE(called_spares_leave_the_places_of_workers_free),
        CASE(in_a_lane_threads_of_workers_have_the_places_of_spares_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
