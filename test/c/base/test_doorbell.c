/*
 * test_doorbell.c - the doorbell with real threads, rings, wake descriptors and pollers. A lost
 * wake shows as a wait that lasts PATIENCE although a record is there. The proof is
 * test_doorbell_model.c; this one runs the real instructions.
 */
#include "support/test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/doorbell.h"
#include "base/ring.h"
#include "os/clock.h"
#include "poll/poll.h"
#include "poll/wake.h"

enum { CAPACITY = 4096 };

static const int64_t PATIENCE_NS = 60 * NB_NS_PER_S;

static void an_announced_sleeper_is_rung_for_exactly_once(void **state) {
    (void)state;
    nb_doorbell bell;
    nb_doorbell_init(&bell);
    assert_false(nb_doorbell_ring_needed(&bell));
    nb_doorbell_announce(&bell);
    assert_true(nb_doorbell_sleeping(&bell));
    assert_true(nb_doorbell_ring_needed(&bell));
    assert_false(nb_doorbell_sleeping(&bell));
    assert_false(nb_doorbell_ring_needed(&bell));
}

static void a_cancelled_sleep_needs_no_ring(void **state) {
    (void)state;
    nb_doorbell bell;
    nb_doorbell_init(&bell);
    nb_doorbell_announce(&bell);
    nb_doorbell_cancel(&bell);
    assert_false(nb_doorbell_ring_needed(&bell));
}

/* One direction: a ring, the bell of its reader, and what that reader sleeps on. */
typedef struct lane {
    void *memory;
    nb_ring_producer producer;
    nb_ring_consumer consumer;
    nb_doorbell bell;
    nb_wake wake;
    nb_poll *poll;
    unsigned sleeps, rings;
    bool lost;
} lane;

static void open_lane(lane *l) {
    *l = (lane){0};
    assert_int_equal(0, posix_memalign(&l->memory, 64, nb_ring_memory_bytes(CAPACITY)));
    assert_status(NB_OK, nb_ring_format(l->memory, CAPACITY));
    nb_ring_producer_attach(&l->producer, l->memory);
    nb_ring_consumer_attach(&l->consumer, l->memory);
    nb_doorbell_init(&l->bell);
    assert_status(NB_OK, nb_wake_init(&l->wake));
    assert_status(NB_OK, nb_poll_create(NULL, &l->poll));
    assert_status(NB_OK, nb_poll_add(l->poll, l->wake.read_fd, NB_POLL_READ, 1));
}

static void close_lane(lane *l) {
    nb_poll_destroy(l->poll);
    nb_wake_deinit(&l->wake);
    free(l->memory);
}

static void send_number(lane *l, uint64_t number) {
    void *record;
    while ((record = nb_ring_reserve(&l->producer, sizeof number)) == NULL)
        sched_yield();
    *(uint64_t *)record = number;
    nb_ring_commit(&l->producer, sizeof number);
    nb_ring_publish(&l->producer);
    if (!nb_doorbell_ring_needed(&l->bell)) return;
    l->rings++;
    nb_wake_signal(&l->wake);
}

/* False when the patience ended although a record was there. */
static bool sleep_until_rung(lane *l) {
    nb_poll_event event;
    size_t count = 0;
    nb_doorbell_announce(&l->bell);
    if (nb_ring_readable(&l->consumer)) {
        nb_doorbell_cancel(&l->bell);
        return true;
    }
    l->sleeps++;
    int64_t before = nb_clock_monotonic_ns();
    if (nb_poll_wait(l->poll, &event, 1, PATIENCE_NS, &count) != NB_OK) return false;
    nb_doorbell_cancel(&l->bell);
    nb_wake_clear(&l->wake);
    return count == 1 ||
           /* A process that is stopped and goes on (signal(7)). */
           nb_clock_monotonic_ns() - before < PATIENCE_NS;
}

static uint64_t receive_number(lane *l) {
    size_t bytes;
    const void *record;
    while ((record = nb_ring_peek(&l->consumer, &bytes)) == NULL) {
        if (sleep_until_rung(l)) continue;
        l->lost = true;
        return UINT64_MAX;
    }
    uint64_t number = *(const uint64_t *)record;
    nb_ring_advance(&l->consumer);
    nb_ring_release(&l->consumer);
    return number;
}

enum { STREAM = 200000, ROUND_TRIPS = 20000 };

static void *send_stream(void *pointer) {
    for (uint64_t i = 0; i < STREAM; i++)
        send_number(pointer, i);
    return NULL;
}

static void a_stream_arrives_without_a_lost_wake(void **state) {
    (void)state;
    lane l;
    open_lane(&l);
    pthread_t sender = nb_test_thread(send_stream, &l);
    for (uint64_t i = 0; i < STREAM; i++)
        assert_int_equal(i, receive_number(&l));
    nb_test_join(sender);
    assert_false(l.lost);
    print_message("    %u records, %u sleeps, %u rings\n", (unsigned)STREAM, l.sleeps, l.rings);
    close_lane(&l);
}

typedef struct table {
    lane there, back;
} table;

static void *answer(void *pointer) {
    table *t = pointer;
    for (uint64_t i = 0; i < ROUND_TRIPS && !t->there.lost; i++)
        send_number(&t->back, receive_number(&t->there) + 1);
    return NULL;
}

/* Both sides sleep in nearly every round, at all kinds of moments. */
static void questions_and_answers_pass_without_a_lost_wake(void **state) {
    (void)state;
    static table t;
    open_lane(&t.there);
    open_lane(&t.back);
    pthread_t other = nb_test_thread(answer, &t);
    for (uint64_t i = 0; i < ROUND_TRIPS; i++) {
        send_number(&t.there, i);
        assert_int_equal(i + 1, receive_number(&t.back));
    }
    nb_test_join(other);
    assert_false(t.there.lost || t.back.lost);
    assert_true(t.there.sleeps + t.back.sleeps > 0);
    assert_true(t.there.rings <= t.there.sleeps + ROUND_TRIPS);
    print_message("    %u round trips, %u sleeps, %u rings\n", (unsigned)ROUND_TRIPS, t.there.sleeps + t.back.sleeps,
                  t.there.rings + t.back.rings);
    close_lane(&t.there);
    close_lane(&t.back);
}

int main(void) {
    nb_test_alarm(170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_announced_sleeper_is_rung_for_exactly_once),
        cmocka_unit_test(a_cancelled_sleep_needs_no_ring),
        cmocka_unit_test(a_stream_arrives_without_a_lost_wake),
        cmocka_unit_test(questions_and_answers_pass_without_a_lost_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
