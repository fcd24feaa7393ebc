/*
 * test_watchdog.c - the thread that looks: when observers are called, that it sleeps while none
 * wants it, and that no stir is lost.
 */
#include "support/test.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "poll/watchdog.h"
#include "poll/wake.h"

#define IDLE_NS (10 * NB_NS_PER_MS)

/* What it returns is set by the test; each call opens the gate by one. */
typedef struct watcher {
    nb_test_gate looked;
    _Atomic int64_t wants_ns; /* after now; NB_WATCHDOG_NEVER */
    _Atomic int64_t last_ns;
    _Atomic bool early; /* called before the last part of the wait it had asked for */
    int64_t early_ns;
} watcher;

static int64_t watch(void *owner, int64_t now_ns, int *fd) {
    (void)fd;
    watcher *w = owner;
    if (now_ns < w->early_ns - NB_WATCHDOG_TOGETHER_NS) w->early = true;
    int64_t wants_ns = w->wants_ns;
    w->early_ns = wants_ns == NB_WATCHDOG_NEVER ? 0 : now_ns + wants_ns - NB_WATCHDOG_EARLY(wants_ns);
    w->last_ns = now_ns;
    nb_test_gate_open(&w->looked);
    return wants_ns == NB_WATCHDOG_NEVER ? NB_WATCHDOG_NEVER : now_ns + wants_ns;
}

static nb_watchdog *started(void) {
    nb_watchdog *watchdog = NULL;
    assert_status(NB_OK, nb_watchdog_create("nb-test", &watchdog));
    return watchdog;
}

static void each_observer_is_called_again_when_it_wants_to_and_not_before(void **state) {
    (void)state;
    watcher often = {.looked = NB_TEST_GATE, .wants_ns = NB_NS_PER_MS};
    watcher seldom = {.looked = NB_TEST_GATE, .wants_ns = 3600 * NB_NS_PER_S};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &often, IDLE_NS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &seldom, IDLE_NS));
    nb_test_gate_wait(&often.looked, 20);
    nb_test_gate_wait(&seldom.looked, 1);
    nb_test_gate_wait(&often.looked, 40);
    assert_int_equal(1, nb_test_gate_count(&seldom.looked));
    assert_false(often.early);
    assert_int_equal(2, nb_watchdog_observers(watchdog));
    nb_watchdog_destroy(watchdog);
}

/* What wants to be called while the thread is awake for another is, and does not wake it: both
   always see the same round. */
static void an_observer_whose_time_is_near_does_not_wake_the_thread(void **state) {
    (void)state;
    watcher often = {.looked = NB_TEST_GATE, .wants_ns = 8 * NB_NS_PER_MS};
    watcher near = {.looked = NB_TEST_GATE, .wants_ns = 10 * NB_NS_PER_MS};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &often, IDLE_NS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &near, IDLE_NS));
    nb_test_gate_wait(&often.looked, 5);
    for (unsigned seen = 5; seen < 25; seen++) {
        nb_test_gate_wait(&near.looked, seen);
        nb_test_gate_wait(&often.looked, seen);
    }
    nb_watchdog_destroy(watchdog);
    assert_false(near.early);
    assert_int_equal(often.last_ns, near.last_ns);
    int apart = (int)nb_test_gate_count(&often.looked) - (int)nb_test_gate_count(&near.looked);
    assert_in_range(apart + 1, 0, 2);
}

static int64_t see_signals(void *owner, int64_t now_ns, int *fd) {
    watcher *w = owner;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    w->early = !sigismember(&blocked, SIGTERM);
    return watch(owner, now_ns, fd);
}

static void the_thread_blocks_signals(void **state) {
    (void)state;
    watcher w = {.looked = NB_TEST_GATE, .wants_ns = NB_WATCHDOG_NEVER};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, see_signals, &w, IDLE_NS));
    nb_test_gate_wait(&w.looked, 1);
    nb_watchdog_destroy(watchdog);
    assert_false(w.early);
}

static void a_removed_observer_is_not_called_any_more(void **state) {
    (void)state;
    watcher gone = {.looked = NB_TEST_GATE, .wants_ns = NB_NS_PER_MS};
    watcher stays = {.looked = NB_TEST_GATE, .wants_ns = NB_NS_PER_MS};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &gone, IDLE_NS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &stays, IDLE_NS));
    nb_test_gate_wait(&gone.looked, 3);
    nb_watchdog_remove(watchdog, watch, &gone);
    unsigned before = nb_test_gate_count(&gone.looked);
    nb_test_gate_wait(&stays.looked, nb_test_gate_count(&stays.looked) + 20);
    assert_int_equal(before, nb_test_gate_count(&gone.looked));
    nb_watchdog_remove(watchdog, watch, &gone);
    assert_int_equal(1, nb_watchdog_observers(watchdog));
    nb_watchdog_destroy(watchdog);
}

/* One that wants a look each millisecond keeps the thread from sleeping without a limit. */
static void who_wants_nothing_is_called_as_often_as_it_was_said(void **state) {
    (void)state;
    watcher often = {.looked = NB_TEST_GATE, .wants_ns = NB_NS_PER_MS};
    watcher idle = {.looked = NB_TEST_GATE, .wants_ns = NB_WATCHDOG_NEVER};
    watcher seldom = {.looked = NB_TEST_GATE, .wants_ns = NB_WATCHDOG_NEVER};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &often, IDLE_NS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &idle, 2 * NB_NS_PER_MS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &seldom, 3600 * NB_NS_PER_S));
    nb_test_gate_wait(&idle.looked, 20);
    nb_watchdog_destroy(watchdog);
    assert_int_equal(1, nb_test_gate_count(&seldom.looked));
    assert_true(nb_test_gate_count(&often.looked) >= 20);
}

static void await_sleep(nb_watchdog *watchdog) {
    while (!nb_watchdog_sleeps(watchdog))
        sched_yield();
}

static void while_nobody_wants_anything_it_sleeps_until_it_is_stirred(void **state) {
    (void)state;
    watcher w = {.looked = NB_TEST_GATE, .wants_ns = NB_WATCHDOG_NEVER};
    nb_watchdog *watchdog = started();
    int64_t began_ns = nb_clock_monotonic_ns();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &w, IDLE_NS));
    await_sleep(watchdog);
    assert_true(nb_clock_monotonic_ns() - began_ns >= NB_WATCHDOG_QUIET_NS);
    for (int i = 0; i < 3; i++) {
        int64_t stirred_ns = nb_clock_monotonic_ns();
        nb_watchdog_stir(watchdog, nb_watchdog_bell(watchdog));
        while (w.last_ns < stirred_ns)
            sched_yield();
        await_sleep(watchdog);
    }
    nb_watchdog_destroy(watchdog);
}

/* A round of the test's: the stirrer publishes it and stirs; the observer has to see it, be the
   thread asleep, falling asleep or awake. */
typedef struct rounds {
    _Atomic unsigned published, seen;
} rounds;

static int64_t see_round(void *owner, int64_t now_ns, int *fd) {
    (void)now_ns, (void)fd;
    rounds *r = owner;
    r->seen = r->published;
    return NB_WATCHDOG_NEVER;
}

static void no_stir_is_lost_around_falling_asleep(void **state) {
    (void)state;
    enum { ROUNDS = 12 };
    rounds r = {0};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, see_round, &r, IDLE_NS));
    nb_test_random random = {7};
    for (unsigned i = 1; i <= ROUNDS; i++) {
        int64_t until_ns = nb_clock_monotonic_ns() + NB_WATCHDOG_QUIET_NS - 500000 +
                           (int64_t)nb_test_random_below(&random, 1000000);
        while (nb_clock_monotonic_ns() < until_ns)
            sched_yield();
        r.published = i;
        nb_watchdog_stir(watchdog, nb_watchdog_bell(watchdog));
        while (r.seen != i)
            sched_yield();
    }
    nb_watchdog_destroy(watchdog);
}

typedef struct reader {
    nb_test_gate looked;
    nb_wake wake;
} reader;

/* Asks to be called in an hour, or when its descriptor is readable; empties it. */
static int64_t read_wake(void *owner, int64_t now_ns, int *fd) {
    reader *r = owner;
    nb_wake_clear(&r->wake);
    *fd = r->wake.read_fd;
    nb_test_gate_open(&r->looked);
    return now_ns + 3600 * NB_NS_PER_S;
}

static void an_observer_is_called_when_its_descriptor_is_readable(void **state) {
    (void)state;
    enum { READERS = 9 };
    reader readers[READERS];
    nb_watchdog *watchdog = started();
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.looked = NB_TEST_GATE};
        assert_status(NB_OK, nb_wake_init(&readers[i].wake));
        assert_status(NB_OK, nb_watchdog_add(watchdog, read_wake, &readers[i], IDLE_NS));
    }
    for (int i = 0; i < READERS; i++)
        nb_test_gate_wait(&readers[i].looked, 1);
    for (int round = 0; round < 20; round++) {
        reader *r = &readers[round % READERS];
        unsigned before = nb_test_gate_count(&r->looked);
        nb_wake_signal(&r->wake);
        nb_test_gate_wait(&r->looked, before + 1);
    }
    nb_watchdog_destroy(watchdog);
    for (int i = 0; i < READERS; i++)
        nb_wake_deinit(&readers[i].wake);
}

static void a_ring_has_all_look_at_once(void **state) {
    (void)state;
    watcher one = {.looked = NB_TEST_GATE, .wants_ns = 3600 * NB_NS_PER_S};
    watcher other = {.looked = NB_TEST_GATE, .wants_ns = 3600 * NB_NS_PER_S};
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &one, IDLE_NS));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &other, IDLE_NS));
    nb_test_gate_wait(&one.looked, 1);
    nb_test_gate_wait(&other.looked, 1);
    for (int i = 0; i < 20; i++) {
        unsigned before = nb_test_gate_count(&one.looked), other_before = nb_test_gate_count(&other.looked);
        nb_watchdog_ring(watchdog);
        nb_test_gate_wait(&one.looked, before + 1);
        nb_test_gate_wait(&other.looked, other_before + 1);
    }
    nb_watchdog_destroy(watchdog);
}

/* Beside one that wants to be called every millisecond: so the thread is awake, and waits again,
   all the time. */
static void observers_come_and_go_while_descriptors_are_watched(void **state) {
    (void)state;
    enum { READERS = 12 };
    watcher often = {.looked = NB_TEST_GATE, .wants_ns = NB_NS_PER_MS};
    reader readers[READERS];
    nb_watchdog *watchdog = started();
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &often, IDLE_NS));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < READERS; i++) {
            readers[i] = (reader){.looked = NB_TEST_GATE};
            assert_status(NB_OK, nb_wake_init(&readers[i].wake));
            assert_status(NB_OK, nb_watchdog_add(watchdog, read_wake, &readers[i], IDLE_NS));
        }
        for (int i = 0; i < READERS; i++) {
            reader *last = &readers[READERS - 1];
            if (i < READERS - 1) {
                unsigned before = nb_test_gate_count(&last->looked);
                nb_wake_signal(&last->wake);
                nb_test_gate_wait(&last->looked, before + 1);
            }
            nb_watchdog_remove(watchdog, read_wake, &readers[i]);
            nb_wake_deinit(&readers[i].wake); /* the thread may just wait for it */
        }
    }
    nb_test_gate_wait(&often.looked, nb_test_gate_count(&often.looked) + 2);
    nb_watchdog_destroy(watchdog);
}

/* Names a descriptor that is never readable. */
static int64_t watch_in_vain(void *owner, int64_t now_ns, int *fd) {
    reader *r = owner;
    *fd = r->wake.read_fd;
    nb_test_gate_open(&r->looked);
    return now_ns + 3600 * NB_NS_PER_S;
}

/* As an application does that closes all it finds. The watchdog's is the lowest that is free when
   it is made. */
static void all_look_from_time_to_time_where_somebody_has_closed_its_descriptor(void **state) {
    (void)state;
    reader r = {.looked = NB_TEST_GATE};
    assert_status(NB_OK, nb_wake_init(&r.wake));
    int fd = dup(r.wake.read_fd);
    close(fd);
    nb_watchdog *watchdog = started();
    assert_int_equal(0, close(fd));
    assert_status(NB_OK, nb_watchdog_add(watchdog, watch_in_vain, &r, IDLE_NS));
    nb_test_gate_wait(&r.looked, 10);
    nb_watchdog_ring(watchdog);
    nb_test_gate_wait(&r.looked, nb_test_gate_count(&r.looked) + 2);
    nb_watchdog_destroy(watchdog);
    assert_int_equal(-1, close(fd));
    nb_wake_deinit(&r.wake);
}

static void it_ends_from_its_deepest_sleep_and_with_no_observer_at_all(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_watchdog *watchdog = started();
    nb_watchdog_destroy(watchdog);
    watchdog = started();
    await_sleep(watchdog);
    nb_watchdog_destroy(watchdog);
    nb_watchdog_destroy(NULL);
    assert_int_equal(live, nb_alloc_live());
}

static void without_memory_nothing_is_added_and_nothing_starts(void **state) {
    (void)state;
    long live = nb_alloc_live();
    nb_watchdog *watchdog = NULL;
    for (unsigned long i = 1; i <= 2; i++) {
        nb_alloc_fail_at(i);
        assert_status(NB_NO_MEMORY, nb_watchdog_create("nb-test", &watchdog));
        assert_null(watchdog);
    }
    watchdog = started();
    watcher w = {.looked = NB_TEST_GATE, .wants_ns = NB_WATCHDOG_NEVER};
    unsigned added = 0;
    nb_status status = NB_OK;
    nb_alloc_fail_at(1);
    for (; status == NB_OK; added++)
        status = nb_watchdog_add(watchdog, watch, &w, IDLE_NS);
    assert_status(NB_NO_MEMORY, status);
    assert_int_equal(added - 1, nb_watchdog_observers(watchdog));
    for (; added <= 20; added++)
        assert_status(NB_OK, nb_watchdog_add(watchdog, watch, &w, IDLE_NS));
    assert_int_equal(20, nb_watchdog_observers(watchdog));
    nb_watchdog_destroy(watchdog);
    assert_int_equal(live, nb_alloc_live());
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_observer_is_called_again_when_it_wants_to_and_not_before),
        cmocka_unit_test(an_observer_whose_time_is_near_does_not_wake_the_thread),
        cmocka_unit_test(the_thread_blocks_signals),
        cmocka_unit_test(a_removed_observer_is_not_called_any_more),
        cmocka_unit_test(who_wants_nothing_is_called_as_often_as_it_was_said),
        cmocka_unit_test(while_nobody_wants_anything_it_sleeps_until_it_is_stirred),
        cmocka_unit_test(no_stir_is_lost_around_falling_asleep),
        cmocka_unit_test(an_observer_is_called_when_its_descriptor_is_readable),
        cmocka_unit_test(a_ring_has_all_look_at_once),
        cmocka_unit_test(observers_come_and_go_while_descriptors_are_watched),
        cmocka_unit_test(all_look_from_time_to_time_where_somebody_has_closed_its_descriptor),
        cmocka_unit_test(it_ends_from_its_deepest_sleep_and_with_no_observer_at_all),
        cmocka_unit_test(without_memory_nothing_is_added_and_nothing_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
