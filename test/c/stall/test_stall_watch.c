/*
 * test_stall_watch.c - when an executor is asked, interrupted and told of, by a clock of the
 * test's.
 */
#include "stall/stall_watch.h"

#include "support/test.h"

#define MS INT64_C(1000000)
#define BEGAN (1000 * MS)

static nb_stall_watch watch;
static nb_stall_sight sight;

static int fresh(void **state) {
    (void)state;
    nb_stall_watch_init(&watch, 100 * MS);
    sight = (nb_stall_sight){.switched_ns = BEGAN};
    return 0;
}

static nb_stall_next look(int64_t after_ms) {
    sight.now_ns = BEGAN + after_ms * MS;
    return nb_stall_watch_look(&watch, &sight);
}

static void expect(nb_stall_next next, unsigned what, int64_t again_after_ms) {
    assert_int_equal(what, next.what);
    assert_int_equal(BEGAN + again_after_ms * MS, next.again_ns);
}

static void ask(void) {
    expect(look(1), 0, 25);
    expect(look(25), NB_STALL_COMPARE, 75);
    expect(look(75), NB_STALL_ASK, 77);
}

/* Its thread is interrupted. */
static void ask_one_that_nobody_can(void) {
    ask();
    sight.stuck = true;
    look(77);
    look(79);
    assert_int_equal(NB_STALL_SIGNAL, look(81).what);
}

static void one_that_sleeps_wants_no_look(void **state) {
    (void)state;
    sight.switched_ns = 0;
    nb_stall_next next = look(5);
    assert_int_equal(0, next.what);
    assert_true(next.again_ns == NB_STALL_NEVER);
}

static void each_burst_begins_anew(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        sight.switched_ns = BEGAN + 24 * i * MS;
        expect(look(24 * i), 0, 24 * i + 25);
    }
}

static void a_call_that_cannot_be_left_is_told_when_its_time_has_come(void **state) {
    (void)state;
    ask();
    expect(look(77), 0, 79);
    sight.answered = true;
    expect(look(79), 0, 100);
    expect(look(99), 0, 100);
    expect(look(100), NB_STALL_TELL, 125);
    expect(look(125), 0, 150);
}

/* Its thread must not be interrupted: where it was is known when the call has returned. */
static void a_call_of_which_nothing_could_be_said_is_told_when_it_is_over(void **state) {
    (void)state;
    ask_one_that_nobody_can();
    sight.switched_ns = BEGAN + 400 * MS;
    nb_stall_next next = look(401);
    assert_int_equal(NB_STALL_FORGET | NB_STALL_LATE, next.what);
    assert_int_equal(400 * MS, next.lasted_ns);
}

static void one_that_was_shorter_than_a_stall_is_not(void **state) {
    (void)state;
    ask_one_that_nobody_can();
    sight.switched_ns = BEGAN + 99 * MS;
    assert_int_equal(NB_STALL_FORGET, look(99).what);
}

static void an_answer_that_comes_late_is_told_at_once(void **state) {
    (void)state;
    ask();
    expect(look(300), 0, 302);
    sight.answered = true;
    expect(look(302), NB_STALL_TELL, 327);
}

static void its_end_is_told_once(void **state) {
    (void)state;
    ask();
    sight.answered = true;
    expect(look(100), NB_STALL_TELL, 125);
    sight.switched_ns = BEGAN + 190 * MS;
    sight.answered = false;
    nb_stall_next next = look(200);
    assert_int_equal(NB_STALL_OVER, next.what);
    assert_int_equal(190 * MS, next.lasted_ns);
    assert_int_equal(0, look(210).what);
}

static void one_that_falls_asleep_has_lasted_until_now(void **state) {
    (void)state;
    ask();
    sight.answered = true;
    look(100);
    sight.switched_ns = 0;
    nb_stall_next next = look(150);
    assert_int_equal(NB_STALL_OVER, next.what);
    assert_int_equal(150 * MS, next.lasted_ns);
    assert_true(next.again_ns == NB_STALL_NEVER);
}

static void a_question_of_a_burst_that_is_over_is_withdrawn(void **state) {
    (void)state;
    ask();
    sight.switched_ns = BEGAN + 76 * MS;
    expect(look(80), NB_STALL_FORGET, 76 + 25);
    sight.switched_ns = 0;
    assert_int_equal(0, look(81).what);
}

static void ruby_code_that_nobody_waits_for_is_no_stall(void **state) {
    (void)state;
    ask();
    sight.answered = sight.yields = true;
    for (int64_t at = 80; at < 5000; at += 10) {
        unsigned what = look(at).what;
        assert_true(what == 0 || what == NB_STALL_ASK);
    }
}

static void ruby_code_is_one_when_work_has_waited_for_that_long(void **state) {
    (void)state;
    ask();
    sight.answered = sight.yields = true;
    expect(look(80), 0, 180);
    sight.work_waits = true;
    expect(look(120), 0, 180);
    expect(look(180), NB_STALL_ASK, 182); /* what was said is old by then */
    expect(look(182), 0, 220);
    sight.work_waits = false;
    expect(look(200), 0, 282);
    sight.work_waits = true;
    look(210);
    assert_int_equal(0, look(281).what);
    look(282);
    assert_int_equal(0, look(284).what);
    expect(look(310), NB_STALL_TELL, 335);
}

static void ruby_code_that_comes_to_a_call_it_cannot_leave_is_found_there(void **state) {
    (void)state;
    ask();
    sight.answered = sight.yields = true;
    look(80);
    expect(look(180), NB_STALL_ASK, 182);
    sight.answered = sight.yields = false;
    look(182);
    sight.answered = true;
    expect(look(184), NB_STALL_TELL, 209);
}

/* As long as it waits where the answer says, that is right. */
static void one_that_has_not_run_since_its_answer_is_not_asked_again(void **state) {
    (void)state;
    ask();
    sight.answered = sight.yields = sight.unmoved = true;
    expect(look(79), 0, 179);
    expect(look(179), 0, 279);
    expect(look(279), 0, 379);
    sight.unmoved = false;
    expect(look(379), NB_STALL_ASK, 381);
}

static void a_thread_that_nobody_can_speak_for_is_interrupted_once(void **state) {
    (void)state;
    ask();
    sight.stuck = true;
    expect(look(77), 0, 79);
    expect(look(79), 0, 81);
    expect(look(81), NB_STALL_SIGNAL, 83);
    expect(look(83), 0, 85);
    sight.answered = true;
    expect(look(100), NB_STALL_TELL, 125);
}

static void one_look_that_finds_somebody_begins_the_count_again(void **state) {
    (void)state;
    ask();
    for (int64_t at = 77; at < 200; at += 2) {
        sight.stuck = at % 6 != 5;
        assert_int_equal(0, look(at).what);
    }
}

static void one_that_does_not_answer_an_interrupt_is_told_of_without(void **state) {
    (void)state;
    ask();
    sight.stuck = true;
    look(77);
    look(79);
    look(81);
    assert_int_equal(0, look(1080).what);
    assert_int_equal(NB_STALL_TELL, look(1081).what);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_sleeps_wants_no_look, fresh),
        cmocka_unit_test_setup(each_burst_begins_anew, fresh),
        cmocka_unit_test_setup(a_call_that_cannot_be_left_is_told_when_its_time_has_come, fresh),
        cmocka_unit_test_setup(a_call_of_which_nothing_could_be_said_is_told_when_it_is_over, fresh),
        cmocka_unit_test_setup(one_that_was_shorter_than_a_stall_is_not, fresh),
        cmocka_unit_test_setup(an_answer_that_comes_late_is_told_at_once, fresh),
        cmocka_unit_test_setup(its_end_is_told_once, fresh),
        cmocka_unit_test_setup(one_that_falls_asleep_has_lasted_until_now, fresh),
        cmocka_unit_test_setup(a_question_of_a_burst_that_is_over_is_withdrawn, fresh),
        cmocka_unit_test_setup(ruby_code_that_nobody_waits_for_is_no_stall, fresh),
        cmocka_unit_test_setup(ruby_code_is_one_when_work_has_waited_for_that_long, fresh),
        cmocka_unit_test_setup(ruby_code_that_comes_to_a_call_it_cannot_leave_is_found_there, fresh),
        cmocka_unit_test_setup(one_that_has_not_run_since_its_answer_is_not_asked_again, fresh),
        cmocka_unit_test_setup(a_thread_that_nobody_can_speak_for_is_interrupted_once, fresh),
        cmocka_unit_test_setup(one_look_that_finds_somebody_begins_the_count_again, fresh),
        cmocka_unit_test_setup(one_that_does_not_answer_an_interrupt_is_told_of_without, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
