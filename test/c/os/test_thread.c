/*
 * test_thread.c - native threads: names, signals, failure to start, timed waits.
 */
#include "support/test.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/thread.h"

typedef struct report {
    bool blocks_usr1, blocks_term, blocks_pipe;
    char name[32];
} report;

static void *look_around(void *pointer) {
    report *r = pointer;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    r->blocks_usr1 = sigismember(&blocked, SIGUSR1);
    r->blocks_term = sigismember(&blocked, SIGTERM);
    r->blocks_pipe = sigismember(&blocked, SIGPIPE);
#if defined(__linux__) || defined(__APPLE__)
    pthread_getname_np(pthread_self(), r->name, sizeof r->name);
#endif
    return pointer;
}

static report start_and_join(const char *name) {
    report r = {0};
    pthread_t thread;
    void *result = NULL;
    assert_status(NB_OK, nb_thread_start(name, look_around, &r, &thread));
    assert_int_equal(0, pthread_join(thread, &result));
    assert_ptr_equal(&r, result);
    return r;
}

static void a_thread_blocks_every_signal_and_leaves_ours_alone(void **state) {
    (void)state;
    sigset_t mine;
    report r = start_and_join("x");
    assert_true(r.blocks_usr1 && r.blocks_term && r.blocks_pipe);
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    assert_false(sigismember(&mine, SIGUSR1));
}

#if defined(__linux__) || defined(__APPLE__)
static void a_thread_has_its_name_cut_to_15_bytes(void **state) {
    (void)state;
    assert_string_equal("nb-io-1", start_and_join("nb-io-1").name);
    assert_string_equal("123456789012345", start_and_join("1234567890123456789").name);
}
#endif

static void without_memory_no_thread_starts(void **state) {
    (void)state;
    pthread_t thread;
    long live = nb_alloc_live();
    nb_alloc_fail_at(1);
    errno = 0;
    assert_status(NB_NO_MEMORY, nb_thread_start("x", look_around, NULL, &thread));
    assert_int_equal(ENOMEM, errno);
    assert_int_equal(live, nb_alloc_live());
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool flag;

static void *set_flag(void *unused) {
    pthread_mutex_lock(&lock);
    flag = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void a_timed_wait_ends_at_its_deadline_or_when_signalled(void **state) {
    (void)state;
    nb_thread_cond_init(&changed);
    pthread_mutex_lock(&lock);
    int64_t deadline_ns = nb_clock_monotonic_ns() + 5 * NB_NS_PER_MS;
    while (nb_thread_cond_wait_until(&changed, &lock, deadline_ns)) {
    }
    assert_true(nb_clock_monotonic_ns() >= deadline_ns);
    assert_false(nb_thread_cond_wait_until(&changed, &lock, 0));
    pthread_t thread = nb_test_thread(set_flag, NULL);
    bool in_time = true;
    while (!flag && in_time)
        in_time = nb_thread_cond_wait_until(&changed, &lock, nb_clock_monotonic_ns() + 20 * NB_NS_PER_S);
    pthread_mutex_unlock(&lock);
    nb_test_join(thread);
    assert_true(in_time);
    pthread_cond_destroy(&changed);
}

#if defined(__linux__)
typedef struct sleeper {
    nb_test_gate begun, end;
    _Atomic bool spins;
    long number;
    clockid_t clock;
    bool clocked;
} sleeper;

static void *sleep_then_spin(void *pointer) {
    sleeper *s = pointer;
    s->number = nb_thread_number();
    s->clocked = nb_thread_clock(pthread_self(), &s->clock);
    nb_test_gate_open(&s->begun);
    nb_test_gate_wait(&s->end, 1);
    while (atomic_load(&s->spins)) {
    }
    nb_test_gate_open(&s->begun);
    nb_test_gate_wait(&s->end, 2);
    return NULL;
}

static void a_thread_that_waits_sleeps_and_one_that_could_run_does_not(void **state) {
    (void)state;
    static sleeper s = {.begun = NB_TEST_GATE, .end = NB_TEST_GATE, .spins = true};
    pthread_t thread = nb_test_thread(sleep_then_spin, &s);
    nb_test_gate_wait(&s.begun, 1);
    assert_true(s.clocked);
    while (!nb_thread_sleeps(s.number)) {
    }
    while (nb_thread_others_run()) { /* a sanitizer has threads of its own */
    }
    int64_t ran_ns = nb_thread_ran_ns(s.clock);
    nb_test_gate_open(&s.end);
    while (nb_thread_sleeps(s.number)) {
    }
    assert_true(nb_thread_others_run());
    while (nb_thread_ran_ns(s.clock) < ran_ns + NB_NS_PER_MS) {
    }
    atomic_store(&s.spins, false);
    nb_test_gate_wait(&s.begun, 2);
    nb_test_gate_open(&s.end);
    nb_test_join(thread);
    assert_false(nb_thread_sleeps(s.number));
}

/* What a thread of the test's waits in. */
typedef struct waiter {
    nb_test_gate begun;
    void (*wait)(int fd);
    int fd;
    long number;
} waiter;

static void *wait_in_call(void *pointer) {
    waiter *w = pointer;
    w->number = nb_thread_number();
    nb_test_gate_open(&w->begun);
    w->wait(w->fd);
    return NULL;
}

static void read_byte(int fd) {
    char byte;
    assert_int_equal(1, read(fd, &byte, 1));
}

static void poll_byte(int fd) {
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    assert_int_equal(1, poll(&waited, 1, -1));
}

/* in: the name that is told of the call. */
static bool restarts_in(void (*wait)(int fd), const int ends[2], const char *in) {
    waiter w = {.begun = NB_TEST_GATE, .wait = wait, .fd = ends[0]};
    pthread_t thread = nb_test_thread(wait_in_call, &w);
    nb_test_gate_wait(&w.begun, 1);
    while (!nb_thread_sleeps(w.number)) {
    }
    bool restarts = nb_thread_restarts(w.number);
    assert_string_equal(in, nb_thread_waits_in(w.number));
    assert_int_equal(1, write(ends[1], "x", 1));
    nb_test_join(thread);
    return restarts;
}

static void a_signal_would_cut_short_a_poll_and_a_read_with_a_time_limit_and_no_other_read(void **state) {
    (void)state;
    int pipes[2], sockets[2];
    assert_int_equal(0, pipe(pipes));
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    assert_true(restarts_in(read_byte, pipes, "read(2)"));
    assert_true(restarts_in(read_byte, sockets, "read(2)"));
    assert_false(restarts_in(poll_byte, pipes, "poll(2)"));
    const struct timeval minute = {60, 0};
    assert_int_equal(0, setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute));
    assert_false(restarts_in(read_byte, sockets, "read(2)"));
    for (int i = 0; i < 2; i++) {
        close(pipes[i]);
        close(sockets[i]);
    }
}

static void a_thread_that_computes_has_nothing_to_be_cut_short(void **state) {
    (void)state;
    static sleeper s = {.begun = NB_TEST_GATE, .end = NB_TEST_GATE, .spins = true};
    pthread_t thread = nb_test_thread(sleep_then_spin, &s);
    nb_test_gate_wait(&s.begun, 1);
    nb_test_gate_open(&s.end);
    while (!nb_thread_restarts(s.number)) { /* until it spins */
    }
    assert_null(nb_thread_waits_in(s.number));
    atomic_store(&s.spins, false);
    nb_test_gate_wait(&s.begun, 2);
    nb_test_gate_open(&s.end);
    nb_test_join(thread);
}

/* Both on one processor, which the kernel gives to each in turn. */
static void a_thread_learns_how_often_its_processor_went_to_another_and_for_how_long(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    size_t processor = 0;
    while (!CPU_ISSET(processor, &all)) {
        processor++;
    }
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    static sleeper s = {.begun = NB_TEST_GATE, .end = NB_TEST_GATE, .spins = true};
    pthread_t thread = nb_test_thread(sleep_then_spin, &s);
    nb_test_gate_wait(&s.begun, 1);
    nb_thread_use before = nb_thread_used(), now;
    nb_test_gate_open(&s.end);
    int64_t own_ns = nb_thread_starved_ns(nb_thread_number()), its_ns = nb_thread_starved_ns(s.number);
    do {
        now = nb_thread_used();
    } while (now.preempted == before.preempted || now.ran_ns == before.ran_ns);
    while (nb_thread_starved_ns(nb_thread_number()) == own_ns || nb_thread_starved_ns(s.number) == its_ns) {
    }
    assert_true(now.ran_ns > before.ran_ns);
    atomic_store(&s.spins, false);
    nb_test_gate_wait(&s.begun, 2);
    nb_test_gate_open(&s.end);
    nb_test_join(thread);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
#endif

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_blocks_every_signal_and_leaves_ours_alone),
#if defined(__linux__) || defined(__APPLE__)
        cmocka_unit_test(a_thread_has_its_name_cut_to_15_bytes),
#endif
        cmocka_unit_test(without_memory_no_thread_starts),
#if defined(__linux__)
        cmocka_unit_test(a_thread_that_waits_sleeps_and_one_that_could_run_does_not),
        cmocka_unit_test(a_signal_would_cut_short_a_poll_and_a_read_with_a_time_limit_and_no_other_read),
        cmocka_unit_test(a_thread_that_computes_has_nothing_to_be_cut_short),
        cmocka_unit_test(a_thread_learns_how_often_its_processor_went_to_another_and_for_how_long),
#endif
        cmocka_unit_test(a_timed_wait_ends_at_its_deadline_or_when_signalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
