/*
 * test_lease.c - the lease between host and guest: one holder at a time, takeover from a busy
 * guest, the host's deep standby and its end. Includes lease.c to see its state and to count
 * looks.
 */
#include "loop/lease.c"

#include <sched.h>

#include "support/test.h"

static nb_lease lease;

static int setup(void **state) {
    (void)state;
    nb_test_alarm(60);
    return nb_lease_init(&lease) == NB_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    nb_lease_deinit(&lease);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void *stand_by(void *argument) {
    (void)argument;
    nb_lease_host_standby(&lease);
    return NULL;
}

static uint32_t holder(void) { return atomic_load(&lease.holder); }

static void without_a_guest_the_host_takes_it_at_once(void **state) {
    (void)state;
    nb_lease_host_standby(&lease);
    assert_int_equal(NB_LEASE_HOST, holder());
    assert_false(nb_lease_take_as_guest(&lease));
}

static void a_guest_refused_is_known_to_want_it(void **state) {
    (void)state;
    nb_lease_host_standby(&lease);
    atomic_store(&lease.guest_allowed, true);
    assert_false(nb_lease_take_as_guest(&lease));
    assert_true(atomic_load(&lease.guest_wants));
    nb_lease_host_give_back(&lease, nb_clock_monotonic_ns());
    assert_true(nb_lease_take_as_guest(&lease));
    assert_true(atomic_load(&lease.host_ran));
    assert_int_equal(1, atomic_load(&lease.guest_turns));
}

static void the_host_takes_over_what_was_given_back_a_millisecond_ago(void **state) {
    (void)state;
    atomic_store(&lease.guest_allowed, true);
    assert_true(nb_lease_take_as_guest(&lease));
    pthread_t host = nb_test_thread(stand_by, NULL);
    int64_t back = nb_clock_monotonic_ns();
    nb_lease_give_back(&lease, back);
    nb_test_join(host);
    assert_int_equal(NB_LEASE_HOST, holder());
    assert_true(nb_clock_monotonic_ns() - back >= LOOK_NS);
    assert_false(atomic_load(&lease.guest_wants));
}

static void a_guest_that_sits_still_puts_the_host_to_sleep_until_it_leaves(void **state) {
    (void)state;
    atomic_store(&lease.guest_allowed, true);
    for (int round = 0; round < 3; round++) {
        assert_true(nb_lease_take_as_guest(&lease));
        pthread_t host = nb_test_thread(stand_by, NULL);
        while (!nb_doorbell_sleeping(&lease.standby))
            sched_yield();
        nb_lease_give_back(&lease, nb_clock_monotonic_ns());
        nb_test_join(host);
        assert_int_equal(NB_LEASE_HOST, holder());
        assert_false(nb_doorbell_sleeping(&lease.standby));
        nb_lease_host_give_back(&lease, nb_clock_monotonic_ns());
    }
}

static void the_end_of_the_guest_wakes_a_host_in_deep_standby(void **state) {
    (void)state;
    atomic_store(&lease.guest_allowed, true);
    assert_true(nb_lease_take_as_guest(&lease));
    pthread_t host = nb_test_thread(stand_by, NULL);
    while (!nb_doorbell_sleeping(&lease.standby))
        sched_yield();
    nb_lease_give_back(&lease, nb_clock_monotonic_ns());
    nb_lease_end_guest(&lease);
    nb_test_join(host);
    assert_int_equal(NB_LEASE_HOST, holder());
}

/* --- a storm: what the lease guards is a plain number, so TSan sees a hand-over that does not
   order --- */

static unsigned guarded;
static _Atomic unsigned host_turns;

static void *be_host(void *argument) {
    (void)argument;
    while (atomic_load(&lease.guest_allowed)) {
        nb_lease_host_standby(&lease);
        guarded++;
        atomic_fetch_add(&host_turns, 1);
        nb_lease_host_give_back(&lease, nb_clock_monotonic_ns());
    }
    return NULL;
}

static void handing_over_orders_what_the_lease_guards(void **state) {
    (void)state;
    unsigned taken = 0;
    int64_t end_ns = nb_clock_monotonic_ns() + 1500 * NB_NS_PER_MS;
    guarded = 0;
    atomic_store(&host_turns, 0);
    atomic_store(&lease.guest_allowed, true);
    pthread_t host = nb_test_thread(be_host, NULL);
    nb_test_random random = {7};
    while (nb_clock_monotonic_ns() < end_ns || taken == 0 || atomic_load(&host_turns) == 0) {
        if (nb_lease_take_as_guest(&lease)) {
            guarded++;
            taken++;
            int64_t now = nb_clock_monotonic_ns(),
                    until = now + (int64_t)nb_test_random_below(&random, 20) / 19 * 15 * NB_NS_PER_MS;
            while (nb_clock_monotonic_ns() < until) /* now and then it sits for long */
                sched_yield();
            nb_lease_give_back(&lease, nb_clock_monotonic_ns());
        }
        int64_t until = nb_clock_monotonic_ns() + (int64_t)nb_test_random_below(&random, 10) / 9 * 2 * NB_NS_PER_MS;
        while (nb_clock_monotonic_ns() < until) /* now and then it is busy for long */
            sched_yield();
    }
    nb_lease_end_guest(&lease);
    nb_test_join(host);
    assert_true(taken > 0 && atomic_load(&host_turns) > 0);
    assert_int_equal(taken + atomic_load(&host_turns), guarded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(without_a_guest_the_host_takes_it_at_once),
        CASE(a_guest_refused_is_known_to_want_it),
        CASE(the_host_takes_over_what_was_given_back_a_millisecond_ago),
        CASE(a_guest_that_sits_still_puts_the_host_to_sleep_until_it_leaves),
        CASE(the_end_of_the_guest_wakes_a_host_in_deep_standby),
        CASE(handing_over_orders_what_the_lease_guards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
