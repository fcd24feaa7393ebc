/*
 * poll_contract_case.h - the fixture of a case of poll_contract.h, for the files of that suite
 * only: a poller, and a pair of connected sockets to watch.
 */
#ifndef NB_TEST_POLL_CONTRACT_CASE_H
#define NB_TEST_POLL_CONTRACT_CASE_H

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "poll/poll.h"
#include "support/test.h"

enum { MAX = 64, R = NB_POLL_READ, W = NB_POLL_WRITE, ENDS = NB_POLL_HANGUP | NB_POLL_ERROR };

/* Long enough for any event that is due, and an end when it is not. */
static const int64_t PATIENCE_NS = 60 * NB_NS_PER_S;

typedef struct world {
    nb_poll *poll;
    int near, far; /* a pair of connected sockets; `near` is what gets polled */
    nb_poll_event events[MAX];
    size_t count; /* of the events of the last wait */
    long live;    /* blocks before the case */
} world;

/* Two sockets that do not block; the caller closes them. */
static inline void new_pair(int *near, int *far) {
    int ends[2];
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (int i = 0; i < 2; i++)
        assert_int_equal(0, fcntl(ends[i], F_SETFL, O_NONBLOCK));
    *near = ends[0];
    *far = ends[1];
}

static inline void add(world *w, int fd, uint32_t interest, uint64_t cookie) {
    assert_status(NB_OK, nb_poll_add(w->poll, fd, interest, cookie));
}

static inline void change(world *w, int fd, uint32_t interest, uint64_t cookie) {
    assert_status(NB_OK, nb_poll_change(w->poll, fd, interest, cookie));
}

/* Returns how many events there are, as w->count. */
static inline size_t wait_for(world *w, int64_t timeout_ns) {
    w->count = 99;
    assert_status(NB_OK, nb_poll_wait(w->poll, w->events, MAX, timeout_ns, &w->count));
    return w->count;
}

static inline void expect_nothing(world *w) { assert_int_equal(0, wait_for(w, 0)); }

/* One event, of this cookie. Returns what it tells. */
static inline uint32_t expect_one(world *w, uint64_t cookie) {
    assert_int_equal(1, wait_for(w, PATIENCE_NS));
    assert_int_equal(cookie, w->events[0].cookie);
    return w->events[0].events;
}

static inline void feed(int fd) { assert_int_equal(1, write(fd, "x", 1)); }

static inline void drain(int fd) {
    char bytes[256];
    while (read(fd, bytes, sizeof bytes) > 0) {
    }
}

/* --- poll_contract_many.c --- */

void of_many_descriptors_exactly_the_ready_are_told(void **state);
void with_more_ready_than_asked_for_each_gets_its_turn(void **state);
void random_use_agrees_with_a_model(void **state);

#endif
