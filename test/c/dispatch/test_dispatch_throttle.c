/*
 * test_dispatch_throttle.c - requests of throttled and closed classes: they wait or go to an
 * executor that lets them in, others pass them, and their order stays. Includes dispatch.c over a
 * look at a class during which the case lets something happen.
 */
#include "intake/throttle.h"

/* What an executor does while the loop looks whether a class is held; NULL: nothing. */
static void (*meanwhile)(void);

static bool held_then(const nb_throttle *throttle, uint64_t request_class) {
    if (meanwhile) meanwhile();
    return nb_throttle_holds(throttle, request_class);
}

#define nb_throttle_holds held_then
#include "dispatch/dispatch.c"
#undef nb_throttle_holds

#include "support/dispatch.h"

static int setup(void **state) {
    (void)state;
    open_dispatch_of(3, false, 4);
    return 0;
}

static nb_status give_path(nb_exchange *e, const char *path) {
    nb_request_message *made = message(sizeof(*made) + 64, -1);
    char *text = (char *)(made + 1);
    memcpy(text, "GET", 3);
    memcpy(text + 3, path, strlen(path));
    made->method_text = (nb_span){.offset = sizeof(*made), .size = 3};
    made->path = (nb_span){.offset = sizeof(*made) + 3, .size = (uint32_t)strlen(path)};
    nb_status status = nb_dispatch_message(&f.dispatch, e, made);
    if (status != NB_OK) nb_free(made);
    return status;
}

static uint64_t class_of_path(const char *path) {
    return nb_request_class_of(NB_SLICE("GET"), (nb_slice){path, strlen(path)});
}

/* The executor says that enough requests of this class are half done. Returns their slot. */
static uint16_t throttle(int i, const char *path) {
    uint16_t place = NB_THROTTLE_NO_SLOT;
    for (unsigned n = 0; n < NB_THROTTLE_LIMIT; n++)
        place = nb_throttle_enter(&board_of(i)->throttle, class_of_path(path), 0);
    atomic_store(&board_of(i)->throttle.contended, true);
    return place;
}

static bool may_sleep(void) {
    bool something = nb_dispatch_announce_sleep(&f.dispatch);
    nb_dispatch_awake(&f.dispatch);
    return !something;
}

static void one_of_a_throttled_class_waits_and_others_pass_it(void **state) {
    (void)state;
    nb_exchange *held = exchange(), *other = exchange();
    uint16_t place = throttle(0, "/reports/1");
    ask(0, 10);
    assert_status(NB_OK, give_path(held, "/reports/2"));
    assert_status(NB_OK, give_path(other, "/notes"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, held->channel);
    assert_int_equal(0, other->channel);
    assert_true(may_sleep());
    nb_throttle_leave(&board_of(0)->throttle, place, 0);
    assert_false(may_sleep());
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(0, held->channel);
}

static void one_of_a_throttled_class_goes_to_an_executor_that_does_not_throttle_it(void **state) {
    (void)state;
    nb_exchange *e = exchange();
    throttle(0, "/reports/1");
    ask(0, 10);
    ask(1, 1);
    assert_status(NB_OK, give_path(e, "/reports/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(1, e->channel);
}

static void nothing_is_throttled_while_no_preempted_request_waits_for_the_processor(void **state) {
    (void)state;
    nb_exchange *e = exchange();
    throttle(0, "/reports/1");
    ask(0, 10);
    assert_status(NB_OK, give_path(e, "/reports/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, e->channel);
    atomic_store(&board_of(0)->throttle.contended, false);
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(0, e->channel);
}

static void one_whose_class_is_closed_waits_until_it_is_opened(void **state) {
    (void)state;
    nb_exchange *held = exchange(), *other = exchange();
    assert_true(nb_throttle_close(&board_of(0)->throttle, class_of_path("/notes/1")));
    ask(0, 10);
    assert_status(NB_OK, give_path(held, "/notes/2"));
    assert_status(NB_OK, give_path(other, "/reports"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, held->channel);
    assert_int_equal(0, other->channel);
    assert_true(may_sleep());
    nb_throttle_open(&board_of(0)->throttle, class_of_path("/notes/1"));
    assert_false(may_sleep());
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(0, held->channel);
}

static void one_whose_class_is_closed_by_an_executor_goes_to_another(void **state) {
    (void)state;
    nb_exchange *e = exchange();
    assert_true(nb_throttle_close(&board_of(0)->throttle, class_of_path("/notes/1")));
    ask(0, 10);
    ask(1, 1);
    assert_status(NB_OK, give_path(e, "/notes/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(1, e->channel);
}

/* However many requests are set aside, no turn looks at them: the loop sleeps until it is rung. */
static void those_that_every_executor_holds_are_set_aside_and_come_back_in_order(void **state) {
    (void)state;
    nb_exchange *held[3], *other;
    for (int i = 0; i < 3; i++) {
        assert_true(nb_throttle_close(&board_of(i)->throttle, class_of_path("/notes/1")));
        ask(i, i < 2);
    }
    for (int i = 0; i < 3; i++)
        assert_status(NB_OK, give_path(held[i] = exchange(), "/notes/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_null(nb_waiting_first_due(&f.dispatch.waiting));
    assert_int_equal(3, f.dispatch.waiting.count);
    assert_int_equal(3, nb_dispatch_waiting(&f.dispatch));
    assert_true(may_sleep());
    assert_int_equal(NB_LOOP_THROTTLED, atomic_load(&memory_of(0)->loop_starved));
    nb_dispatch_forget(&f.dispatch, held[1]);
    assert_status(NB_OK, give_path(other = exchange(), "/reports"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(0, other->channel);
    nb_throttle_open(&board_of(1)->throttle, class_of_path("/notes/1"));
    assert_false(may_sleep());
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(1, held[0]->channel);
    assert_int_equal(NB_CHANNEL_NONE, held[2]->channel);
    assert_ptr_equal(held[2], nb_waiting_first_due(&f.dispatch.waiting)->exchange);
    nb_throttle_open(&board_of(0)->throttle, class_of_path("/notes/1"));
    ask(0, 2);
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(0, held[2]->channel);
    assert_int_equal(0, f.dispatch.waiting.count);
}

static unsigned looks, opened_after;

static void the_class_is_opened(void) {
    if (looks++ == opened_after) nb_throttle_open(&board_of(0)->throttle, class_of_path("/notes/1"));
}

/* In whatever moment of the loop's turn that is. */
static void none_goes_before_one_of_its_class_that_came_earlier_when_it_is_opened_meanwhile(void **state) {
    (void)state;
    for (opened_after = 0; opened_after < 40; opened_after++) {
        nb_exchange *came[3];
        assert_true(nb_throttle_close(&board_of(0)->throttle, class_of_path("/notes/1")));
        ask(0, 3);
        for (int i = 0; i < 3; i++)
            assert_status(NB_OK, give_path(came[i] = exchange(), "/notes/2"));
        looks = 0;
        meanwhile = the_class_is_opened;
        nb_dispatch_publish(&f.dispatch);
        meanwhile = NULL;
        for (int i = 1; i < 3; i++)
            assert_false(came[i]->channel == 0 && came[i - 1]->channel != 0);
        nb_throttle_open(&board_of(0)->throttle, class_of_path("/notes/1"));
        nb_dispatch_publish(&f.dispatch);
        for (int i = 0; i < 3; i++)
            assert_non_null(taken(0));
        assert_null(taken(0));
    }
}

/* Two classes may share one slot: it belongs to the first until that is let in. */
static void one_whose_slot_another_class_has_is_not_set_aside(void **state) {
    (void)state;
    nb_waiting_queue *queue = &f.dispatch.waiting;
    assert_status(NB_OK, give_path(exchange(), "/notes/1"));
    assert_status(NB_OK, give_path(exchange(), "/reports"));
    nb_waiting *first = nb_waiting_first(queue), *second = nb_waiting_next_due(queue, first);
    first->request_class = 1;
    second->request_class = 1 + NB_THROTTLE_SLOTS;
    assert_true(nb_waiting_set_aside(queue, first));
    assert_false(nb_waiting_set_aside(queue, second));
    assert_ptr_equal(second, nb_waiting_first_due(queue));
    assert_null(nb_waiting_next_due(queue, second));
    nb_waiting_bring_back(queue);
    assert_ptr_equal(first, nb_waiting_first_due(queue));
    assert_ptr_equal(second, nb_waiting_next_due(queue, first));
}

static void one_that_is_set_aside_is_still_first_where_all_are_taken_out(void **state) {
    (void)state;
    nb_exchange *held = exchange(), *other = exchange();
    nb_request_message *message;
    for (int i = 0; i < 3; i++)
        assert_true(nb_throttle_close(&board_of(i)->throttle, class_of_path("/notes/1")));
    assert_status(NB_OK, give_path(held, "/notes/2"));
    assert_status(NB_OK, give_path(other, "/reports"));
    nb_dispatch_publish(&f.dispatch);
    assert_ptr_equal(other, nb_waiting_first_due(&f.dispatch.waiting)->exchange);
    assert_ptr_equal(held, nb_dispatch_take_first(&f.dispatch, &message));
    nb_request_message_free(message);
    assert_ptr_equal(other, nb_dispatch_take_first(&f.dispatch, &message));
    nb_request_message_free(message);
    assert_null(nb_dispatch_take_first(&f.dispatch, &message));
}

/* Executor 0 with a called spare, executor 1. */
static int setup_with_spare(void **state) {
    open_dispatch(4);
    for (int i = 0; i < 2; i++) {
        link_executor(i, is_shared(state));
        atomic_store(&board_of(i)->figures.fibers_limit, 100);
    }
    f.links[0]->spare = f.links[1];
    assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, &f.links[0]->channels[0]));
    assert_status(NB_OK, nb_dispatch_spare_add(&f.dispatch, channel_of(0)));
    return 0;
}

/* Executor 0 has run one fiber since now. blocked: in a call without Ruby's lock. */
static void runs(bool blocked) {
    switched(0, ++f.now_ns);
    atomic_store(&board_of(0)->pulse.blocked_ns, blocked ? f.now_ns : 0);
}

static void one_that_its_executor_holds_goes_to_the_spare_while_that_executor_is_blocked(void **state) {
    (void)state;
    nb_exchange *held = exchange(), *later = exchange();
    assert_true(nb_throttle_close(&board_of(0)->throttle, class_of_path("/notes/1")));
    ask(0, 10);
    ask(1, 10);
    runs(false);
    assert_status(NB_OK, give_path(held, "/notes/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, held->channel);
    assert_true(may_sleep());
    runs(true);
    assert_false(may_sleep());
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(1, held->channel);
    runs(false);
    assert_status(NB_OK, give_path(later, "/notes/3"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, later->channel);
    assert_true(may_sleep());
}

/* The spare may hold the class too. */
static void one_that_the_spare_holds_as_well_is_set_aside(void **state) {
    (void)state;
    nb_exchange *held = exchange();
    for (int i = 0; i < 2; i++) {
        assert_true(nb_throttle_close(&board_of(i)->throttle, class_of_path("/notes/1")));
        ask(i, 10);
    }
    runs(true);
    assert_status(NB_OK, give_path(held, "/notes/2"));
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, held->channel);
    assert_true(may_sleep());
    nb_throttle_open(&board_of(1)->throttle, class_of_path("/notes/1"));
    assert_false(may_sleep());
    nb_dispatch_publish(&f.dispatch);
    assert_int_equal(1, held->channel);
}

#define SPARE_CASE(name) cmocka_unit_test_setup_teardown(name, setup_with_spare, close_dispatch)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(one_of_a_throttled_class_waits_and_others_pass_it),
        CASE(one_of_a_throttled_class_goes_to_an_executor_that_does_not_throttle_it),
        CASE(nothing_is_throttled_while_no_preempted_request_waits_for_the_processor),
        CASE(one_whose_class_is_closed_waits_until_it_is_opened),
        CASE(one_whose_class_is_closed_by_an_executor_goes_to_another),
        CASE(those_that_every_executor_holds_are_set_aside_and_come_back_in_order),
        CASE(none_goes_before_one_of_its_class_that_came_earlier_when_it_is_opened_meanwhile),
        CASE(one_whose_slot_another_class_has_is_not_set_aside),
        CASE(one_that_is_set_aside_is_still_first_where_all_are_taken_out),
        SPARE_CASE(one_that_its_executor_holds_goes_to_the_spare_while_that_executor_is_blocked),
        SPARE_CASE(one_that_the_spare_holds_as_well_is_set_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
