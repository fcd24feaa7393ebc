/*
 * test_pace.c - rates, over a clock of the test.
 */
#include "send/pace.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "support/test.h"

enum { RATE = 1000000 };

#define MS INT64_C(1000000)
#define START (INT64_C(5000) * MS)

static void a_tick_of_bytes_may_go_at_once_and_then_as_many_as_time_passes(void **state) {
    (void)state;
    int64_t paid_ns = 0, now_ns = START;
    uint64_t sent = 0;
    for (; now_ns <= START + 2000 * MS; now_ns += 7 * MS) {
        uint64_t allowed = nb_pace_allows(paid_ns, RATE, now_ns);
        paid_ns = nb_pace_take(paid_ns, RATE, allowed, now_ns);
        sent += allowed;
        assert_in_range(sent, 0, 50000 + (uint64_t)(now_ns - START) / 1000);
        assert_int_equal(0, nb_pace_allows(paid_ns, RATE, now_ns));
    }
    assert_in_range(sent, 2030000, 2050000);
}

static void time_without_sending_is_not_saved_up(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_take(0, RATE, 50000, START);
    assert_int_equal(0, nb_pace_allows(paid_ns, RATE, START));
    assert_int_equal(25000, nb_pace_allows(paid_ns, RATE, START + 25 * MS));
    assert_int_equal(50000, nb_pace_allows(paid_ns, RATE, START + 3600 * 1000 * MS));
}

static void what_went_beyond_is_paid_for(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_take(0, RATE, 150000, START);
    assert_int_equal(0, nb_pace_allows(paid_ns, RATE, START + 100 * MS));
    assert_int_equal(1000, nb_pace_allows(paid_ns, RATE, START + 101 * MS));
}

/* Bytes that the address could reserve now. */
static uint64_t allows(nb_address_paces *paces, uint64_t key, int64_t now_ns) {
    uint64_t bytes = nb_address_pace_reserve(paces, key, UINT64_MAX, now_ns);
    if (bytes < UINT64_MAX) nb_address_pace_give(paces, key, bytes, now_ns);
    return bytes;
}

static void what_was_taken_and_did_not_go_is_given_back(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_give(nb_pace_take(0, RATE, 50000, START), RATE, 20000);
    assert_int_equal(20000, nb_pace_allows(paid_ns, RATE, START));
    nb_address_paces *paces;
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    nb_address_pace_take(paces, 5, 50000, START);
    nb_address_pace_give(paces, 5, 10000, START);
    assert_int_equal(10000, allows(paces, 5, START));
    nb_address_paces_destroy(paces);
}

static void no_rate_is_no_limit_and_the_largest_do_not_overflow(void **state) {
    (void)state;
    assert_int_equal(UINT64_MAX, nb_pace_allows(0, 0, START));
    assert_int_equal(7, nb_pace_take(7, 0, 100, START));
    assert_int_equal(UINT64_MAX, nb_pace_allows(0, NB_PACE_RATE_MAX + 1, START));
    assert_int_equal(500000000, nb_pace_allows(0, NB_PACE_RATE_MAX, START));
    assert_int_equal(START + 100 * 1000 * MS, nb_pace_take(0, NB_PACE_RATE_MAX, NB_PACE_RATE_MAX * 100, START));
    int64_t paid_ns = nb_pace_take(0, 1, 1, START); /* a byte a second */
    assert_int_equal(START + 1000 * MS, paid_ns);
    assert_int_equal(0, nb_pace_allows(paid_ns, 1, START + 999 * MS));
}

/* --- addresses --- */

static void connections_of_an_address_share_and_others_have_their_own(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_address_paces *paces;
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    uint64_t one = nb_address_pace_key("192.0.2.1"), other = nb_address_pace_key("192.0.2.2");
    assert_int_not_equal(one, other);
    assert_int_equal(50000, allows(paces, one, START));
    nb_address_pace_take(paces, one, 50000, START);
    assert_int_equal(0, allows(paces, one, START));
    assert_int_equal(50000, allows(paces, other, START));
    assert_int_equal(10000, allows(paces, one, START + 10 * MS));
    nb_address_paces_destroy(paces);
    assert_int_equal(live, nb_alloc_live());
}

static void an_ipv6_client_is_its_network_and_a_unix_socket_has_no_limit(void **state) {
    (void)state;
    nb_address_paces *paces;
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    assert_int_equal(nb_address_pace_key("2001:db8::1"), nb_address_pace_key("2001:db8::ffff:1"));
    assert_int_not_equal(nb_address_pace_key("2001:db8:0:1::1"), nb_address_pace_key("2001:db8:0:2::1"));
    assert_int_equal(0, nb_address_pace_key(""));
    assert_int_equal(UINT64_MAX, allows(paces, 0, START));
    nb_address_pace_take(paces, 0, 1 << 20, START);
    assert_int_equal(UINT64_MAX, allows(NULL, 1, START));
    assert_int_equal(77, nb_address_pace_reserve(paces, 0, 77, START));
    nb_address_paces_destroy(paces);
}

/* --- several loops --- */

enum { LOOPS = 3, STEPS = 20000 };

typedef struct loop {
    nb_address_paces *paces;
    _Atomic int64_t *clock_ns; /* of all loops */
    nb_test_random random;
    uint64_t sent;
} loop;

/* Reads the clock and acts on it later. Of what it reserves some is sent at once, some later, and
 * some never. */
static void *send_as_a_loop(void *argument) {
    loop *self = argument;
    uint64_t on_worker = 0;
    for (int i = 0; i < STEPS; i++) {
        int64_t now_ns = atomic_load(self->clock_ns);
        uint64_t wanted = nb_test_random_below(&self->random, 4) ? UINT64_MAX : 3000;
        uint64_t reserved = nb_address_pace_reserve(self->paces, 5, wanted, now_ns);
        uint64_t sent = reserved ? nb_test_random_below(&self->random, reserved + 1) : 0;
        self->sent += sent;
        nb_address_pace_give(self->paces, 5, on_worker, now_ns);
        on_worker = reserved - sent;
        if (nb_test_random_below(&self->random, 8) == 0) atomic_fetch_add(self->clock_ns, MS / 4);
    }
    nb_address_pace_give(self->paces, 5, on_worker, atomic_load(self->clock_ns));
    return NULL;
}

static void several_loops_together_send_what_one_might(void **state) {
    (void)state;
    _Atomic int64_t clock_ns = START;
    nb_address_paces *paces;
    loop loops[LOOPS];
    pthread_t threads[LOOPS];
    uint64_t sent = 0;
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    for (unsigned i = 0; i < LOOPS; i++) {
        loops[i] = (loop){paces, &clock_ns, {i + 1}, 0};
        threads[i] = nb_test_thread(send_as_a_loop, &loops[i]);
    }
    for (unsigned i = 0; i < LOOPS; i++) {
        nb_test_join(threads[i]);
        sent += loops[i].sent;
    }
    /* A byte for each microsecond. */
    uint64_t passed_us = (uint64_t)(atomic_load(&clock_ns) - START) / 1000;
    assert_in_range(sent, passed_us / 4, passed_us + 50000);
    nb_address_paces_destroy(paces);
}

static void more_addresses_than_buckets_are_all_paced(void **state) {
    (void)state;
    nb_address_paces *paces;
    char address[32];
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    for (unsigned i = 0; i < 20000; i++) {
        (void)snprintf(address, sizeof(address), "10.%u.%u.%u", i >> 14, i >> 7 & 127, i & 127);
        uint64_t key = nb_address_pace_key(address);
        nb_address_pace_take(paces, key, 50000, START);
        assert_int_equal(0, allows(paces, key, START));
    }
    assert_int_equal(50000, allows(paces, nb_address_pace_key("192.0.2.1"), START + 3600 * 1000 * MS));
    nb_address_paces_destroy(paces);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_of_bytes_may_go_at_once_and_then_as_many_as_time_passes),
        cmocka_unit_test(time_without_sending_is_not_saved_up),
        cmocka_unit_test(what_went_beyond_is_paid_for),
        cmocka_unit_test(what_was_taken_and_did_not_go_is_given_back),
        cmocka_unit_test(no_rate_is_no_limit_and_the_largest_do_not_overflow),
        cmocka_unit_test(connections_of_an_address_share_and_others_have_their_own),
        cmocka_unit_test(an_ipv6_client_is_its_network_and_a_unix_socket_has_no_limit),
        cmocka_unit_test(several_loops_together_send_what_one_might),
        cmocka_unit_test(more_addresses_than_buckets_are_all_paced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
