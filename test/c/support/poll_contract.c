/*
 * poll_contract.c - the contract of poll/poll.h as one suite for every backend. Its cases with many
 * descriptors are in poll_contract_many.c.
 */
#include "support/poll_contract.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "poll/wake.h"
#include "support/poll_contract_case.h"

static const char *backend;

static bool is(const char *name) { return strcmp(backend, name) == 0; }

static int setup(void **state) {
    static world w;
    memset(&w, 0, sizeof w);
    w.live = nb_alloc_live();
    if (nb_poll_create(backend, &w.poll) != NB_OK) return -1;
    new_pair(&w.near, &w.far);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    world *w = *state;
    nb_poll_destroy(w->poll);
    if (w->near >= 0) close(w->near);
    if (w->far >= 0) close(w->far);
    return nb_alloc_live() == w->live ? 0 : -1;
}

/* --- level --- */

static void a_readable_descriptor_is_told_until_it_is_read(void **state) {
    world *w = *state;
    add(w, w->near, R, 11);
    expect_nothing(w);
    feed(w->far);
    for (int i = 0; i < 3; i++)
        assert_int_equal(R, expect_one(w, 11));
    drain(w->near);
    expect_nothing(w);
    feed(w->far);
    assert_int_equal(R, expect_one(w, 11));
}

static void a_writable_descriptor_is_told_until_it_is_full(void **state) {
    world *w = *state;
    char bytes[4096] = {0};
    add(w, w->near, W, UINT64_MAX);
    for (int i = 0; i < 3; i++)
        assert_int_equal(W, expect_one(w, UINT64_MAX));
    while (write(w->near, bytes, sizeof bytes) > 0) {
    }
    expect_nothing(w);
    drain(w->far);
    assert_int_equal(W, expect_one(w, UINT64_MAX));
}

static void both_readinesses_are_one_event(void **state) {
    world *w = *state;
    add(w, w->near, R | W, 5);
    assert_int_equal(W, expect_one(w, 5));
    feed(w->far);
    assert_int_equal(R | W, expect_one(w, 5));
    drain(w->near);
    assert_int_equal(W, expect_one(w, 5));
}

/* --- oneshot and edge --- */

static void oneshot_is_told_once_until_it_is_changed(void **state) {
    world *w = *state;
    feed(w->far);
    add(w, w->near, R | NB_POLL_ONESHOT, 1);
    assert_int_equal(R, expect_one(w, 1));
    feed(w->far);
    expect_nothing(w);
    change(w, w->near, R | NB_POLL_ONESHOT, 2);
    assert_int_equal(R, expect_one(w, 2));
    expect_nothing(w);
    change(w, w->near, R, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(R, expect_one(w, 3));
}

static void oneshot_of_both_ends_with_the_first_event(void **state) {
    world *w = *state;
    add(w, w->near, R | W | NB_POLL_ONESHOT, 1);
    assert_int_equal(W, expect_one(w, 1));
    feed(w->far);
    expect_nothing(w);
    change(w, w->near, R | W | NB_POLL_ONESHOT, 1);
    assert_true(expect_one(w, 1) & (R | W));
    expect_nothing(w);
}

static void after_a_oneshot_event_even_a_hangup_is_silent(void **state) {
    world *w = *state;
    feed(w->far);
    add(w, w->near, R | NB_POLL_ONESHOT, 1);
    expect_one(w, 1);
    close(w->far);
    w->far = -1;
    expect_nothing(w);
    change(w, w->near, R | NB_POLL_ONESHOT, 1);
    assert_true(expect_one(w, 1) & (R | NB_POLL_HANGUP));
}

static void edge_tells_news_only(void **state) {
    world *w = *state;
    bool edge = !is("poll"); /* which has no such thing and tells again */
    add(w, w->near, R | NB_POLL_EDGE, 1);
    expect_nothing(w);
    for (int i = 0; i < 3; i++) {
        feed(w->far);
        assert_int_equal(R, expect_one(w, 1));
        assert_int_equal(edge ? 0 : 1, wait_for(w, 0));
    }
    change(w, w->near, R, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(R, expect_one(w, 1));
    change(w, w->near, R | NB_POLL_EDGE, 1);
    assert_int_equal(R, expect_one(w, 1));
    assert_int_equal(edge ? 0 : 1, wait_for(w, 0));
}

/* --- change and remove --- */

static void a_change_replaces_interest_and_cookie(void **state) {
    world *w = *state;
    add(w, w->near, R, 1);
    change(w, w->near, W, 2);
    assert_int_equal(W, expect_one(w, 2));
    feed(w->far);
    assert_int_equal(W, expect_one(w, 2));
    change(w, w->near, R, 3);
    assert_int_equal(R, expect_one(w, 3));
    change(w, w->near, 0, 4);
    expect_nothing(w);
    change(w, w->near, R | W, 5);
    assert_int_equal(R | W, expect_one(w, 5));
}

static void a_descriptor_may_be_in_without_interest(void **state) {
    world *w = *state;
    feed(w->far);
    add(w, w->near, 0, 1);
    expect_nothing(w);
    assert_status(NB_EXISTS, nb_poll_add(w->poll, w->near, R, 1));
    change(w, w->near, R, 1);
    assert_int_equal(R, expect_one(w, 1));
}

static void a_removed_descriptor_is_silent(void **state) {
    world *w = *state;
    feed(w->far);
    add(w, w->near, R, 1);
    expect_one(w, 1);
    assert_status(NB_OK, nb_poll_remove(w->poll, w->near));
    expect_nothing(w);
    add(w, w->near, R, 2);
    assert_int_equal(R, expect_one(w, 2));
}

static void a_oneshot_that_fired_is_still_in(void **state) {
    world *w = *state;
    feed(w->far);
    add(w, w->near, R | NB_POLL_ONESHOT, 1);
    expect_one(w, 1);
    assert_status(NB_EXISTS, nb_poll_add(w->poll, w->near, R, 1));
    assert_status(NB_OK, nb_poll_remove(w->poll, w->near));
    assert_status(NB_NOT_FOUND, nb_poll_remove(w->poll, w->near));
}

static void what_is_in_cannot_be_added_and_what_is_not_cannot_be_changed(void **state) {
    world *w = *state;
    assert_status(NB_NOT_FOUND, nb_poll_change(w->poll, w->near, R, 1));
    assert_status(NB_NOT_FOUND, nb_poll_remove(w->poll, w->near));
    add(w, w->near, R, 1);
    assert_status(NB_EXISTS, nb_poll_add(w->poll, w->near, W, 2));
    feed(w->far);
    assert_int_equal(R, expect_one(w, 1));
}

static void a_descriptor_that_is_not_open_is_refused(void **state) {
    world *w = *state;
    int closed = dup(w->near);
    close(closed);
    for (uint32_t interest = 0; interest <= R; interest++) {
        errno = 0;
        assert_status(NB_SYSTEM, nb_poll_add(w->poll, closed, interest, 1));
        assert_int_equal(EBADF, errno);
        assert_status(NB_SYSTEM, nb_poll_add(w->poll, -1, interest, 1));
        assert_int_equal(EBADF, errno);
    }
    expect_nothing(w);
}

static void a_number_used_again_knows_nothing_of_its_former_life(void **state) {
    world *w = *state;
    int number = dup(w->near), near, far;
    feed(w->far);
    add(w, number, R, 1);
    expect_one(w, 1);
    assert_status(NB_OK, nb_poll_remove(w->poll, number));
    close(number);
    new_pair(&near, &far);
    assert_int_equal(number, dup2(near, number));
    add(w, number, R, 2);
    expect_nothing(w);
    feed(far);
    assert_int_equal(R, expect_one(w, 2));
    close(number);
    close(near);
    close(far);
}

/* --- ends and errors --- */

static void a_peer_that_finished_sending_is_readable_and_no_hangup(void **state) {
    world *w = *state;
    add(w, w->near, R | W, 1);
    shutdown(w->far, SHUT_WR);
    assert_int_equal(R | W, expect_one(w, 1));
}

static void a_peer_that_closed_is_a_hangup(void **state) {
    world *w = *state;
    add(w, w->near, R, 1);
    close(w->far);
    w->far = -1;
    for (int i = 0; i < 2; i++)
        assert_true(expect_one(w, 1) & NB_POLL_HANGUP);
}

static void the_end_of_a_pipe_is_told_to_both_sides(void **state) {
    world *w = *state;
    int ends[2];
    assert_int_equal(0, pipe(ends));
    add(w, ends[0], R, 1);
    expect_nothing(w);
    close(ends[1]);
    assert_true(expect_one(w, 1) & NB_POLL_HANGUP);
    nb_poll_remove(w->poll, ends[0]);
    close(ends[0]);
    assert_int_equal(0, pipe(ends));
    add(w, ends[1], W, 2);
    assert_int_equal(W, expect_one(w, 2));
    close(ends[0]);
    assert_true(expect_one(w, 2) & ENDS);
    nb_poll_remove(w->poll, ends[1]);
    close(ends[1]);
}

static void a_hangup_is_told_without_interest_except_by_kqueue(void **state) {
    world *w = *state;
    add(w, w->near, 0, 1);
    close(w->far);
    w->far = -1;
    if (is("kqueue")) {
        expect_nothing(w);
    } else {
        assert_true(expect_one(w, 1) & NB_POLL_HANGUP);
    }
}

/* A port nobody listens on: bound for a moment, then free. */
static struct sockaddr_in dead_address(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *)&address, &size));
    close(fd);
    return address;
}

static void a_refused_connection_is_an_error(void **state) {
    world *w = *state;
    struct sockaddr_in address = dead_address();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) fail_msg("somebody took the port");
    add(w, fd, W, 1);
    assert_true(expect_one(w, 1) & NB_POLL_ERROR);
    nb_poll_remove(w->poll, fd);
    close(fd);
}

/* --- time and signals --- */

static int64_t time_wait(world *w, int64_t timeout_ns) {
    int64_t before = nb_clock_monotonic_ns();
    assert_int_equal(0, wait_for(w, timeout_ns));
    return nb_clock_monotonic_ns() - before;
}

static void a_wait_without_events_lasts_its_timeout(void **state) {
    static const int64_t timeouts[] = {1, 300000, 1000000, 2500000, 20000000};
    world *w = *state;
    add(w, w->near, R, 1);
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++)
        assert_true(time_wait(w, timeouts[i]) >= timeouts[i]);
    assert_true(time_wait(w, 0) < PATIENCE_NS);
}

#if defined(__linux__)
/* Linux 5.11, outside of valgrind and of old container filters: asked with a descriptor that cannot
   be. */
static bool precise_waits_exist(void) {
    return syscall(441, -1, NULL, 0, NULL, NULL, 0) < 0 && errno != ENOSYS && errno != EPERM;
}
#else
static bool precise_waits_exist(void) { return false; }
#endif

static void epoll_waits_fractions_of_a_millisecond(void **state) {
    world *w = *state;
    int64_t shortest = INT64_MAX;
    if (!is("epoll")) return; /* the others promise milliseconds */
    if (!precise_waits_exist()) {
        print_message("no epoll_pwait2 here\n");
        skip();
    }
    for (int i = 0; i < 5000 && shortest >= NB_NS_PER_MS; i++) {
        int64_t took = time_wait(w, 100000);
        if (took < shortest) shortest = took;
    }
    assert_true(shortest < NB_NS_PER_MS);
}

static void *feed_later(void *fd) {
    sched_yield();
    feed(*(int *)fd);
    return NULL;
}

static void a_negative_timeout_waits_for_an_event(void **state) {
    world *w = *state;
    add(w, w->near, R, 1);
    pthread_t thread = nb_test_thread(feed_later, &w->far);
    assert_int_equal(1, wait_for(w, -1));
    nb_test_join(thread);
    assert_int_equal(1, wait_for(w, INT64_MAX));
}

static void ignore(int number) { (void)number; }

typedef struct pestering {
    pthread_t target;
    atomic_bool over;
} pestering;

static void *pester(void *pointer) {
    pestering *p = pointer;
    const struct timespec pause = {0, 1000000};
    while (!atomic_load(&p->over)) {
        pthread_kill(p->target, SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void a_signal_ends_the_wait_without_events(void **state) {
    world *w = *state;
    const int64_t timeouts[] = {-1, PATIENCE_NS};
    for (size_t i = 0; i < 2; i++) {
        pestering p = {.target = pthread_self()};
        struct sigaction action = {.sa_handler = ignore};
        sigaction(SIGUSR1, &action, NULL);
        int64_t before = nb_clock_monotonic_ns();
        pthread_t thread = nb_test_thread(pester, &p);
        assert_int_equal(0, wait_for(w, timeouts[i]));
        assert_true(nb_clock_monotonic_ns() - before < PATIENCE_NS / 2);
        atomic_store(&p.over, true);
        nb_test_join(thread);
    }
}

static void a_wake_descriptor_wakes(void **state) {
    world *w = *state;
    nb_wake wake;
    assert_status(NB_OK, nb_wake_init(&wake));
    add(w, wake.read_fd, R, 9);
    expect_nothing(w);
    nb_wake_signal(&wake);
    nb_wake_signal(&wake);
    assert_int_equal(R, expect_one(w, 9));
    nb_wake_clear(&wake);
    expect_nothing(w);
    nb_poll_remove(w->poll, wake.read_fd);
    nb_wake_deinit(&wake);
}

/* Urgent data: tcp(7). */
static void urgent_data_is_told_to_who_asks_for_it(void **state) {
    world *w = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(0, bind(listener, (struct sockaddr *)&address, size));
    assert_int_equal(0, listen(listener, 1));
    assert_int_equal(0, getsockname(listener, (struct sockaddr *)&address, &size));
    assert_int_equal(0, connect(client, (struct sockaddr *)&address, size));
    int peer = accept(listener, NULL, NULL);
    assert_true(peer >= 0);
    add(w, client, NB_POLL_PRIORITY, 9);
    expect_nothing(w);
    assert_int_equal(1, send(peer, "!", 1, is("kqueue") ? 0 : MSG_OOB));
    assert_true(expect_one(w, 9) & NB_POLL_PRIORITY);
    nb_poll_remove(w->poll, client);
    close(peer);
    close(client);
    close(listener);
}

static void one_poller_may_watch_another(void **state) {
    world *w = *state;
    nb_poll *outer;
    nb_poll_event event;
    size_t count = 9;
    int fd = nb_poll_descriptor(w->poll);
    if (is("poll")) {
        assert_int_equal(-1, fd);
        return;
    }
    assert_status(NB_OK, nb_poll_create("poll", &outer));
    assert_status(NB_OK, nb_poll_add(outer, fd, R, 8));
    add(w, w->near, R, 1);
    assert_status(NB_OK, nb_poll_wait(outer, &event, 1, 0, &count));
    assert_int_equal(0, count);
    feed(w->far);
    assert_status(NB_OK, nb_poll_wait(outer, &event, 1, PATIENCE_NS, &count));
    assert_int_equal(1, count);
    assert_int_equal(8, event.cookie);
    assert_int_equal(R, expect_one(w, 1));
    nb_poll_destroy(outer);
}

/* --- memory --- */

static nb_status use_memory(unsigned long failing, int high_fd) {
    nb_poll *poll = NULL;
    nb_alloc_fail_at(failing);
    nb_status status = nb_poll_create(backend, &poll);
    if (status == NB_OK) status = nb_poll_add(poll, high_fd, R, 1);
    nb_alloc_fail_at(0);
    if (poll == NULL) return status;
    if (status != NB_OK) {
        size_t count = 9;
        nb_poll_event event;
        assert_status(NB_OK, nb_poll_wait(poll, &event, 1, 0, &count));
        assert_int_equal(0, count);
        assert_status(NB_OK, nb_poll_add(poll, high_fd, R, 1));
    }
    assert_status(NB_EXISTS, nb_poll_add(poll, high_fd, R, 1));
    nb_poll_destroy(poll);
    return status;
}

static void each_allocation_may_fail(void **state) {
    world *w = *state;
    long live = nb_alloc_live();
    int high = fcntl(w->near, F_DUPFD, 200);
    unsigned long failing = 1;
    while (use_memory(failing, high) == NB_NO_MEMORY)
        failing++;
    assert_true(failing >= 2);
    assert_status(NB_OK, use_memory(failing, high));
    assert_int_equal(live, nb_alloc_live());
    close(high);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int nb_test_poll_contract(const char *backend_name) {
    const struct CMUnitTest tests[] = {
        CASE(a_readable_descriptor_is_told_until_it_is_read),
        CASE(a_writable_descriptor_is_told_until_it_is_full),
        CASE(both_readinesses_are_one_event),
        CASE(oneshot_is_told_once_until_it_is_changed),
        CASE(oneshot_of_both_ends_with_the_first_event),
        CASE(after_a_oneshot_event_even_a_hangup_is_silent),
        CASE(edge_tells_news_only),
        CASE(a_change_replaces_interest_and_cookie),
        CASE(a_descriptor_may_be_in_without_interest),
        CASE(a_removed_descriptor_is_silent),
        CASE(a_oneshot_that_fired_is_still_in),
        CASE(what_is_in_cannot_be_added_and_what_is_not_cannot_be_changed),
        CASE(a_descriptor_that_is_not_open_is_refused),
        CASE(a_number_used_again_knows_nothing_of_its_former_life),
        CASE(a_peer_that_finished_sending_is_readable_and_no_hangup),
        CASE(a_peer_that_closed_is_a_hangup),
        CASE(the_end_of_a_pipe_is_told_to_both_sides),
        CASE(a_hangup_is_told_without_interest_except_by_kqueue),
        CASE(a_refused_connection_is_an_error),
        CASE(of_many_descriptors_exactly_the_ready_are_told),
        CASE(with_more_ready_than_asked_for_each_gets_its_turn),
        CASE(random_use_agrees_with_a_model),
        CASE(a_wait_without_events_lasts_its_timeout),
        CASE(epoll_waits_fractions_of_a_millisecond),
        CASE(a_negative_timeout_waits_for_an_event),
        CASE(a_signal_ends_the_wait_without_events),
        CASE(a_wake_descriptor_wakes),
        CASE(urgent_data_is_told_to_who_asks_for_it),
        CASE(one_poller_may_watch_another),
        CASE(each_allocation_may_fail),
    };
    backend = backend_name;
    return cmocka_run_group_tests_name(backend_name, tests, NULL, NULL);
}
