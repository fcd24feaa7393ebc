/*
 * test_dispatch_requeue.c - late binding: which requests an executor has not begun with, when it
 * counts as stuck, and how requests return from it. The test plays the executors and sets the
 * time.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "dispatch/dispatch.h"
#include "support/channel.h"
#include "support/dispatch.h"
#include "support/test.h"
#include "support/world.h"

enum { CHANNELS = 2, QUICK = NB_NS_PER_MS / 2, LONG = 2 * NB_NS_PER_MS };

typedef struct fixture {
    nb_dispatch dispatch;
    nb_exchanges exchanges;
    nb_wake wake;
    nb_ring_consumer requests[CHANNELS];
    nb_connection *client; /* nobody looks into it */
    int64_t now_ns;
    long live;
    unsigned descriptors;
} fixture;

static fixture f;

static int open_fixture(bool shared) {
    nb_test_dispatch_open(&f.dispatch, &f.exchanges, &f.wake, 100, &f.live, &f.descriptors);
    f.client = (nb_connection *)(void *)&f;
    f.now_ns = NB_NS_PER_S;
    for (int i = 0; i < CHANNELS; i++) {
        nb_channel *channel = NULL;
        assert_status(NB_OK, shared ? nb_test_channel_create(&f.wake, true, &channel)
                                    : nb_test_channel_create(&f.wake, false, &channel));
        assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, channel));
        nb_ring_consumer_attach(&f.requests[i], nb_channel_requests(channel));
    }
    nb_dispatch_look(&f.dispatch, f.now_ns);
    return 0;
}

static int setup(void **state) {
    (void)state;
    return open_fixture(false);
}

static int setup_shared(void **state) {
    (void)state;
    return open_fixture(true);
}

static int teardown(void **state) {
    (void)state;
    return nb_test_dispatch_close(&f.dispatch, &f.exchanges, &f.wake, f.live, f.descriptors);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define SHARED_CASE(name) \
    { #name " (shared)", name, setup_shared, teardown, NULL }

static nb_dispatch_channel *channel_of(int i) { return &f.dispatch.channels[i]; }
static nb_board *board_of(int i) { return f.dispatch.channels[i].channel->board; }
static void ask(int i, uint64_t wanted) {
    atomic_store(&board_of(i)->asked, channel_of(i)->channel->link->handed + wanted);
}
static void switched(int i, int64_t ns) { atomic_store(&board_of(i)->pulse.switched_ns, ns); }

static void look_after(int64_t ns) {
    f.now_ns += ns;
    nb_dispatch_look(&f.dispatch, f.now_ns);
}

static int chosen(void) {
    nb_dispatch_channel *channel = nb_dispatch_choose(&f.dispatch, 100, 0);
    return channel ? (int)(channel - f.dispatch.channels) : -1;
}

static nb_request_message *message(size_t more, int fd) {
    size_t bytes = sizeof(nb_request_message) + more;
    nb_request_message *made = nb_alloc_zero(1, bytes);
    made->message.type = NB_MESSAGE_REQUEST;
    made->message.bytes = (uint32_t)bytes;
    made->body_fd = fd;
    return made;
}

static nb_exchange *given(int to, size_t more, int fd, int64_t deadline_ns) {
    nb_exchange *made = nb_exchange_create(&f.exchanges);
    made->connection = f.client;
    nb_request_message *request = message(more, fd);
    request->deadline_ns = deadline_ns;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, made, request));
    assert_int_equal(to, made->channel);
    return made;
}

static nb_exchange *simple(int to) { return given(to, 0, -1, 0); }

static nb_exchange *with_file(int to) { return given(to, 0, open("/dev/null", O_RDONLY | O_CLOEXEC), 0); }

static nb_message *next(int i) {
    size_t bytes;
    nb_dispatch_pump(&f.dispatch);
    const nb_message *found = nb_ring_peek(&f.requests[i], &bytes);
    if (found) nb_ring_advance(&f.requests[i]);
    return (nb_message *)(uintptr_t)found;
}

static bool begin(nb_message *m) {
    nb_request_message *request = (nb_request_message *)(void *)m;
    if (!nb_request_claim(request, NB_CLAIM_TAKEN)) return false;
    nb_request_begin(request);
    return true;
}

static void expect_request(int i, const nb_exchange *exchange) {
    nb_message *m = next(i);
    assert_non_null(m);
    assert_int_equal(NB_MESSAGE_REQUEST, m->type);
    assert_true(m->exchange == nb_exchange_id_of(exchange));
    assert_true(begin(m));
    int64_t fd = ((nb_request_message *)(void *)m)->body_fd;
    if (fd >= 0 && !nb_channel_is_shared(channel_of(i)->channel)) close((int)fd);
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
    atomic_store(&board_of(0)->executor_bell.sleeping, 1); /* it sleeps, whatever it stamped */
    look_after(LONG);
    assert_int_equal(0, chosen());
    atomic_store(&board_of(0)->executor_bell.sleeping, 0);
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
        atomic_store(&board_of(0)->executor_bell.sleeping, 1);
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

static void busy(int i) {
    atomic_store(&board_of(i)->executor_bell.sleeping, 0);
    switched(i, f.now_ns);
}

static nb_exchange *waiting(void) {
    nb_exchange *made = nb_exchange_create(&f.exchanges);
    made->connection = f.client;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, made, message(0, -1)));
    assert_int_equal(NB_CHANNEL_NONE, made->channel);
    return made;
}

static void asleep(int i) { atomic_store(&board_of(i)->executor_bell.sleeping, 1); }
static void takes(int i, uint32_t ns) { atomic_store(&board_of(i)->figures.request_ns, ns); }

static void one_that_is_awake_and_quick_is_chosen_before_one_that_must_be_woken(void **state) {
    (void)state;
    ask(0, 50);
    ask(1, 50);
    asleep(0);
    asleep(1);
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
    asleep(0);
    asleep(1);
    takes(0, 200000);
    look_after(1);
    simple(0);
    assert_int_equal(1, chosen());
    takes(0, 10000);
    atomic_store(&board_of(0)->figures.taken, 1);
    atomic_store(&board_of(0)->figures.running, 1);
    look_after(1);
    switched(0, f.now_ns);
    atomic_store(&board_of(0)->executor_bell.sleeping, 0);
    assert_int_equal(0, chosen());
    atomic_store(&board_of(0)->figures.running, 2);
    look_after(1);
    assert_int_equal(1, chosen());
}

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
    asleep(0);
    expect_instead_of_sleep(0, made);
}

static void one_that_falls_asleep_just_before_the_loop_does_keeps_it_awake(void **state) {
    (void)state;
    busy(0);
    look_after(LONG);
    assert_true(channel_of(0)->busy);
    nb_exchange *made = waiting_while_the_loop_may_sleep();
    ask(0, 1);
    asleep(0);
    expect_instead_of_sleep(0, made);
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
    nb_exchange *e = given(0, 0, open("/dev/null", O_RDONLY | O_CLOEXEC), f.now_ns + 5 * LONG), *stays = simple(0);
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

static void that_its_client_has_finished_sending_is_told_again(void **state) {
    (void)state;
    ask(0, 5);
    nb_exchange *e = simple(0);
    nb_dispatch_tell_left(&f.dispatch, e);
    look_after(LONG);
    ask(1, 5);
    look_after(1);
    expect_request(1, e);
    nb_message *left = next(1);
    assert_int_equal(NB_MESSAGE_LEFT, left->type);
    assert_true(left->exchange == nb_exchange_id_of(e));
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
    nb_request_message *from = message(4 * sizeof(nb_request_header), -1), *to = nb_alloc(bytes);
    from->header_count = 4;
    from->claim = NB_CLAIM_REQUEUED;
    assert_true(nb_request_message_copy(to, from, bytes));
    assert_int_equal(NB_CLAIM_NONE, to->claim);
    nb_span *spans[] = {&from->method_text,
                        &from->target,
                        &from->path,
                        &from->query,
                        &from->host,
                        &from->peer_address,
                        &from->body,
                        &from->headers[0].name,
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
    nb_exchange *waits = nb_exchange_create(&f.exchanges);
    waits->connection = f.client;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, waits, message(0, -1)));
    assert_int_equal(NB_CHANNEL_NONE, waits->channel);
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
    nb_exchange *e = nb_exchange_create(&f.exchanges);
    e->connection = f.client;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, e, message(0, open("/dev/null", O_RDONLY | O_CLOEXEC))));
    nb_dispatch_pump(&f.dispatch);
    assert_int_equal(1, f.dispatch.waiting.count);
    assert_false(nb_dispatch_announce_sleep(&f.dispatch)); /* it does not spin */
    atomic_store(&board_of(0)->executor_bell.sleeping, 1);
    atomic_store(&board_of(1)->executor_bell.sleeping, 1);
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
        CASE(what_a_stuck_one_has_not_begun_with_goes_to_a_free_one_in_order),
        SHARED_CASE(what_a_stuck_one_has_not_begun_with_goes_to_a_free_one_in_order),
        CASE(it_goes_as_far_as_the_free_one_has_asked),
        CASE(one_that_moves_just_before_the_loop_sleeps_keeps_it_awake),
        CASE(one_that_falls_asleep_just_before_the_loop_does_keeps_it_awake),
        CASE(one_that_is_awake_and_quick_is_chosen_before_one_that_must_be_woken),
        CASE(one_that_is_awake_and_slow_or_has_more_under_way_is_not),
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
        CASE(what_has_notices_to_be_told_stays),
        SHARED_CASE(a_record_that_was_damaged_is_given_to_nobody),
        CASE(each_kind_of_damage_is_seen_in_a_copy),
        CASE(one_that_is_slow_to_take_its_request_is_room_for_another),
        SHARED_CASE(all_that_a_lost_one_had_not_begun_with_comes_back_before_what_waits),
        SHARED_CASE(one_taken_and_not_begun_with_is_run_by_another_only_when_its_process_is_no_more),
        SHARED_CASE(a_lost_one_is_given_and_told_nothing),
        SHARED_CASE(without_memory_what_comes_back_is_taken_for_begun_and_its_file_closed),
        SHARED_CASE(a_pipe_that_is_full_makes_another_the_choice_and_is_tried_again_next_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
