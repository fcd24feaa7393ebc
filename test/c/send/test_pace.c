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

static uint64_t allowed(int64_t paid_ns, uint64_t rate, int64_t now_ns) {
    return nb_pace_allows(paid_ns, rate, UINT64_MAX, now_ns);
}

static void a_burst_may_go_at_once_and_then_as_many_bytes_as_time_passes(void **state) {
    (void)state;
    int64_t paid_ns = 0, now_ns = START;
    uint64_t sent = 0;
    for (; now_ns <= START + 2000 * MS; now_ns += 7 * MS) {
        uint64_t bytes = allowed(paid_ns, RATE, now_ns);
        paid_ns = nb_pace_take(paid_ns, RATE, bytes, now_ns);
        sent += bytes;
        assert_in_range(sent, 0, 50000 + (uint64_t)(now_ns - START) / 1000);
        assert_int_equal(0, allowed(paid_ns, RATE, now_ns));
    }
    assert_in_range(sent, 2030000, 2050000);
}

static void time_without_sending_is_not_saved_up(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_take(0, RATE, 50000, START);
    assert_int_equal(0, allowed(paid_ns, RATE, START));
    assert_int_equal(25000, allowed(paid_ns, RATE, START + 25 * MS));
    assert_int_equal(50000, allowed(paid_ns, RATE, START + 3600 * 1000 * MS));
}

static void few_bytes_wait_for_more_unless_they_are_the_last(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_take(0, RATE, 50000, START);
    assert_int_equal(0, allowed(paid_ns, RATE, START + 12 * MS));
    assert_int_equal(13000, allowed(paid_ns, RATE, START + 13 * MS));
    assert_int_equal(12000, nb_pace_allows(paid_ns, RATE, 12000, START + 12 * MS));
    assert_int_equal(0, nb_pace_allows(paid_ns, RATE, 12001, START + 12 * MS));
    assert_int_equal(1, nb_pace_allows(paid_ns, RATE, 1, START + MS / 1000));
    assert_int_equal(0, nb_pace_allows(paid_ns, RATE, 1, START));
}

static void what_went_beyond_is_paid_for(void **state) {
    (void)state;
    int64_t paid_ns = nb_pace_take(0, RATE, 150000, START);
    assert_int_equal(0, allowed(paid_ns, RATE, START + 100 * MS));
    assert_int_equal(0, allowed(paid_ns, RATE, START + 112 * MS));
    assert_int_equal(13000, allowed(paid_ns, RATE, START + 113 * MS));
}

/* --- downloads --- */

typedef struct download {
    uint64_t bytes;
    unsigned sends, waits;
    int64_t ns;
} download;

/* A loop that sends what is allowed, turn after turn, and waits where nothing is. At the address's
   rate as well, unless `paces` is NULL. turn_bytes: the most that a turn sends. late_ns: the most
   that a wait may take too long. */
static download sent_by_a_loop(uint64_t bytes, uint64_t rate, nb_address_paces *paces, uint64_t turn_bytes,
                               int64_t late_ns) {
    download done = {.bytes = bytes};
    nb_test_random random = {7};
    int64_t paid_ns = 0, now_ns = START;
    for (uint64_t left = bytes; left > 0;) {
        uint64_t most = nb_pace_allows(paid_ns, rate, left, now_ns);
        if (most > left) most = left;
        if (most > 0) most = nb_address_pace_reserve(paces, 5, most, now_ns);
        paid_ns = nb_pace_take(paid_ns, rate, most, now_ns);
        if (most == 0) {
            done.waits++;
            now_ns += NB_PACE_TICK_NS + (int64_t)nb_test_random_below(&random, (uint64_t)late_ns + 1);
            continue;
        }
        uint64_t sent = most < turn_bytes ? most : turn_bytes;
        paid_ns = nb_pace_give(paid_ns, rate, most - sent);
        nb_address_pace_give(paces, 5, most - sent, now_ns);
        left -= sent;
        done.sends++;
        now_ns += MS / 40; /* the next turn */
    }
    done.ns = now_ns - START;
    return done;
}

/* Within a hundredth, but for the burst at the beginning and the wait for the last bytes. */
static void expect_rate(download done, uint64_t rate, int64_t late_ns) {
    uint64_t lowest_ns = done.bytes * 1000 / rate * 1000000, slack_ns = (uint64_t)(NB_PACE_TICK_NS + late_ns + MS);
    assert_in_range(done.ns, lowest_ns - lowest_ns / 100 - (uint64_t)NB_PACE_BURST_NS - (uint64_t)MS,
                    lowest_ns + lowest_ns / 100 + slack_ns);
}

static void every_rate_is_kept_in_few_steps(void **state) {
    (void)state;
    static const uint64_t rates[] = {25, 39, 79, 80, 1000, 1000000, 12345678, 1000000000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        for (int64_t late_ns = 0; late_ns <= 10 * MS; late_ns += 5 * MS) {
            download done = sent_by_a_loop(20 * rates[i], rates[i], NULL, UINT64_MAX, late_ns);
            expect_rate(done, rates[i], late_ns);
            assert_in_range(done.waits, 1, 20000 / 25 + 4);
            assert_in_range(done.sends, 1, 20000 / 12 + 4);
        }
    }
}

/* 8 GB/s of turns, and a rate of 1 GB/s: a burst takes many turns. */
static void a_rate_of_many_turns_is_kept_and_one_that_is_not_reached_slows_nobody(void **state) {
    (void)state;
    download done = sent_by_a_loop(UINT64_C(4000000000), 1000000000, NULL, 200000, 5 * MS);
    expect_rate(done, 1000000000, 5 * MS);
    assert_in_range(done.waits, 1, 4000 / 25 + 4);
    done = sent_by_a_loop(UINT64_C(4000000000), NB_PACE_RATE_MAX, NULL, 200000, 5 * MS);
    assert_int_equal(0, done.waits);
    assert_int_equal(20000, done.sends);
}

static void rates_below_a_byte_a_burst_are_kept_too(void **state) {
    (void)state;
    for (uint64_t rate = 1; rate < 25; rate++) {
        download done = sent_by_a_loop(20 * rate, rate, NULL, UINT64_MAX, 5 * MS);
        assert_int_equal(20 * rate, done.sends);
        /* One byte costs no time: the last. */
        expect_rate((download){20 * rate - 1, 0, 0, done.ns}, rate, 5 * MS);
    }
}

static void of_a_download_and_its_address_the_lower_rate_is_kept(void **state) {
    (void)state;
    static const struct {
        uint64_t own, address;
    } rates[] = {{0, 1000000}, {1000000, 300000}, {300000, 1000000}, {1000000, 1000000}, {1000000, 999000}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        nb_address_paces *paces;
        assert_status(NB_OK, nb_address_paces_create(rates[i].address, &paces));
        uint64_t own = rates[i].own, lower = own && own < rates[i].address ? own : rates[i].address;
        download done = sent_by_a_loop(20 * lower, own, paces, UINT64_MAX, 5 * MS);
        expect_rate(done, lower, 5 * MS);
        assert_in_range(done.waits, 1, 20000 / 25 + 4);
        assert_in_range(done.sends, 1, 20000 / 12 + 4);
        nb_address_paces_destroy(paces);
    }
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
    assert_int_equal(20000, allowed(paid_ns, RATE, START));
    nb_address_paces *paces;
    assert_status(NB_OK, nb_address_paces_create(RATE, &paces));
    nb_address_pace_take(paces, 5, 50000, START);
    nb_address_pace_give(paces, 5, 10000, START);
    assert_int_equal(0, allows(paces, 5, START));
    assert_int_equal(15000, allows(paces, 5, START + 5 * MS));
    nb_address_paces_destroy(paces);
}

static void no_rate_is_no_limit_and_the_largest_do_not_overflow(void **state) {
    (void)state;
    assert_int_equal(UINT64_MAX, allowed(0, 0, START));
    assert_int_equal(7, nb_pace_take(7, 0, 100, START));
    assert_int_equal(UINT64_MAX, allowed(0, NB_PACE_RATE_MAX + 1, START));
    assert_int_equal(500000000, allowed(0, NB_PACE_RATE_MAX, START));
    assert_int_equal(START + 100 * 1000 * MS, nb_pace_take(0, NB_PACE_RATE_MAX, NB_PACE_RATE_MAX * 100, START));
    int64_t paid_ns = nb_pace_take(0, 1, 1, START); /* a byte a second */
    assert_int_equal(START + 1000 * MS, paid_ns);
    assert_int_equal(0, allowed(paid_ns, 1, START + 962 * MS));
    assert_int_equal(1, allowed(paid_ns, 1, START + 963 * MS));
    assert_int_equal(1, allowed(0, 1, START));
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
    assert_int_equal(20000, allows(paces, one, START + 20 * MS));
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
    assert_int_not_equal(0, nb_address_pace_key("fe80::1%3"));
    assert_int_equal(nb_address_pace_key("fe80::1"), nb_address_pace_key("fe80::1%3"));
    assert_int_not_equal(nb_address_pace_key("fe80::1%3"), nb_address_pace_key("fe80::2%3"));
    assert_int_not_equal(nb_address_pace_key("192.0.2.1"), nb_address_pace_key("192.0.2.1%3"));
    assert_int_equal(0, nb_address_pace_key("%3"));
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
        cmocka_unit_test(a_burst_may_go_at_once_and_then_as_many_bytes_as_time_passes),
        cmocka_unit_test(time_without_sending_is_not_saved_up),
        cmocka_unit_test(few_bytes_wait_for_more_unless_they_are_the_last),
        cmocka_unit_test(what_went_beyond_is_paid_for),
        cmocka_unit_test(every_rate_is_kept_in_few_steps),
        cmocka_unit_test(a_rate_of_many_turns_is_kept_and_one_that_is_not_reached_slows_nobody),
        cmocka_unit_test(rates_below_a_byte_a_burst_are_kept_too),
        cmocka_unit_test(of_a_download_and_its_address_the_lower_rate_is_kept),
        cmocka_unit_test(what_was_taken_and_did_not_go_is_given_back),
        cmocka_unit_test(no_rate_is_no_limit_and_the_largest_do_not_overflow),
        cmocka_unit_test(connections_of_an_address_share_and_others_have_their_own),
        cmocka_unit_test(an_ipv6_client_is_its_network_and_a_unix_socket_has_no_limit),
        cmocka_unit_test(several_loops_together_send_what_one_might),
        cmocka_unit_test(more_addresses_than_buckets_are_all_paced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
