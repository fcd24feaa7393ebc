/*
 * test_dispatch.c - which executor gets a request, what waits, and what wakes the loop and
 * executors. Includes dispatch.c for its tell().
 */
#include "dispatch/dispatch.c"

#include "support/dispatch.h"

static int setup(void **state) {
    (void)state;
    open_dispatch_of(3, false, 4);
    return 0;
}

static nb_status give(nb_exchange *e, size_t bytes) {
    nb_request_message *made = message(bytes, -1);
    nb_status status = nb_dispatch_message(&f.dispatch, e, made);
    if (status != NB_OK) nb_free(made);
    return status;
}

/* --- who gets a request, and what waits --- */

static void nobody_is_chosen_who_did_not_ask(void **state) {
    (void)state;
    assert_int_equal(-1, chosen());
    ask(1, 1);
    assert_int_equal(1, chosen());
    atomic_store(&board_of(1)->executor_gone, 1);
    assert_int_equal(-1, chosen());
}

static void sleepers_come_first_then_who_runs_the_fewest_then_the_order(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        ask(i, 5);
    atomic_store(&board_of(0)->figures.running, 3);
    atomic_store(&board_of(1)->figures.running, 1);
    atomic_store(&board_of(2)->figures.running, 1);
    nb_dispatch_look(&f.dispatch, 1);
    assert_int_equal(1, chosen());
    sleeps(0, true);
    assert_int_equal(0, chosen());
    sleeps(2, true);
    assert_int_equal(2, chosen());
    f.dispatch.channels[2].dirty = true; /* something is on its way to it already */
    assert_int_equal(0, chosen());
    f.dispatch.channels[2].dirty = false;
    sleeps(0, false);
    sleeps(2, false);
    /* What is given is counted before it runs. */
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    assert_int_equal(2, chosen());
}

static void one_without_room_is_not_chosen_while_another_has_some(void **state) {
    (void)state;
    ask(0, 1000);
    while (nb_dispatch_choose(&f.dispatch, 400000, 0))
        assert_status(NB_OK, give(exchange(), 400000));
    ask(1, 1);
    assert_status(NB_OK, give(exchange(), 400000));
    assert_int_equal(1, f.links[1]->handed);
    assert_int_equal(0, f.dispatch.waiting.count);
}

static void the_queue_is_bounded_ordered_and_goes_to_whom_asks_first(void **state) {
    (void)state;
    nb_exchange *made[4];
    for (int i = 0; i < 4; i++)
        assert_status(NB_OK, give(made[i] = exchange(), sizeof(nb_request_message)));
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
    assert_int_equal(4, f.dispatch.waiting.count);
    ask(2, 2);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(2, f.dispatch.waiting.count);
    assert_true(taken(2)->exchange == nb_exchange_id_of(made[0]));
    assert_true(taken(2)->exchange == nb_exchange_id_of(made[1]));
    assert_null(taken(2));
    assert_int_equal(2, made[0]->channel);
    assert_int_equal(NB_CHANNEL_NONE, made[2]->channel);
    ask(0, 1);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message))); /* behind those that wait */
    nb_dispatch_pump(&f.dispatch);
    assert_true(taken(0)->exchange == nb_exchange_id_of(made[2]));
    assert_null(taken(0));
}

static void beyond_the_bound_as_many_wait_as_there_are_free_fibers_for(void **state) {
    (void)state;
    ask(1, 1);
    /* One it asks for now, two more when it has begun that. */
    atomic_store(&board_of(1)->asked_max, 3);
    atomic_store(&board_of(2)->asked_max, 9);
    atomic_store(&board_of(2)->executor_gone, 1);
    for (int i = 0; i < 1 + 4 + 2; i++)
        assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
    assert_int_equal(6, f.dispatch.waiting.count);
    ask(1, 2); /* who has them can be given them: nothing was promised twice */
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(4, f.dispatch.waiting.count);
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
}

static void what_is_forgotten_leaves_the_queue_wherever_it_stands_its_file_closed(void **state) {
    (void)state;
    static const int middle_front_end[] = {1, 0, 3};
    nb_exchange *made[4];
    for (int i = 0; i < 4; i++)
        made[i] = with_file(NB_CHANNEL_NONE);
    unsigned descriptors = nb_test_descriptors();
    for (unsigned i = 0; i < 3; i++) {
        nb_exchange *forgotten = made[middle_front_end[i]];
        nb_dispatch_forget(&f.dispatch, forgotten);
        nb_dispatch_forget(&f.dispatch, forgotten); /* it has no place any more */
        assert_int_equal(3 - i, f.dispatch.waiting.count);
        assert_int_equal(descriptors - i - 1, nb_test_descriptors());
        nb_exchange_destroy(&f.exchanges, forgotten);
    }
    nb_exchange *behind = exchange();
    assert_status(NB_OK, give(behind, sizeof(nb_request_message)));
    with_file(NB_CHANNEL_NONE); /* is still there at the end */
    ask(0, 2);
    nb_dispatch_pump(&f.dispatch);
    const nb_request_message *first = (const nb_request_message *)(const void *)taken(0);
    assert_true(first->message.exchange == nb_exchange_id_of(made[2]));
    close((int)first->body_fd);
    assert_true(taken(0)->exchange == nb_exchange_id_of(behind));
    assert_int_equal(1, f.dispatch.waiting.count);
    nb_dispatch_forget(&f.dispatch, nb_waiting_first(&f.dispatch.waiting)->exchange); /* alone */
    assert_null(nb_waiting_first(&f.dispatch.waiting));
    assert_null(nb_waiting_first_due(&f.dispatch.waiting));
    with_file(NB_CHANNEL_NONE);
}

static void an_expired_exchange_is_taken_with_its_message(void **state) {
    (void)state;
    nb_exchange *late = exchange();
    nb_request_message *made = message(sizeof *made, -1), *taken = NULL;
    made->deadline_ns = 100;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, late, made));
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message))); /* without a deadline */
    assert_null(nb_dispatch_take_expired(&f.dispatch, 99, &taken));
    assert_ptr_equal(late, nb_dispatch_take_expired(&f.dispatch, 100, &taken));
    assert_ptr_equal(made, taken);
    nb_request_message_free(taken);
    nb_dispatch_forget(&f.dispatch, late); /* it has no place any more */
    assert_null(nb_dispatch_take_expired(&f.dispatch, 100, &taken));
    assert_int_equal(1, f.dispatch.waiting.count);
}

/* --- what wakes an executor, and notices for it --- */

static void publishing_rings_an_executor_that_sleeps_and_no_other(void **state) {
    (void)state;
    ask(0, 1);
    sleeps(0, true);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    assert_null(taken(0));
    nb_dispatch_pump(&f.dispatch);
    assert_true(signalled(&f.links[0]->executor_wake));
    assert_non_null(taken(0));
    ask(0, 1);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    nb_dispatch_pump(&f.dispatch);
    assert_false(signalled(&f.links[0]->executor_wake));
    assert_false(signalled(&f.links[1]->executor_wake));
}

static void what_was_published_several_times_rings_once_when_it_is_pumped(void **state) {
    (void)state;
    ask(0, 3);
    sleeps(0, true);
    for (int i = 0; i < 2; i++) {
        assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
        nb_dispatch_publish(&f.dispatch);
        assert_non_null(taken(0));
        assert_false(signalled(&f.links[0]->executor_wake));
    }
    nb_dispatch_pump(&f.dispatch);
    assert_true(signalled(&f.links[0]->executor_wake));
    nb_dispatch_pump(&f.dispatch);
    assert_false(signalled(&f.links[0]->executor_wake));
}

/* It asks for one request and is handed that. */
static nb_exchange *given_to(int i) {
    ask(i, 1);
    return simple(i);
}

static void fill_ring(int i) {
    ask(i, 1000);
    while (nb_dispatch_choose(&f.dispatch, sizeof(nb_request_message), 0))
        assert_status(
            NB_OK, give(exchange(), nb_dispatch_choose(&f.dispatch, 200000, 0) ? 200000 : sizeof(nb_request_message)));
    while (nb_ring_reserve(&f.dispatch.channels[i].requests, sizeof(nb_message)))
        assert_true(tell(&f.dispatch.channels[i], NB_MESSAGE_DRAINED, 0, 0));
    ask(i, 0);
    nb_dispatch_pump(&f.dispatch);
}

static unsigned empty_ring(int i, nb_exchange_id of, nb_message_type type) {
    unsigned found = 0;
    for (const nb_message *m; (m = taken(i));)
        found += m->type == type && m->exchange == of;
    nb_ring_release(&f.requests[i]);
    return found;
}

static void notices_that_found_the_ring_full_are_told_once_when_there_is_room(void **state) {
    (void)state;
    nb_exchange *writer = given_to(0), *goes = given_to(0);
    fill_ring(0);
    nb_dispatch_tell_drained(&f.dispatch, writer);
    nb_dispatch_tell_gone(&f.dispatch, goes);
    nb_dispatch_tell_gone(&f.dispatch, writer);
    nb_dispatch_pump(&f.dispatch);
    assert_true(writer->in_notices && goes->in_notices);
    assert_int_equal(0, empty_ring(0, nb_exchange_id_of(goes), NB_MESSAGE_GONE));
    nb_dispatch_pump(&f.dispatch);
    assert_false(writer->in_notices || goes->in_notices);
    unsigned gone = 0, drained = 0;
    for (const nb_message *m; (m = taken(0));) {
        gone += m->type == NB_MESSAGE_GONE;
        drained += m->type == NB_MESSAGE_DRAINED && m->exchange == nb_exchange_id_of(writer);
    }
    assert_int_equal(2, gone);
    assert_int_equal(1, drained);
}

/* --- the loop before it sleeps, and when it ends --- */

/* The executor made room and read loop_starved before the loop set it. It does not ring, so the
   loop must look itself. */
static void the_loop_does_not_sleep_while_there_is_room_for_notices(void **state) {
    (void)state;
    nb_exchange *goes = given_to(0);
    fill_ring(0);
    nb_dispatch_tell_gone(&f.dispatch, goes);
    nb_dispatch_pump(&f.dispatch);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    assert_int_equal(1, atomic_load(&memory_of(0)->loop_starved));
    nb_dispatch_awake(&f.dispatch);
    empty_ring(0, 0, NB_MESSAGE_GONE);
    assert_true(nb_dispatch_announce_sleep(&f.dispatch));
    nb_dispatch_awake(&f.dispatch);
    nb_dispatch_pump(&f.dispatch);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    assert_int_equal(0, atomic_load(&memory_of(0)->loop_starved));
}

static void the_loop_does_not_sleep_while_a_request_could_go_or_a_part_waits(void **state) {
    (void)state;
    nb_doorbell_announce(&board_of(1)->busy_bell);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    assert_true(nb_doorbell_sleeping(&board_of(1)->busy_bell));
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    assert_int_equal(1, atomic_load(&memory_of(1)->loop_starved));
    /* A fiber that has had its time is left for it. */
    assert_false(nb_doorbell_sleeping(&board_of(1)->busy_bell));
    ask(1, 1);
    assert_true(nb_dispatch_announce_sleep(&f.dispatch));
    nb_dispatch_awake(&f.dispatch);
    nb_dispatch_pump(&f.dispatch);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch));
    *(nb_message *)nb_ring_reserve(&f.responses[2], sizeof(nb_message)) = (nb_message){.type = NB_MESSAGE_BODY,
                                                                                       .bytes = sizeof(nb_message)};
    nb_ring_commit(&f.responses[2], sizeof(nb_message));
    nb_ring_publish(&f.responses[2]);
    assert_true(nb_dispatch_announce_sleep(&f.dispatch));
}

static void a_listed_exchange_that_ends_is_freed_when_its_turn_comes(void **state) {
    (void)state;
    nb_exchange *goes = given_to(0);
    fill_ring(0);
    uint32_t live = f.exchanges.live;
    nb_dispatch_tell_gone(&f.dispatch, goes);
    nb_dispatch_begun(&f.dispatch, goes);
    goes->ended = true; /* its last part came meanwhile, and its connection is gone */
    goes->connection = NULL;
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(live - 1, f.exchanges.live);
    assert_null(f.dispatch.channels[0].notices);
}

static void stop_is_told_once_after_all_requests_and_when_there_is_room(void **state) {
    (void)state;
    fill_ring(0);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    nb_dispatch_stop(&f.dispatch, NB_STOP_LAST);
    nb_dispatch_pump(&f.dispatch);
    assert_null(taken(1));
    assert_int_equal(1, f.dispatch.waiting.count);
    nb_dispatch_forget(&f.dispatch, nb_waiting_first(&f.dispatch.waiting)->exchange);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(NB_MESSAGE_STOP, taken(1)->type);
    assert_int_equal(0, empty_ring(0, 0, NB_MESSAGE_STOP));
    nb_dispatch_pump(&f.dispatch);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(1, empty_ring(0, 0, NB_MESSAGE_STOP));
    assert_null(taken(1));
}

static uint16_t stop_taken(void) {
    nb_dispatch_pump(&f.dispatch);
    const nb_message *message = taken(0);
    if (!message) return NB_STOP_NONE;
    assert_int_equal(NB_MESSAGE_STOP, message->type);
    return message->flags;
}

static void a_stop_is_told_again_if_it_is_harder(void **state) {
    (void)state;
    nb_dispatch_stop(&f.dispatch, NB_STOP_LAST);
    assert_int_equal(NB_STOP_LAST, stop_taken());
    nb_dispatch_stop(&f.dispatch, NB_STOP_NOW);
    assert_int_equal(NB_STOP_NOW, stop_taken());
    nb_dispatch_stop(&f.dispatch, NB_STOP_LAST);
    nb_dispatch_stop(&f.dispatch, NB_STOP_NOW);
    assert_int_equal(NB_STOP_NONE, stop_taken());
}

static void a_retiring_worker_is_interrupted_alone_whatever_still_waits(void **state) {
    (void)state;
    nb_dispatch_retire(&f.dispatch, &f.dispatch.channels[0]);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(NB_MESSAGE_RETIRE, taken(0)->type);
    nb_dispatch_interrupt(&f.dispatch, &f.dispatch.channels[0]);
    assert_int_equal(NB_STOP_NOW, stop_taken());
    assert_int_equal(NB_STOP_NONE, stop_taken());
    assert_int_equal(1, f.dispatch.waiting.count);
    assert_null(taken(1));
}

static void files_never_taken_are_closed_at_the_end(void **state) {
    (void)state;
    nb_named_message *part = nb_ring_reserve(&f.responses[0], sizeof *part);
    *part = (nb_named_message){.response = {.message = {.type = NB_MESSAGE_NAMED, .bytes = sizeof *part}},
                               .fd = null_file(),
                               .naming = NB_NAMED_OPEN};
    nb_ring_commit(&f.responses[0], sizeof *part);
    nb_ring_publish(&f.responses[0]);
}

static void no_memory_for_the_queue_is_told(void **state) {
    (void)state;
    nb_request_message *made = message(sizeof *made, -1);
    nb_exchange *waits = exchange();
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_dispatch_message(&f.dispatch, waits, made));
    nb_alloc_fail_at(0);
    nb_free(made);
    assert_int_equal(0, f.dispatch.waiting.count);
}

/* Its client may be quicker than the thread, which has not asked for the next one yet. */
static void a_thread_of_a_lane_that_has_answered_may_have_one_that_waits(void **state) {
    (void)state;
    nb_exchange *next = exchange();
    f.dispatch.lane = 1;
    f.dispatch.waiting_max = 0;
    for (int i = 1; i < 3; i++)
        atomic_store(&board_of(i)->executor_gone, 1);
    ask(0, 1);
    expect_request(0, simple(0));
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
    nb_link_count_answered(f.links[0]);
    assert_status(NB_OK, give(next, sizeof(nb_request_message)));
    assert_int_equal(NB_CHANNEL_NONE, next->channel);
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
    ask(0, 1);
    expect_request(0, next);
    assert_status(NB_FULL, give(exchange(), sizeof(nb_request_message)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(nobody_is_chosen_who_did_not_ask),
        CASE(sleepers_come_first_then_who_runs_the_fewest_then_the_order),
        CASE(one_without_room_is_not_chosen_while_another_has_some),
        CASE(the_queue_is_bounded_ordered_and_goes_to_whom_asks_first),
        CASE(beyond_the_bound_as_many_wait_as_there_are_free_fibers_for),
        CASE(what_is_forgotten_leaves_the_queue_wherever_it_stands_its_file_closed),
        CASE(an_expired_exchange_is_taken_with_its_message),
        CASE(publishing_rings_an_executor_that_sleeps_and_no_other),
        CASE(what_was_published_several_times_rings_once_when_it_is_pumped),
        CASE(notices_that_found_the_ring_full_are_told_once_when_there_is_room),
        CASE(the_loop_does_not_sleep_while_there_is_room_for_notices),
        CASE(the_loop_does_not_sleep_while_a_request_could_go_or_a_part_waits),
        CASE(a_listed_exchange_that_ends_is_freed_when_its_turn_comes),
        CASE(stop_is_told_once_after_all_requests_and_when_there_is_room),
        CASE(a_stop_is_told_again_if_it_is_harder),
        CASE(a_retiring_worker_is_interrupted_alone_whatever_still_waits),
        CASE(files_never_taken_are_closed_at_the_end),
        CASE(no_memory_for_the_queue_is_told),
        CASE(a_thread_of_a_lane_that_has_answered_may_have_one_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
