/*
 * poll_contract_many.c - the part of the contract of poll/poll.h that is about many descriptors,
 * and random use of a poller against a model.
 */
#include "support/poll_contract_case.h"

#include <string.h>
#include <sys/resource.h>

enum { MANY = 300 };

static void allow_many_descriptors(void) {
    struct rlimit limit;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_cur >= 2 * MANY + 100) return;
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
}

void of_many_descriptors_exactly_the_ready_are_told(void **state) {
    world *w = *state;
    int near[MANY], far[MANY];
    unsigned told[MANY] = {0};
    allow_many_descriptors();
    for (int i = 0; i < MANY; i++) {
        new_pair(&near[i], &far[i]);
        add(w, near[i], R | NB_POLL_ONESHOT, (uint64_t)i);
    }
    for (int i = 0; i < MANY; i += 2)
        feed(far[i]);
    while (wait_for(w, 0) > 0) {
        for (size_t e = 0; e < w->count; e++)
            told[w->events[e].cookie]++;
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(i % 2 == 0, told[i]);
    for (int i = 0; i < MANY; i++) {
        assert_status(NB_OK, nb_poll_remove(w->poll, near[i]));
        close(near[i]);
        close(far[i]);
    }
}

void with_more_ready_than_asked_for_each_gets_its_turn(void **state) {
    world *w = *state;
    int near[10], far[10];
    unsigned told[10] = {0};
    for (int i = 0; i < 10; i++) {
        new_pair(&near[i], &far[i]);
        feed(far[i]);
        add(w, near[i], R, (uint64_t)i);
    }
    for (int turn = 0; turn < 20; turn++) {
        assert_status(NB_OK, nb_poll_wait(w->poll, w->events, 3, PATIENCE_NS, &w->count));
        assert_int_equal(3, w->count);
        for (size_t e = 0; e < w->count; e++)
            told[w->events[e].cookie]++;
    }
    for (int i = 0; i < 10; i++) {
        assert_true(told[i] > 0);
        nb_poll_remove(w->poll, near[i]);
        close(near[i]);
        close(far[i]);
    }
}

/* --- a model --- */

enum { SLOTS = 24, STEPS = 3000 };

typedef struct slot {
    int near, far;
    bool in, readable;
    uint32_t interest;
    uint64_t cookie;
} slot;

static void random_step(world *w, slot *s, nb_test_random *random, uint64_t cookie) {
    uint32_t interest = (uint32_t)nb_test_random_below(random, 4);
    switch (nb_test_random_below(random, 5)) {
    case 0:
        assert_status(s->in ? NB_EXISTS : NB_OK, nb_poll_add(w->poll, s->near, interest, cookie));
        if (s->in) break;
        s->in = true;
        s->interest = interest;
        s->cookie = cookie;
        break;
    case 1:
        assert_status(s->in ? NB_OK : NB_NOT_FOUND, nb_poll_change(w->poll, s->near, interest, cookie));
        s->interest = interest;
        s->cookie = cookie;
        break;
    case 2:
        assert_status(s->in ? NB_OK : NB_NOT_FOUND, nb_poll_remove(w->poll, s->near));
        s->in = false;
        break;
    case 3:
        feed(s->far);
        s->readable = true;
        break;
    default:
        drain(s->near);
        s->readable = false;
    }
}

static void compare(world *w, const slot *slots) {
    size_t expected = 0;
    wait_for(w, 0);
    for (int i = 0; i < SLOTS; i++) {
        const slot *s = &slots[i];
        uint32_t ready = s->in ? s->interest & (uint32_t)(W | (s->readable ? R : 0)) : 0;
        if (ready == 0) continue;
        expected++;
        size_t e = 0;
        while (e < w->count && w->events[e].cookie != s->cookie)
            e++;
        assert_true(e < w->count);
        assert_int_equal(ready, w->events[e].events);
    }
    assert_int_equal(expected, w->count);
}

void random_use_agrees_with_a_model(void **state) {
    world *w = *state;
    slot slots[SLOTS];
    nb_test_random random = {42};
    memset(slots, 0, sizeof slots);
    for (int i = 0; i < SLOTS; i++)
        new_pair(&slots[i].near, &slots[i].far);
    for (uint64_t step = 1; step <= STEPS; step++) {
        random_step(w, &slots[nb_test_random_below(&random, SLOTS)], &random, step);
        compare(w, slots);
    }
    for (int i = 0; i < SLOTS; i++) {
        nb_poll_remove(w->poll, slots[i].near);
        close(slots[i].near);
        close(slots[i].far);
    }
}
