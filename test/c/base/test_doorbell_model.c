/*
 * test_doorbell_model.c - a model checker for the protocol of doorbell.h: walks every interleaving
 * of one or two producers and one consumer, with store buffers as x86 has them (TSO), and looks
 * for a consumer that sleeps for ever on a published record.
 *
 * Model: a store goes into its thread's FIFO buffer and reaches memory at any later moment; a load
 * sees the thread's own newest buffered store, else memory; a fence and an atomic exchange can
 * only run with the buffer empty. The wake descriptor is memory that does not wait for the buffer,
 * which is weaker than any kernel. A producer may also drop dead between rounds (it simply is not
 * scheduled), so every prefix is covered too.
 *
 * The test of the test: without either fence, without the second look, or with the look before the
 * announcement, the checker must find the lost wake. A state is packed into 64 bits.
 */
#include "support/test.h"

#include <string.h>

#include "support/walk.h"

enum { PRODUCERS_MAX = 2, THREADS_MAX = PRODUCERS_MAX + 1, CONSUMER = PRODUCERS_MAX, BUFFER_MAX = 3 };

/* Memory: `sleeping`, and one ring index a producer. */
enum { SLEEPING = 0, RING = 1, VARIABLES = RING + PRODUCERS_MAX };

/* The steps of a producer, a round for each record. */
enum {
    P_PUBLISH,  /* nb_ring_publish */
    P_FENCE,    /* nb_doorbell_ring_needed: the fence, */
    P_LOOK,     /* ... the load, */
    P_EXCHANGE, /* ... the exchange */
    P_SIGNAL,   /* nb_wake_signal */
};

/* The steps of the consumer. */
enum {
    C_ANNOUNCE, /* nb_doorbell_announce: the store, */
    C_FENCE,    /* ... the fence */
    C_LOOK,     /* the second look at every ring */
    C_SLEEP,    /* the poller, until the wake descriptor fires; nb_wake_clear */
    C_CANCEL,   /* nb_doorbell_cancel */
    C_CONSUME,  /* everything that is there, then around again */
    C_END,
};

typedef enum fault {
    NO_FAULT,
    NO_PRODUCER_FENCE,
    NO_CONSUMER_FENCE,
    NO_SECOND_LOOK,
    NO_EXCHANGE,  /* a store of 0 after the load instead */
    PUBLISH_LATE, /* rings before it publishes */
} fault;

typedef struct store {
    uint8_t variable, value;
} store;

typedef struct thread {
    uint8_t step, round;
    uint8_t buffered;
    store buffer[BUFFER_MAX];
} thread;

typedef struct machine {
    thread threads[THREADS_MAX];
    uint8_t memory[VARIABLES];
    uint8_t consumed[PRODUCERS_MAX];
    uint8_t signalled;
    uint8_t unanswered; /* the announcement in memory has not been taken by a waker */
} machine;

typedef struct checker {
    unsigned producers, rounds;
    fault fault;
    nb_test_walk walk;
    bool lost_wake, doubled_wake, finished;
} checker;

static bool has_room(const thread *t) { return t->buffered < BUFFER_MAX; }

static void put(thread *t, unsigned variable, unsigned value) {
    t->buffer[t->buffered++] = (store){(uint8_t)variable, (uint8_t)value};
}

static unsigned get(const machine *m, const thread *t, unsigned variable) {
    for (unsigned i = t->buffered; i-- > 0;) {
        if (t->buffer[i].variable == variable) return t->buffer[i].value;
    }
    return m->memory[variable];
}

static void flush_one(machine *m, thread *t) {
    if (t->buffer[0].variable == SLEEPING && t->buffer[0].value == 1) m->unanswered = 1;
    m->memory[t->buffer[0].variable] = t->buffer[0].value;
    memmove(t->buffer, t->buffer + 1, (BUFFER_MAX - 1) * sizeof t->buffer[0]);
    t->buffer[--t->buffered] = (store){0, 0};
}

static void next_round(const checker *c, thread *t) {
    t->round++;
    t->step = c->fault == PUBLISH_LATE ? P_FENCE : P_PUBLISH;
}

/* After the last thing a round does; with PUBLISH_LATE that is the publishing. */
static void end_ring(const checker *c, thread *t) {
    if (c->fault == PUBLISH_LATE) {
        t->step = P_PUBLISH;
    } else {
        next_round(c, t);
    }
}

static bool take_announcement(const checker *c, machine *m, thread *t, bool *doubled) {
    if (c->fault == NO_EXCHANGE ? !has_room(t) : t->buffered > 0) return false;
    t->step = P_SIGNAL;
    if (c->fault == NO_EXCHANGE) {
        put(t, SLEEPING, 0);
    } else if (m->memory[SLEEPING] == 0) {
        end_ring(c, t);
        return true;
    } else {
        m->memory[SLEEPING] = 0;
    }
    *doubled = m->unanswered == 0;
    m->unanswered = 0;
    return true;
}

/* One step of a producer: false when it cannot run now. */
static bool step_producer(const checker *c, machine *m, unsigned number, bool *doubled) {
    thread *t = &m->threads[number];
    if (t->round == c->rounds) return false;
    switch (t->step) {
    case P_PUBLISH:
        if (!has_room(t)) return false;
        put(t, RING + number, t->round + 1u);
        if (c->fault == PUBLISH_LATE) {
            next_round(c, t);
        } else {
            t->step = P_FENCE;
        }
        return true;
    case P_FENCE:
        if (c->fault != NO_PRODUCER_FENCE && t->buffered > 0) return false;
        t->step = P_LOOK;
        return true;
    case P_LOOK:
        t->step = P_EXCHANGE;
        if (get(m, t, SLEEPING) == 0) end_ring(c, t);
        return true;
    case P_EXCHANGE:
        return take_announcement(c, m, t, doubled);
    default:
        m->signalled = 1;
        end_ring(c, t);
        return true;
    }
}

static bool sees_record(const checker *c, const machine *m) {
    for (unsigned i = 0; i < c->producers; i++) {
        if (get(m, &m->threads[CONSUMER], RING + i) > m->consumed[i]) return true;
    }
    return false;
}

static bool consumed_all(const checker *c, const machine *m) {
    for (unsigned i = 0; i < c->producers; i++) {
        if (m->consumed[i] < c->rounds) return false;
    }
    return true;
}

static bool step_consumer(const checker *c, machine *m) {
    thread *t = &m->threads[CONSUMER];
    switch (t->step) {
    case C_ANNOUNCE:
        if (!has_room(t)) return false;
        put(t, SLEEPING, 1);
        t->step = C_FENCE;
        return true;
    case C_FENCE:
        if (c->fault != NO_CONSUMER_FENCE && t->buffered > 0) return false;
        t->step = c->fault == NO_SECOND_LOOK ? C_SLEEP : C_LOOK;
        return true;
    case C_LOOK:
        t->step = sees_record(c, m) ? C_CANCEL : C_SLEEP;
        return true;
    case C_SLEEP:
        if (!m->signalled) return false;
        m->signalled = 0;
        t->step = C_CANCEL;
        return true;
    case C_CANCEL:
        if (!has_room(t)) return false;
        put(t, SLEEPING, 0);
        t->step = C_CONSUME;
        return true;
    case C_CONSUME:
        for (unsigned i = 0; i < c->producers; i++)
            m->consumed[i] = (uint8_t)get(m, t, RING + i);
        t->step = consumed_all(c, m) ? C_END : C_ANNOUNCE;
        return true;
    default:
        return false;
    }
}

static uint64_t pack(const machine *m) {
    uint64_t key = 0;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        const thread *t = &m->threads[i];
        key = key << 3 | t->step;
        if (i < PRODUCERS_MAX) key = key << 3 | t->round;
        key = key << 2 | t->buffered;
        /* A producer buffers its own index (and with NO_EXCHANGE a zero), the consumer `sleeping`:
           the values suffice. */
        for (unsigned b = 0; b < BUFFER_MAX; b++)
            key = key << (i < PRODUCERS_MAX ? 3 : 1) | t->buffer[b].value;
    }
    for (unsigned i = 0; i < PRODUCERS_MAX; i++)
        key = key << 3 | m->memory[RING + i];
    for (unsigned i = 0; i < PRODUCERS_MAX; i++)
        key = key << 3 | m->consumed[i];
    return (key << 4 | (uint64_t)m->memory[SLEEPING] << 3 | (uint64_t)m->signalled << 2 | m->unanswered) +
           1; /* never 0 */
}

static void visit(checker *c, const machine *m) { nb_test_walk_visit(&c->walk, pack(m), m); }

/* No step is possible any more: either all is consumed, or the consumer sleeps for ever. */
static void judge(checker *c, const machine *m) {
    if (m->threads[CONSUMER].step == C_END) {
        c->finished = true;
    } else {
        c->lost_wake = true;
    }
}

static void expand(checker *c, const machine *m) {
    bool moved = false;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        machine next = *m;
        if (next.threads[i].buffered > 0) {
            flush_one(&next, &next.threads[i]);
            visit(c, &next);
            moved = true;
        }
        next = *m;
        bool doubled = false;
        bool ran = i == CONSUMER ? step_consumer(c, &next) : i < c->producers && step_producer(c, &next, i, &doubled);
        if (!ran) continue;
        if (doubled) c->doubled_wake = true;
        visit(c, &next);
        moved = true;
    }
    if (!moved) judge(c, m);
}

static checker check(unsigned producers, unsigned rounds, fault injected) {
    checker c = {.producers = producers, .rounds = rounds, .fault = injected, .walk.state_bytes = sizeof(machine)};
    machine first = {0};
    for (unsigned i = 0; i < PRODUCERS_MAX; i++)
        first.threads[i].step = injected == PUBLISH_LATE ? P_FENCE : P_PUBLISH;
    visit(&c, &first);
    for (machine m; nb_test_walk_next(&c.walk, &m);)
        expand(&c, &m);
    nb_test_walk_end(&c.walk);
    print_message("    %u producer(s), %u rounds: %zu states\n", producers, rounds, c.walk.seen_count);
    return c;
}

static void no_interleaving_loses_a_wake(void **state) {
    (void)state;
    static const unsigned sizes[][2] = {{1, 1}, {1, 2}, {1, 6}, {2, 1}, {2, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        checker c = check(sizes[i][0], sizes[i][1], NO_FAULT);
        assert_false(c.lost_wake);
        assert_true(c.finished);
        assert_true(c.walk.seen_count > 50);
    }
}

static void no_announcement_is_answered_by_two_wakes(void **state) {
    (void)state;
    assert_false(check(1, 4, NO_FAULT).doubled_wake);
    assert_false(check(2, 2, NO_FAULT).doubled_wake);
}

static void without_the_exchange_two_wakers_answer_one_announcement(void **state) {
    (void)state;
    assert_true(check(2, 1, NO_EXCHANGE).doubled_wake);
    assert_false(check(1, 3, NO_FAULT).doubled_wake);
}

static void without_the_producers_fence_a_wake_is_lost(void **state) {
    (void)state;
    assert_true(check(1, 1, NO_PRODUCER_FENCE).lost_wake);
    assert_true(check(2, 2, NO_PRODUCER_FENCE).lost_wake);
}

static void without_the_consumers_fence_a_wake_is_lost(void **state) {
    (void)state;
    assert_true(check(1, 1, NO_CONSUMER_FENCE).lost_wake);
    assert_true(check(2, 2, NO_CONSUMER_FENCE).lost_wake);
}

static void without_the_second_look_a_wake_is_lost(void **state) {
    (void)state;
    assert_true(check(1, 1, NO_SECOND_LOOK).lost_wake);
}

static void ringing_before_publishing_loses_a_wake(void **state) {
    (void)state;
    assert_true(check(1, 1, PUBLISH_LATE).lost_wake);
}

int main(void) {
    nb_test_alarm(170);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_interleaving_loses_a_wake),
        cmocka_unit_test(no_announcement_is_answered_by_two_wakes),
        cmocka_unit_test(without_the_exchange_two_wakers_answer_one_announcement),
        cmocka_unit_test(without_the_producers_fence_a_wake_is_lost),
        cmocka_unit_test(without_the_consumers_fence_a_wake_is_lost),
        cmocka_unit_test(without_the_second_look_a_wake_is_lost),
        cmocka_unit_test(ringing_before_publishing_loses_a_wake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
