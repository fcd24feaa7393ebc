/*
 * test_dispatch_loops.c - two loops with the same executors: what an executor asks for is given
 * once, and a loop gives way to what has waited longer with the other.
 */
#include "support/dispatch.h"

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
        cmocka_unit_test(what_an_executor_asks_for_is_given_once_by_all_loops),
        cmocka_unit_test(one_that_another_loop_has_just_given_something_is_no_idle_sleeper),
        cmocka_unit_test(a_loop_gives_way_to_what_has_waited_a_millisecond_longer_with_another),
        cmocka_unit_test(the_queues_have_one_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
