/*
 * dispatch.h - the dispatch of one loop with executors that a test plays: what they ask for,
 * whether they sleep, and which requests they begin with. The test sets the time as well.
 *
 * A case has the fixture `f`. Executors have numbers from 0. Exchanges are the table's, and what is
 * left of them is freed with it. What cannot be had fails the test. For one file of a program.
 */
#ifndef NB_TEST_DISPATCH_H
#define NB_TEST_DISPATCH_H

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dispatch/dispatch.h"
#include "os/clock.h"
#include "support/leaks.h"
#include "support/test.h"

enum {
    EXECUTORS_MAX = 3,
    QUICK = NB_NS_PER_MS / 2, /* an executor may run one fiber for so long, in nanoseconds */
    LONG = 2 * NB_NS_PER_MS   /* after that it counts as busy, and as unresponsive */
};

static struct {
    nb_dispatch dispatch;
    nb_exchanges exchanges;
    nb_wake wake;                  /* the loop's */
    nb_link *links[EXECUTORS_MAX]; /* the dispatch frees them, those of spares as well */
    nb_ring_consumer requests[EXECUTORS_MAX];
    nb_ring_producer responses[EXECUTORS_MAX];
    int64_t now_ns;
    nb_test_leaks before;
} f;

/* --- set up and tear down --- */

/* Links executor `i`. shared: by memory that two processes may share. */
static inline void link_executor(int i, bool shared) {
    const nb_wake *wake = &f.wake;
    assert_status(NB_OK, shared ? nb_link_create_shared(&wake, 1, &f.links[i]) : nb_link_create(&wake, 1, &f.links[i]));
    nb_channel *channel = &f.links[i]->channels[0];
    nb_ring_consumer_attach(&f.requests[i], nb_channel_requests(channel));
    nb_ring_producer_attach(&f.responses[i], nb_channel_responses(channel));
}

/* waiting_max: requests that may wait. The dispatch knows no executor yet. */
static inline void open_dispatch(uint32_t waiting_max) {
    memset(&f, 0, sizeof f);
    f.before = nb_test_leaks_begin();
    f.now_ns = NB_NS_PER_S;
    assert_status(NB_OK, nb_wake_init(&f.wake));
    nb_exchanges_init(&f.exchanges);
    nb_dispatch_init(&f.dispatch, &f.exchanges, waiting_max);
}

/* The same with so many executors, which have asked for nothing. */
static inline void open_dispatch_of(int executors, bool shared, uint32_t waiting_max) {
    open_dispatch(waiting_max);
    for (int i = 0; i < executors; i++) {
        link_executor(i, shared);
        assert_status(NB_OK, nb_dispatch_channel_add(&f.dispatch, &f.links[i]->channels[0]));
    }
}

/* For cases whose file has a cmocka setup of this name. SHARED_CASE: the same with shared
   memory. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, close_dispatch)
#define SHARED_CASE(name) \
    { #name " (shared)", name, setup, close_dispatch, &f }

/* For that setup: the case is a SHARED_CASE. */
static inline bool is_shared(void **state) { return *state != NULL; }

static inline int close_dispatch(void **state) {
    (void)state;
    nb_dispatch_deinit(&f.dispatch);
    nb_exchanges_deinit(&f.exchanges);
    nb_wake_deinit(&f.wake);
    return nb_test_leaks_end(&f.before);
}

/* --- an executor --- */

static inline nb_dispatch_channel *channel_of(int i) { return &f.dispatch.channels[i]; }
static inline nb_board *board_of(int i) { return f.links[i]->board; }
static inline nb_channel_memory *memory_of(int i) { return f.links[i]->channels[0].memory; }

/* It asks for so many requests more than it was handed. */
static inline void ask(int i, uint64_t wanted) { atomic_store(&board_of(i)->asked, f.links[i]->handed + wanted); }

static inline void sleeps(int i, bool asleep) { atomic_store(&board_of(i)->executor_bell.sleeping, asleep); }

/* It has run one and the same fiber since that time. */
static inline void switched(int i, int64_t ns) { atomic_store(&board_of(i)->pulse.switched_ns, ns); }

/* It is awake and runs another fiber from now on. */
static inline void busy(int i) {
    sleeps(i, false);
    switched(i, f.now_ns);
}

/* The next message that it finds; NULL: there is none. The message stays in the ring. */
static inline nb_message *pop(int i) {
    size_t bytes;
    const nb_message *found = nb_ring_peek(&f.requests[i], &bytes);
    if (found) nb_ring_advance(&f.requests[i]);
    return (nb_message *)(uintptr_t)found;
}

/* The same, after the loop has handed over what it could. */
static inline nb_message *next(int i) {
    nb_dispatch_pump(&f.dispatch);
    return pop(i);
}

/* It begins with this request. False: the loop has requeued that. */
static inline bool begin(nb_message *message) {
    nb_request_message *request = (nb_request_message *)(void *)message;
    if (!nb_request_claim(request, NB_CLAIM_TAKEN)) return false;
    nb_request_begin(request);
    return true;
}

/* The next message, without a look by the loop. The executor begins with each request. */
static inline nb_message *taken(int i) {
    nb_message *found = pop(i);
    if (found && found->type == NB_MESSAGE_REQUEST) assert_true(begin(found));
    return found;
}

/* It begins with this request next, and closes the file of its body. */
static inline void expect_request(int i, const nb_exchange *exchange) {
    nb_message *message = next(i);
    assert_non_null(message);
    assert_int_equal(NB_MESSAGE_REQUEST, message->type);
    assert_true(message->exchange == nb_exchange_id_of(exchange));
    assert_true(begin(message));
    int64_t fd = ((nb_request_message *)(void *)message)->body_fd;
    if (fd >= 0 && !nb_channel_is_shared(&f.links[i]->channels[0])) close((int)fd);
}

/* --- the loop --- */

/* It looks at the executors after so many nanoseconds. */
static inline void look_after(int64_t ns) {
    f.now_ns += ns;
    nb_dispatch_look(&f.dispatch, f.now_ns);
}

/* The executor that would get the next request; -1: none. */
static inline int chosen(void) {
    nb_dispatch_channel *channel = nb_dispatch_choose(&f.dispatch, 100, 0);
    return channel ? (int)(channel - f.dispatch.channels) : -1;
}

/* Whether it was rung since the last call. */
static inline bool signalled(const nb_wake *wake) {
    uint64_t value;
    return read(wake->read_fd, &value, sizeof value) == (ssize_t)sizeof value;
}

/* --- requests --- */

/* A new one, with a client that nobody looks into. */
static inline nb_exchange *exchange(void) {
    nb_exchange *made = nb_exchange_create(&f.exchanges);
    assert_non_null(made);
    made->connection = (nb_connection *)(void *)&f;
    return made;
}

/* A request of so many bytes in all, the caller's. fd: of its body, which goes with it; -1:
   none. */
static inline nb_request_message *message(size_t bytes, int fd) {
    nb_request_message *made = nb_alloc_zero(1, bytes);
    made->message.type = NB_MESSAGE_REQUEST;
    made->message.bytes = (uint32_t)bytes;
    made->body_fd = fd;
    return made;
}

static inline int null_file(void) { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

/* One that comes and goes to this executor; NB_CHANNEL_NONE: it waits. deadline_ns: 0: it has
   none. */
static inline nb_exchange *given(int to, size_t bytes, int fd, int64_t deadline_ns) {
    nb_exchange *made = exchange();
    nb_request_message *request = message(bytes, fd);
    request->deadline_ns = deadline_ns;
    assert_status(NB_OK, nb_dispatch_message(&f.dispatch, made, request));
    assert_int_equal(to, made->channel);
    return made;
}

static inline nb_exchange *simple(int to) { return given(to, sizeof(nb_request_message), -1, 0); }
static inline nb_exchange *with_file(int to) { return given(to, sizeof(nb_request_message), null_file(), 0); }
static inline nb_exchange *waiting(void) { return simple(NB_CHANNEL_NONE); }

#endif
