/*
 * test_dispatch_requeue.c - late binding: how requests that an executor has not begun with return
 * from it, when it is stuck and when it is lost. test_dispatch_unresponsive.c tests when it counts
 * as stuck.
 */
#include "support/dispatch.h"

static int setup(void **state) {
    open_dispatch_of(2, is_shared(state), 100);
    look_after(0);
    return 0;
}

/* --- back from a stuck one --- */

static void what_a_stuck_one_has_not_begun_with_goes_to_a_free_one_in_order(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *begun = simple(0), *second = with_file(0), *third = given(0, 60000, -1, 0);
    begin(next(0));
    look_after(LONG);
    assert_int_equal(0, third->channel); /* nobody is free */
    ask(1, 5);
    look_after(1);
    assert_int_equal(0, begun->channel);
    assert_int_equal(1, second->channel);
    assert_int_equal(0, third->channel); /* it has as many in hand now */
    expect_request(1, second);
    look_after(1);
    assert_int_equal(1, third->channel);
    expect_request(1, third);
    assert_false(begin(next(0))); /* it passes them over */
    assert_false(begin(next(0)));
    assert_null(next(0));
    assert_int_equal(2, channel_of(0)->channel->link->requeued);
    assert_int_equal(3, channel_of(0)->channel->link->handed);
}

static void it_goes_as_far_as_the_free_one_has_asked(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *first = simple(0), *second = simple(0);
    look_after(LONG);
    ask(1, 1);
    look_after(1);
    assert_int_equal(1, first->channel);
    assert_int_equal(0, second->channel);
    assert_int_equal(0, f.dispatch.waiting.count);
    expect_request(1, first);
    look_after(1);
    assert_int_equal(0, second->channel); /* it has not asked */
    ask(1, 1);
    look_after(1);
    assert_int_equal(1, second->channel);
    expect_request(1, second);
}

static void while_nobody_is_free_busy_ones_have_one_each_in_hand(void **state) {
    (void)state;
    ask(0, 5);
    ask(1, 5);
    busy(0);
    busy(1);
    look_after(LONG);
    nb_exchange *made[3] = {waiting(), waiting(), waiting()};
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(0, made[0]->channel);
    assert_int_equal(1, made[1]->channel);
    assert_int_equal(NB_CHANNEL_NONE, made[2]->channel);
    look_after(LONG);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, made[2]->channel);
    expect_request(1, made[1]); /* its fiber has ended: it goes on with this one */
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(1, made[2]->channel);
    expect_request(0, made[0]);
    expect_request(1, made[2]);
}

static void whoever_is_free_first_has_what_a_busy_one_has_in_hand(void **state) {
    (void)state;
    ask(0, 5);
    busy(0);
    look_after(LONG);
    nb_exchange *made = waiting();
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(0, made->channel);
    ask(1, 1);
    look_after(1);
    assert_int_equal(1, made->channel);
    expect_request(1, made);
    assert_false(begin(next(0)));
}

static void a_busy_one_that_asked_for_nothing_has_nothing_in_hand(void **state) {
    (void)state;
    busy(0);
    look_after(LONG);
    nb_exchange *made = waiting();
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(NB_CHANNEL_NONE, made->channel);
    assert_int_equal(1, f.dispatch.waiting.count);
}

static void of_several_in_hand_one_goes_to_another_that_is_busy_with_none(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *first = simple(0), *second = simple(0);
    busy(0);
    ask(1, 5);
    busy(1);
    look_after(LONG);
    assert_int_equal(1, first->channel);
    assert_int_equal(0, second->channel);
    look_after(LONG);
    assert_int_equal(1, first->channel);
    assert_int_equal(0, second->channel);
    expect_request(1, first);
    look_after(LONG);
    assert_int_equal(0, second->channel); /* the only one is its own */
}

/* The executor released the room of the second record without a sign of having moved, and the loop
   has written there since. */
static void a_record_whose_room_was_used_again_is_not_looked_at(void **state) {
    (void)state;
    ask(0, 1000);
    nb_exchange *first = given(0, 300000, -1, 0), *second = given(0, 300000, -1, 0);
    look_after(LONG);
    begin(next(0));
    begin(next(0));
    nb_ring_release(&f.requests[0]);
    channel_of(0)->unresponsive = false;
    given(0, 400000, -1, 0);
    given(0, 400000, -1, 0);
    memset(second->record, 0xee, 64); /* as another record's bytes would */
    channel_of(0)->unresponsive = true;
    ask(1, 5);
    look_after(1);
    assert_int_equal(0, first->channel);
    assert_int_equal(0, second->channel);
    assert_null(second->record);
}

static void without_memory_it_stays_where_it_is(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = with_file(0);
    look_after(LONG);
    ask(1, 5);
    for (unsigned long n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        look_after(1);
        nb_alloc_fail_at(0);
        assert_int_equal(0, e->channel);
    }
    look_after(1);
    expect_request(1, e);
}

static void an_expired_one_comes_back_though_nobody_is_free(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = given(0, sizeof(nb_request_message), null_file(), f.now_ns + 5 * LONG), *stays = simple(0);
    look_after(2 * LONG);
    assert_int_equal(0, f.dispatch.waiting.count);
    look_after(4 * LONG);
    assert_int_equal(1, f.dispatch.waiting.count);
    assert_int_equal(0, stays->channel);
    nb_request_message *taken = NULL;
    assert_ptr_equal(e, nb_dispatch_take_expired(&f.dispatch, f.now_ns, &taken));
    assert_int_equal(NB_CHANNEL_NONE, e->channel);
    nb_request_message_free(taken);
}

static void one_whose_client_has_gone_is_not_run_and_its_file_is_closed(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *goes = with_file(0), *stays = simple(0);
    goes->connection = NULL;
    goes->spooled = 77;
    nb_dispatch_tell_gone(&f.dispatch, goes);
    look_after(LONG);
    unsigned descriptors = nb_test_descriptors();
    uint32_t live = f.exchanges.live;
    ask(1, 5);
    look_after(1);
    assert_int_equal(descriptors - 1, nb_test_descriptors());
    assert_int_equal(live - 1, f.exchanges.live);
    assert_int_equal(77, f.exchanges.unspooled);
    expect_request(1, stays);
    assert_null(next(1));
}

/* What was told of a request that has moved is told where it begins. */
static void is_told_again(void (*tell)(nb_dispatch *, nb_exchange *), uint16_t type) {
    ask(0, 5);
    nb_exchange *e = simple(0);
    tell(&f.dispatch, e);
    look_after(LONG);
    ask(1, 5);
    look_after(1);
    expect_request(1, e);
    nb_message *told = next(1);
    assert_int_equal(type, told->type);
    assert_true(told->exchange == nb_exchange_id_of(e));
}

static void that_its_client_has_finished_sending_is_told_again(void **state) {
    (void)state;
    is_told_again(nb_dispatch_tell_left, NB_MESSAGE_LEFT);
}

static void that_it_is_cancelled_is_told_again(void **state) {
    (void)state;
    is_told_again(nb_dispatch_tell_cancel, NB_MESSAGE_CANCEL);
    assert_null(next(1));
}

static void what_has_notices_to_be_told_stays(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = simple(0);
    e->in_notices = true;
    look_after(LONG);
    ask(1, 5);
    look_after(1);
    assert_int_equal(0, e->channel);
    e->in_notices = false;
    look_after(1);
    assert_int_equal(1, e->channel);
}

/* --- damage --- */

static void a_record_that_was_damaged_is_given_to_nobody(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = with_file(0), *stays = simple(0);
    e->record->message.bytes = UINT32_MAX;
    look_after(LONG);
    ask(1, 5);
    look_after(1);
    look_after(1);
    assert_int_equal(0, e->channel); /* as if begun with */
    assert_null(e->record);
    assert_true(channel_of(0)->damaged);
    expect_request(1, stays);
}

static void each_kind_of_damage_is_seen_in_a_copy(void **state) {
    (void)state;
    size_t bytes = sizeof(nb_request_message) + 4 * sizeof(nb_request_header);
    nb_request_message *from = message(bytes, -1), *to = nb_alloc(bytes);
    from->header_count = 4;
    from->claim = NB_CLAIM_REQUEUED;
    assert_true(nb_request_message_copy(to, from, bytes));
    assert_int_equal(NB_CLAIM_NONE, to->claim);
    nb_span *spans[] = {&from->method_text,     &from->target, &from->path, &from->query, &from->host,
                        &from->peer_address,    &from->client, &from->tls,  &from->body,  &from->headers[0].name,
                        &from->headers[3].value};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        nb_span right = *spans[i];
        *spans[i] = (nb_span){(uint32_t)bytes, 0};
        assert_true(nb_request_message_copy(to, from, bytes));
        static const nb_span wrong[] = {{UINT32_MAX, 1}, {1, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {0, 100000}};
        for (size_t k = 0; k < 4; k++) {
            *spans[i] = wrong[k];
            assert_false(nb_request_message_copy(to, from, bytes));
        }
        *spans[i] = (nb_span){(uint32_t)bytes, 1};
        assert_false(nb_request_message_copy(to, from, bytes));
        *spans[i] = right;
    }
    from->header_count = 5;
    assert_false(nb_request_message_copy(to, from, bytes));
    from->header_count = UINT32_MAX;
    assert_false(nb_request_message_copy(to, from, bytes));
    from->header_count = 4;
    from->message.type = NB_MESSAGE_GONE;
    assert_false(nb_request_message_copy(to, from, bytes));
    nb_free(from);
    nb_free(to);
}

/* --- back from one that is no more --- */

static void all_that_a_lost_one_had_not_begun_with_comes_back_before_what_waits(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *begun = simple(0), *second = with_file(0), *third = simple(0);
    begin(next(0));
    ask(0, 0);
    nb_exchange *waits = waiting();
    channel_of(0)->lost = true;
    assert_int_equal(2, nb_dispatch_requeue_all(&f.dispatch, channel_of(0)));
    assert_int_equal(0, begun->channel); /* the caller's to answer */
    assert_int_equal(3, f.dispatch.waiting.count);
    begun->channel = NB_CHANNEL_NONE;
    nb_dispatch_remove(&f.dispatch, channel_of(0));
    ask(1, 5);
    expect_request(1, second);
    expect_request(1, third);
    expect_request(1, waits);
}

/* Between taking a request and calling the application. While its process lives the request is its
   own. */
static void one_taken_and_not_begun_with_is_run_by_another_only_when_its_process_is_no_more(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *taken = with_file(0);
    nb_request_message *record = (nb_request_message *)(void *)next(0);
    assert_true(nb_request_claim(record, NB_CLAIM_TAKEN));
    look_after(LONG);
    ask(1, 5);
    look_after(LONG);
    assert_int_equal(0, taken->channel);
    channel_of(0)->lost = true;
    assert_int_equal(1, nb_dispatch_requeue_all(&f.dispatch, channel_of(0)));
    expect_request(1, taken);
}

static void a_lost_one_is_given_and_told_nothing(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = simple(0);
    channel_of(0)->lost = true;
    assert_int_equal(-1, chosen());
    assert_false(nb_dispatch_serves(&f.dispatch) && chosen() == 0);
    begin(next(0));
    nb_dispatch_tell_gone(&f.dispatch, e);
    nb_dispatch_tell_left(&f.dispatch, e);
    assert_null(next(0));
    assert_false(e->in_notices);
}

static void without_memory_what_comes_back_is_taken_for_begun_and_its_file_closed(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = with_file(0);
    unsigned descriptors = nb_test_descriptors();
    channel_of(0)->lost = true;
    nb_alloc_fail_at(1);
    assert_int_equal(0, nb_dispatch_requeue_all(&f.dispatch, channel_of(0)));
    nb_alloc_fail_at(0);
    assert_int_equal(0, e->channel);
    assert_null(e->record);
    assert_int_equal(descriptors - 1, nb_test_descriptors());
}

/* --- descriptors beside a ring --- */

static void a_pipe_that_is_full_makes_another_the_choice_and_is_tried_again_next_turn(void **state) {
    (void)state;
    ask(0, 100000);
    while (nb_channel_send_fd(channel_of(0)->channel, 0) == NB_OK) {
    }
    ask(1, 1);
    atomic_store(&board_of(1)->figures.running, 50); /* the first is the better choice */
    look_after(1);
    assert_int_equal(0, chosen());
    with_file(1);
    assert_true(channel_of(0)->pipe_full);
    nb_exchange *e = with_file(NB_CHANNEL_NONE);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(1, f.dispatch.waiting.count);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch)); /* it does not spin */
    sleeps(0, true);
    sleeps(1, true);
    assert_true(nb_dispatch_executor_running(&f.dispatch)); /* and looks again by itself */
    nb_dispatch_awake(&f.dispatch);
    nb_channel *channel = channel_of(0)->channel;
    int far = channel->descriptors_far, near = channel->descriptors, came;
    channel->descriptors = far;
    while ((came = nb_channel_receive_fd(channel, 0)) >= 0)
        close(came);
    channel->descriptors = near;
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(0, f.dispatch.waiting.count);
    assert_int_equal(0, e->channel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_a_stuck_one_has_not_begun_with_goes_to_a_free_one_in_order),
        SHARED_CASE(what_a_stuck_one_has_not_begun_with_goes_to_a_free_one_in_order),
        CASE(it_goes_as_far_as_the_free_one_has_asked),
        CASE(while_nobody_is_free_busy_ones_have_one_each_in_hand),
        CASE(whoever_is_free_first_has_what_a_busy_one_has_in_hand),
        SHARED_CASE(whoever_is_free_first_has_what_a_busy_one_has_in_hand),
        CASE(a_busy_one_that_asked_for_nothing_has_nothing_in_hand),
        CASE(of_several_in_hand_one_goes_to_another_that_is_busy_with_none),
        CASE(a_record_whose_room_was_used_again_is_not_looked_at),
        CASE(without_memory_it_stays_where_it_is),
        SHARED_CASE(without_memory_it_stays_where_it_is),
        CASE(an_expired_one_comes_back_though_nobody_is_free),
        SHARED_CASE(an_expired_one_comes_back_though_nobody_is_free),
        CASE(one_whose_client_has_gone_is_not_run_and_its_file_is_closed),
        SHARED_CASE(one_whose_client_has_gone_is_not_run_and_its_file_is_closed),
        CASE(that_its_client_has_finished_sending_is_told_again),
        CASE(that_it_is_cancelled_is_told_again),
        CASE(what_has_notices_to_be_told_stays),
        SHARED_CASE(a_record_that_was_damaged_is_given_to_nobody),
        CASE(each_kind_of_damage_is_seen_in_a_copy),
        SHARED_CASE(all_that_a_lost_one_had_not_begun_with_comes_back_before_what_waits),
        SHARED_CASE(one_taken_and_not_begun_with_is_run_by_another_only_when_its_process_is_no_more),
        SHARED_CASE(a_lost_one_is_given_and_told_nothing),
        SHARED_CASE(without_memory_what_comes_back_is_taken_for_begun_and_its_file_closed),
        SHARED_CASE(a_pipe_that_is_full_makes_another_the_choice_and_is_tried_again_next_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
