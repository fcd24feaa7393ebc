/*
 * test_dispatch_unresponsive.c - what the loop knows of an executor: which count as unresponsive,
 * busy or quick, and which is chosen for it. An executor that moves is noticed, also while the loop
 * looks at it and just before the loop sleeps.
 */
#include <sched.h>

#include "support/dispatch.h"

static int setup(void **state) {
    (void)state;
    open_dispatch_of(2, false, 100);
    look_after(0);
    return 0;
}

/* --- what is known of an executor --- */

static void one_that_runs_one_fiber_for_long_is_given_nothing(void **state) {
    (void)state;
    ask(0, 5);
    switched(0, f.now_ns);
    look_after(QUICK);
    assert_int_equal(0, chosen());
    look_after(LONG);
    assert_int_equal(-1, chosen());
    ask(1, 1);
    assert_int_equal(1, chosen());
    ask(1, 0);
    sleeps(0, true); /* it sleeps, whatever it stamped */
    look_after(LONG);
    assert_int_equal(0, chosen());
    sleeps(0, false);
    switched(0, f.now_ns);
    look_after(QUICK);
    assert_int_equal(0, chosen());
}

static void one_that_leaves_what_it_was_given_alone_is_given_nothing_until_it_moves(void **state) {
    (void)state;
    ask(0, 5);
    simple(0);
    look_after(QUICK);
    assert_int_equal(0, chosen());
    look_after(LONG);
    assert_int_equal(-1, chosen());
    look_after(LONG);
    assert_int_equal(-1, chosen());
    begin(next(0));
    atomic_fetch_add(&board_of(0)->pulse.turns, 1);
    look_after(QUICK);
    assert_int_equal(0, chosen());
}

static void they_are_quick_while_all_move_and_their_requests_take_little(void **state) {
    (void)state;
    assert_false(f.dispatch.all_quick); /* nothing is known of them */
    atomic_store(&board_of(0)->figures.request_ns, 10000);
    look_after(QUICK);
    assert_false(f.dispatch.all_quick);
    atomic_store(&board_of(1)->figures.request_ns, 10000);
    look_after(QUICK);
    assert_true(f.dispatch.all_quick);
    switched(1, f.now_ns - LONG); /* it runs one fiber */
    look_after(1);
    assert_false(f.dispatch.all_quick);
    switched(1, f.now_ns);
    look_after(1);
    assert_true(f.dispatch.all_quick);
    atomic_store(&board_of(1)->figures.request_ns, NB_NS_PER_MS);
    look_after(1);
    assert_false(f.dispatch.all_quick);
    atomic_store(&board_of(1)->figures.request_ns, 10000);
    ask(0, 5);
    simple(0);
    look_after(LONG); /* it leaves that alone */
    assert_false(f.dispatch.all_quick);
}

/* --- both at the same time --- */

enum { MEETINGS = 60000, MEETING_STEPS = 64 };

typedef struct meetings {
    _Atomic int begun, ended; /* of them; begun -1: there are no more */
} meetings;

static void steps(nb_test_random *random) {
    for (volatile uint64_t left = nb_test_random_below(random, MEETING_STEPS); left > 0; left--) {
    }
}

static void await(const _Atomic int *number, int value) {
    while (atomic_load(number) != value && atomic_load(number) >= 0) {
        sched_yield();
    }
}

/* A turn: it comes to all that it was given, and sleeps. */
static void *take_turns(void *argument) {
    meetings *m = argument;
    nb_test_random random = {1};
    for (int i = 1;; i++) {
        await(&m->begun, i);
        if (atomic_load(&m->begun) < 0) return NULL;
        steps(&random);
        size_t bytes;
        const nb_message *found = nb_ring_peek(&f.requests[0], &bytes);
        begin((nb_message *)(uintptr_t)found);
        nb_ring_advance(&f.requests[0]);
        nb_ring_release(&f.requests[0]);
        atomic_fetch_add_explicit(&board_of(0)->pulse.turns, 1, memory_order_release);
        sleeps(0, true);
        atomic_store(&m->ended, i);
    }
}

/* Nothing would ever wake it: the loop hands it nothing while it counts as unresponsive, and it
   does not move without a request. The race is met by chance, some times in 60,000, if the machine
   has more than one processor. */
static void one_that_comes_to_all_of_it_while_it_is_looked_at_is_not_late_for_ever(void **state) {
    (void)state;
    meetings m = {0};
    nb_test_random random = {2};
    pthread_t executor = nb_test_thread(take_turns, &m);
    for (int i = 1; i <= MEETINGS; i++) {
        ask(0, 1);
        nb_exchange *given = simple(0);
        nb_dispatch_pump(&f.dispatch);
        atomic_store(&m.begun, i);
        steps(&random);
        look_after(LONG);
        await(&m.ended, i);
        look_after(1);
        assert_false(channel_of(0)->unresponsive);
        nb_dispatch_begun(&f.dispatch, given);
        nb_exchange_destroy(&f.exchanges, given);
    }
    atomic_store(&m.begun, -1);
    nb_test_join(executor);
}

static void what_was_begun_with_is_no_sign_of_being_late_however_it_is_seen(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *claimed = simple(0), *released = simple(0), *answered = simple(0);
    begin(next(0));
    nb_message *second = next(0);
    begin(second);
    nb_ring_release(&f.requests[0]); /* the first two */
    nb_dispatch_begun(&f.dispatch, answered);
    nb_dispatch_begun(&f.dispatch, answered);
    look_after(LONG);
    assert_null(channel_of(0)->handed_first);
    assert_null(claimed->record);
    assert_null(released->record);
    assert_int_equal(0, chosen());
}

/* --- awake or asleep, quick or slow --- */

/* Its requests take so long on average. */
static void takes(int i, uint32_t ns) { atomic_store(&board_of(i)->figures.request_ns, ns); }

static void one_that_is_awake_and_quick_is_chosen_before_one_that_must_be_woken(void **state) {
    (void)state;
    ask(0, 50);
    ask(1, 50);
    sleeps(0, true);
    sleeps(1, true);
    takes(0, 10000);
    look_after(1);
    for (int i = 0; i < 15; i++) {
        simple(0); /* woken for the first, and handed what it will begin with within 150 us */
    }
    simple(1);
    simple(1); /* nothing is known of it, but that it has less to do */
}

static void one_that_is_awake_and_slow_or_has_more_under_way_is_not(void **state) {
    (void)state;
    ask(0, 50);
    ask(1, 50);
    sleeps(0, true);
    sleeps(1, true);
    takes(0, 200000);
    look_after(1);
    simple(0);
    assert_int_equal(1, chosen());
    takes(0, 10000);
    atomic_store(&board_of(0)->figures.taken, 1);
    atomic_store(&board_of(0)->figures.running, 1);
    look_after(1);
    switched(0, f.now_ns);
    sleeps(0, false);
    assert_int_equal(0, chosen());
    atomic_store(&board_of(0)->figures.running, 2);
    look_after(1);
    assert_int_equal(1, chosen());
}

/* --- just before the loop sleeps --- */

/* All that can be done is done, and the loop could sleep. */
static nb_exchange *waiting_while_the_loop_may_sleep(void) {
    nb_exchange *made = waiting();
    nb_dispatch_pump(&f.dispatch);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    nb_dispatch_awake(&f.dispatch);
    return made;
}

static void expect_instead_of_sleep(int i, const nb_exchange *exchange) {
    assert_true(nb_dispatch_announce_sleep(&f.dispatch));
    nb_dispatch_awake(&f.dispatch);
    look_after(1);
    nb_dispatch_pump(&f.dispatch);
    expect_request(i, exchange);
}

/* It moved without ringing, between the loop's last look and its sleep. The loop would sleep while
   a request waits and an executor is free. */
static void one_that_moves_just_before_the_loop_sleeps_keeps_it_awake(void **state) {
    (void)state;
    ask(0, 1);
    nb_exchange *given = simple(0);
    look_after(LONG);
    assert_true(channel_of(0)->unresponsive);
    nb_exchange *made = waiting_while_the_loop_may_sleep();
    expect_request(0, given);
    atomic_fetch_add(&board_of(0)->pulse.turns, 1);
    ask(0, 1);
    sleeps(0, true);
    expect_instead_of_sleep(0, made);
}

static void one_that_falls_asleep_just_before_the_loop_does_keeps_it_awake(void **state) {
    (void)state;
    busy(0);
    look_after(LONG);
    assert_true(channel_of(0)->busy);
    nb_exchange *made = waiting_while_the_loop_may_sleep();
    ask(0, 1);
    sleeps(0, true);
    expect_instead_of_sleep(0, made);
}

/* Each asks for one at a time, as a lane's threads do. */
static void one_that_is_slow_to_take_its_request_is_room_for_another(void **state) {
    (void)state;
    assert_false(nb_dispatch_has_room(&f.dispatch));
    ask(0, 1);
    ask(1, 1);
    nb_exchange *e = simple(0);
    look_after(LONG);
    assert_int_equal(1, e->channel);
    assert_true(nb_dispatch_has_room(&f.dispatch));
    ask(0, 1);
    assert_true(nb_dispatch_has_room(&f.dispatch));
    atomic_fetch_add(&board_of(0)->pulse.turns, 1); /* it has woken */
    look_after(QUICK);
    nb_exchange *another = simple(0);
    assert_false(nb_dispatch_has_room(&f.dispatch));
    expect_request(1, e);
    nb_message *lost = next(0);
    assert_false(begin(lost));
    expect_request(0, another);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(one_that_runs_one_fiber_for_long_is_given_nothing),
        CASE(one_that_leaves_what_it_was_given_alone_is_given_nothing_until_it_moves),
        CASE(they_are_quick_while_all_move_and_their_requests_take_little),
        CASE(one_that_comes_to_all_of_it_while_it_is_looked_at_is_not_late_for_ever),
        CASE(what_was_begun_with_is_no_sign_of_being_late_however_it_is_seen),
        CASE(one_that_moves_just_before_the_loop_sleeps_keeps_it_awake),
        CASE(one_that_falls_asleep_just_before_the_loop_does_keeps_it_awake),
        CASE(one_that_is_awake_and_quick_is_chosen_before_one_that_must_be_woken),
        CASE(one_that_is_awake_and_slow_or_has_more_under_way_is_not),
        CASE(one_that_is_slow_to_take_its_request_is_room_for_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
