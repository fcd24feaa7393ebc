/*
 * test_dispatch.c - which executor gets a request, what waits, and what wakes the loop and
 * executors. Includes dispatch.c for its tell(). The test plays the executors.
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

#include <fcntl.h>

#include "os/clock.h"

#include "support/channel.h"
#include "support/dispatch.h"
#include "support/test.h"
#include "support/world.h"

typedef struct fixture {
    nb_dispatch dispatch;
    nb_exchanges exchanges;
    nb_wake wake;
    nb_ring_consumer requests[3];
    nb_ring_producer responses[3];
    long live;
    unsigned descriptors;
} fixture;

static fixture f;

static int setup(void **state) {
    (void)state;
    nb_test_dispatch_open(&f.dispatch, &f.exchanges, &f.wake, 4, &f.live, &f.descriptors);
    for (int i = 0; i < 3; i++) {
        nb_channel *channel;
        assert_status(NB_OK, nb_test_channel_create(&f.wake, false, &channel));
        assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, channel));
        nb_ring_consumer_attach(&f.requests[i], nb_channel_requests(channel));
        nb_ring_producer_attach(&f.responses[i], nb_channel_responses(channel));
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return nb_test_dispatch_close(&f.dispatch, &f.exchanges, &f.wake, f.live, f.descriptors);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static nb_channel_memory *memory_of(int i) { return f.dispatch.channels[i].channel->memory; }
static nb_board *board_of(int i) { return f.dispatch.channels[i].channel->board; }

static void ask(int i, uint64_t wanted) {
    atomic_store(&board_of(i)->asked, f.dispatch.channels[i].channel->link->handed + wanted);
}

static void sleeps(int i, bool asleep) { atomic_store(&board_of(i)->executor_bell.sleeping, asleep); }

static bool signalled(const nb_wake *wake) {
    uint64_t value;
    return read(wake->read_fd, &value, sizeof value) == (ssize_t)sizeof value;
}

static nb_exchange *exchange(void) {
    nb_exchange *made = nb_exchange_create(&f.exchanges);
    assert_non_null(made);
    return made;
}

static nb_request_message *message(size_t bytes, int fd) {
    nb_request_message *made = nb_alloc_zero(1, bytes);
    made->message.type = NB_MESSAGE_REQUEST;
    made->message.bytes = (uint32_t)bytes;
    made->body_fd = fd;
    return made;
}

static nb_status give(nb_exchange *e, size_t bytes) {
    nb_request_message *made = message(bytes, -1);
    nb_status status = nb_dispatch_message(&f.dispatch, e, made);
    if (status != NB_OK) nb_free(made);
    return status;
}

/* As an executor takes it: it begins with each request. */
static const nb_message *next(int i) {
    size_t bytes;
    const nb_message *found = nb_ring_peek(&f.requests[i], &bytes);
    if (!found) return NULL;
    nb_ring_advance(&f.requests[i]);
    if (found->type == NB_MESSAGE_REQUEST)
        assert_true(nb_request_claim((nb_request_message *)(uintptr_t)found, NB_CLAIM_TAKEN));
    return found;
}

static int chosen(void) {
    nb_dispatch_channel *channel = nb_dispatch_choose(&f.dispatch, 100, 0);
    return channel ? (int)(channel - f.dispatch.channels) : -1;
}

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
    assert_int_equal(1, f.dispatch.channels[1].channel->link->handed);
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
    assert_true(next(2)->exchange == nb_exchange_id_of(made[0]));
    assert_true(next(2)->exchange == nb_exchange_id_of(made[1]));
    assert_null(next(2));
    assert_int_equal(2, made[0]->channel);
    assert_int_equal(NB_CHANNEL_NONE, made[2]->channel);
    ask(0, 1);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message))); /* behind those that wait */
    nb_dispatch_pump(&f.dispatch);
    assert_true(next(0)->exchange == nb_exchange_id_of(made[2]));
    assert_null(next(0));
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

static nb_exchange *queued_with_a_file(void) {
    nb_exchange *made = exchange();
    nb_request_message *request = message(sizeof *request, open("/dev/null", O_RDONLY | O_CLOEXEC));
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, made, request));
    return made;
}

static void what_is_forgotten_leaves_the_queue_wherever_it_stands_its_file_closed(void **state) {
    (void)state;
    static const int middle_front_end[] = {1, 0, 3};
    nb_exchange *made[4];
    for (int i = 0; i < 4; i++)
        made[i] = queued_with_a_file();
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
    queued_with_a_file(); /* is still there at the end */
    ask(0, 2);
    nb_dispatch_pump(&f.dispatch);
    const nb_request_message *first = (const nb_request_message *)(const void *)next(0);
    assert_true(first->message.exchange == nb_exchange_id_of(made[2]));
    close((int)first->body_fd);
    assert_true(next(0)->exchange == nb_exchange_id_of(behind));
    assert_int_equal(1, f.dispatch.waiting.count);
    nb_dispatch_forget(&f.dispatch, nb_waiting_first(&f.dispatch.waiting)->exchange); /* alone */
    assert_null(nb_waiting_first(&f.dispatch.waiting));
    assert_null(nb_waiting_first_due(&f.dispatch.waiting));
    queued_with_a_file();
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

static void publishing_rings_an_executor_that_sleeps_and_no_other(void **state) {
    (void)state;
    ask(0, 1);
    sleeps(0, true);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    assert_null(next(0));
    nb_dispatch_pump(&f.dispatch);
    assert_true(signalled(&f.dispatch.channels[0].channel->link->executor_wake));
    assert_non_null(next(0));
    ask(0, 1);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    nb_dispatch_pump(&f.dispatch);
    assert_false(signalled(&f.dispatch.channels[0].channel->link->executor_wake));
    assert_false(signalled(&f.dispatch.channels[1].channel->link->executor_wake));
}

static void what_was_published_several_times_rings_once_when_it_is_pumped(void **state) {
    (void)state;
    ask(0, 3);
    sleeps(0, true);
    for (int i = 0; i < 2; i++) {
        assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
        nb_dispatch_publish(&f.dispatch);
        assert_non_null(next(0));
        assert_false(signalled(&f.dispatch.channels[0].channel->link->executor_wake));
    }
    nb_dispatch_pump(&f.dispatch);
    assert_true(signalled(&f.dispatch.channels[0].channel->link->executor_wake));
    nb_dispatch_pump(&f.dispatch);
    assert_false(signalled(&f.dispatch.channels[0].channel->link->executor_wake));
}

static nb_exchange *given_to(int i) {
    nb_exchange *made = exchange();
    ask(i, 1);
    assert_status(NB_OK, give(made, sizeof(nb_request_message)));
    assert_int_equal(i, made->channel);
    return made;
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
    for (const nb_message *m; (m = next(i));)
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
    for (const nb_message *m; (m = next(0));) {
        gone += m->type == NB_MESSAGE_GONE;
        drained += m->type == NB_MESSAGE_DRAINED && m->exchange == nb_exchange_id_of(writer);
    }
    assert_int_equal(2, gone);
    assert_int_equal(1, drained);
}

/* The executor made room and read loop_starved before the loop set it. It does not ring, so the
   loop must look itself. */
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
            assert_non_null(next(0));
        assert_null(next(0));
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
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(live - 1, f.exchanges.live);
    assert_null(f.dispatch.channels[0].notices);
}

static void stop_is_told_once_after_all_requests_and_when_there_is_room(void **state) {
    (void)state;
    fill_ring(0);
    assert_status(NB_OK, give(exchange(), sizeof(nb_request_message)));
    nb_dispatch_stop(&f.dispatch);
    nb_dispatch_pump(&f.dispatch);
    assert_null(next(1));
    assert_int_equal(1, f.dispatch.waiting.count);
    nb_dispatch_forget(&f.dispatch, nb_waiting_first(&f.dispatch.waiting)->exchange);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(NB_MESSAGE_STOP, next(1)->type);
    assert_int_equal(0, empty_ring(0, 0, NB_MESSAGE_STOP));
    nb_dispatch_pump(&f.dispatch);
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(1, empty_ring(0, 0, NB_MESSAGE_STOP));
    assert_null(next(1));
}

static void files_never_taken_are_closed_at_the_end(void **state) {
    (void)state;
    nb_named_message *part = nb_ring_reserve(&f.responses[0], sizeof *part);
    *part = (nb_named_message){.response = {.message = {.type = NB_MESSAGE_NAMED, .bytes = sizeof *part}},
                               .fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
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

/* --- several loops --- */

enum { WORKERS = 2 };

/* Two loops and two executors, to each of which both have a channel. */
typedef struct pair {
    nb_queues queues;
    nb_dispatch dispatches[2];
    nb_exchanges exchanges[2];
    nb_wake wakes[2];
    nb_link *links[WORKERS];
} pair;

static pair *open_pair(void) {
    static pair pairs;
    pair *made = memset(&pairs, 0, sizeof pairs);
    const nb_wake *wakes[] = {&made->wakes[0], &made->wakes[1]};
    made->queues.count = 2;
    for (uint16_t i = 0; i < 2; i++) {
        assert_status(NB_OK, nb_wake_init(&made->wakes[i]));
        made->queues.places[i].wake = wakes[i];
        nb_exchanges_init(&made->exchanges[i]);
        made->exchanges[i].loop = i;
        nb_dispatch_init(&made->dispatches[i], &made->exchanges[i], 3);
        nb_dispatch_join(&made->dispatches[i], &made->queues, i);
    }
    for (int worker = 0; worker < WORKERS; worker++) {
        assert_status(NB_OK, nb_link_create(wakes, 2, &made->links[worker]));
        for (int i = 0; i < 2; i++)
            assert_status(NB_OK, nb_dispatch_channel_add(&made->dispatches[i], &made->links[worker]->channels[i]));
    }
    return made;
}

static void close_pair(pair *made) {
    for (int i = 0; i < 2; i++) {
        nb_dispatch_deinit(&made->dispatches[i]);
        nb_exchanges_deinit(&made->exchanges[i]);
        nb_wake_deinit(&made->wakes[i]);
    }
}

/* A request comes to the loop. Returns the executor it was handed to; -1: it waits. */
static int comes(pair *made, int loop, int64_t arrived_ns) {
    nb_exchange *e = nb_exchange_create(&made->exchanges[loop]);
    nb_request_message *request = message(sizeof *request, -1);
    request->arrived_ns = arrived_ns;
    assert_status(NB_OK, nb_dispatch_message(&made->dispatches[loop], e, request));
    return e->channel == NB_CHANNEL_NONE ? -1 : e->channel;
}

static void wants(pair *made, int worker, uint64_t wanted) { atomic_store(&made->links[worker]->board->asked, wanted); }

static void what_an_executor_asks_for_is_given_once_by_all_loops(void **state) {
    (void)state;
    pair *two = open_pair();
    wants(two, 1, 2);
    assert_int_equal(1, comes(two, 0, 1000));
    assert_int_equal(1, comes(two, 1, 1000));
    assert_int_equal(-1, comes(two, 0, 1000));
    assert_int_equal(-1, comes(two, 1, 1000));
    wants(two, 1, 3);
    nb_dispatch_pump(&two->dispatches[1]);
    nb_dispatch_pump(&two->dispatches[0]);
    assert_int_equal(1, two->dispatches[0].waiting.count);
    assert_int_equal(0, two->dispatches[1].waiting.count);
    assert_int_equal(3, two->links[1]->handed);
    close_pair(two);
}

static void one_that_another_loop_has_just_given_something_is_no_idle_sleeper(void **state) {
    (void)state;
    pair *two = open_pair();
    for (int worker = 0; worker < WORKERS; worker++) {
        wants(two, worker, 8);
        nb_doorbell_announce(&two->links[worker]->board->executor_bell);
    }
    assert_int_equal(0, comes(two, 0, 1000)); /* not published, not rung */
    assert_int_equal(1, comes(two, 1, 1000));
    atomic_store(&two->links[1]->board->figures.taken, 1); /* and answered */
    assert_int_equal(1, comes(two, 0, 1000));
    close_pair(two);
}

static void a_loop_gives_way_to_what_has_waited_a_millisecond_longer_with_another(void **state) {
    (void)state;
    pair *two = open_pair();
    assert_int_equal(-1, comes(two, 0, 1000));
    assert_int_equal(-1, comes(two, 1, 1000 + 2 * NB_NS_PER_MS));
    wants(two, 0, 1);
    nb_dispatch_pump(&two->dispatches[1]);
    assert_int_equal(1, two->dispatches[1].waiting.count); /* not its turn */
    assert_false(nb_dispatch_announce_sleep(&two->dispatches[1]));
    assert_int_equal(-1, comes(two, 1, 1000 + 3 * NB_NS_PER_MS));
    wants(two, 0, 2);
    nb_dispatch_pump(&two->dispatches[0]);
    assert_int_equal(0, two->dispatches[0].waiting.count);
    assert_true(signalled(&two->wakes[1])); /* there is credit left, and it may have it now */
    assert_true(nb_dispatch_announce_sleep(&two->dispatches[1]));
    nb_dispatch_awake(&two->dispatches[1]);
    nb_dispatch_pump(&two->dispatches[1]);
    assert_int_equal(1, two->dispatches[1].waiting.count);
    assert_int_equal(-1, comes(two, 0, 1000 + 3 * NB_NS_PER_MS + 500));
    wants(two, 0, 3);
    nb_dispatch_pump(&two->dispatches[0]); /* so little later is as good as the other */
    assert_int_equal(0, two->dispatches[0].waiting.count);
    assert_false(signalled(&two->wakes[1])); /* nothing is left for it */
    close_pair(two);
}

static void the_queues_have_one_bound(void **state) {
    (void)state;
    pair *two = open_pair();
    for (int i = 0; i < 3; i++)
        assert_int_equal(-1, comes(two, i % 2, 1000));
    nb_request_message *request = message(sizeof *request, -1);
    nb_exchange *e = nb_exchange_create(&two->exchanges[1]);
    assert_status(NB_FULL, nb_dispatch_message(&two->dispatches[1], e, request));
    assert_int_equal(3, nb_dispatch_waiting(&two->dispatches[1]));
    nb_free(request);
    close_pair(two);
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
        CASE(one_of_a_throttled_class_waits_and_others_pass_it),
        CASE(one_of_a_throttled_class_goes_to_an_executor_that_does_not_throttle_it),
        CASE(nothing_is_throttled_while_no_preempted_request_waits_for_the_processor),
        CASE(one_whose_class_is_closed_waits_until_it_is_opened),
        CASE(one_whose_class_is_closed_by_an_executor_goes_to_another),
        CASE(those_that_every_executor_holds_are_set_aside_and_come_back_in_order),
        CASE(none_goes_before_one_of_its_class_that_came_earlier_when_it_is_opened_meanwhile),
        CASE(one_whose_slot_another_class_has_is_not_set_aside),
        CASE(one_that_is_set_aside_is_still_first_where_all_are_taken_out),
        CASE(the_loop_does_not_sleep_while_a_request_could_go_or_a_part_waits),
        CASE(a_listed_exchange_that_ends_is_freed_when_its_turn_comes),
        CASE(stop_is_told_once_after_all_requests_and_when_there_is_room),
        CASE(files_never_taken_are_closed_at_the_end),
        CASE(no_memory_for_the_queue_is_told),
        CASE(what_an_executor_asks_for_is_given_once_by_all_loops),
        CASE(one_that_another_loop_has_just_given_something_is_no_idle_sleeper),
        CASE(a_loop_gives_way_to_what_has_waited_a_millisecond_longer_with_another),
        CASE(the_queues_have_one_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
