/*
 * test_wake.c - wake descriptors, both kinds: the platform's, and the pipe that other platforms use
 * (built in here under another name by including the .c as if this were not Linux).
 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/clock.h"
#include "poll/wake.h"

#define nb_wake_init pipe_init
#define nb_wake_deinit pipe_deinit
#define nb_wake_signal pipe_signal
#define nb_wake_clear pipe_clear
#define nb_wake_wait pipe_wait
#define nb_wake_wait_beside pipe_wait_beside
void pipe_deinit(nb_wake *wake);
bool pipe_signal(const nb_wake *wake);
void pipe_clear(const nb_wake *wake);
void pipe_wait(const nb_wake *wake, int64_t timeout_ns);
void pipe_wait_beside(const nb_wake *wake, struct pollfd *watched, size_t count, int64_t timeout_ns);
nb_status pipe_init(nb_wake *wake);
#undef __linux__
#include "poll/wake.c"
#undef nb_wake_init
#undef nb_wake_deinit
#undef nb_wake_signal
#undef nb_wake_clear
#undef nb_wake_wait
#undef nb_wake_wait_beside

typedef struct kind {
    const char *name;
    nb_status (*init)(nb_wake *wake);
    void (*deinit)(nb_wake *wake);
    bool (*signal)(const nb_wake *wake);
    void (*clear)(const nb_wake *wake);
    void (*wait)(const nb_wake *wake, int64_t timeout_ns);
    void (*wait_beside)(const nb_wake *wake, struct pollfd *watched, size_t count, int64_t timeout_ns);
} kind;

static const kind native = {"native",      nb_wake_init, nb_wake_deinit,     nb_wake_signal,
                            nb_wake_clear, nb_wake_wait, nb_wake_wait_beside};
static const kind piped = {"pipe", pipe_init, pipe_deinit, pipe_signal, pipe_clear, pipe_wait, pipe_wait_beside};
static const kind *it;

static bool is_ringing(const nb_wake *wake) {
    struct pollfd looked = {.fd = wake->read_fd, .events = POLLIN};
    return poll(&looked, 1, 0) == 1 && (looked.revents & POLLIN);
}

static void a_signal_rings_until_it_is_cleared(void **state) {
    (void)state;
    nb_wake wake;
    assert_status(NB_OK, it->init(&wake));
    assert_false(is_ringing(&wake));
    it->clear(&wake);
    for (int i = 0; i < 3; i++) {
        it->signal(&wake);
        assert_true(is_ringing(&wake));
        it->signal(&wake);
        it->clear(&wake);
        assert_false(is_ringing(&wake));
    }
    it->deinit(&wake);
}

static void signals_beyond_what_fits_do_not_block(void **state) {
    (void)state;
    nb_wake wake;
    assert_status(NB_OK, it->init(&wake));
    if (wake.read_fd == wake.write_fd) {
        const uint64_t full = UINT64_MAX - 1;
        assert_int_equal(sizeof full, write(wake.write_fd, &full, sizeof full));
    }
    for (int i = 0; i < 10000; i++)
        it->signal(&wake);
    assert_true(is_ringing(&wake));
    it->clear(&wake);
    assert_false(is_ringing(&wake));
    it->deinit(&wake);
}

static void *signal_other(void *wake) {
    it->signal(wake);
    return NULL;
}

static void a_wait_ends_with_a_signal_or_its_time_and_clears(void **state) {
    (void)state;
    nb_wake wake;
    assert_status(NB_OK, it->init(&wake));
    int64_t before = nb_clock_monotonic_ns();
    it->wait(&wake, 1500000);
    assert_true(nb_clock_monotonic_ns() - before >= 1500000);
    it->wait(&wake, 0);
    pthread_t other = nb_test_thread(signal_other, &wake);
    it->wait(&wake, -1);
    nb_test_join(other);
    assert_false(is_ringing(&wake));
    it->signal(&wake);
    it->wait(&wake, INT64_MAX);
    assert_false(is_ringing(&wake));
    it->deinit(&wake);
}

static void a_wait_ends_with_what_is_watched_beside_and_tells_which(void **state) {
    (void)state;
    nb_wake wake, beside[2];
    assert_status(NB_OK, it->init(&wake));
    for (int i = 0; i < 2; i++)
        assert_status(NB_OK, it->init(&beside[i]));
    struct pollfd watched[3];
    for (int i = 0; i < 2; i++)
        watched[1 + i] = (struct pollfd){.fd = beside[i].read_fd, .events = POLLIN, .revents = POLLIN};
    it->wait_beside(&wake, watched, 3, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(0, watched[i].revents);

    it->signal(&beside[1]);
    it->wait_beside(&wake, watched, 3, -1);
    assert_int_equal(0, watched[0].revents);
    assert_int_equal(0, watched[1].revents);
    assert_int_equal(POLLIN, watched[2].revents);
    assert_true(is_ringing(&beside[1])); /* what is watched is its owner's to clear */
    it->clear(&beside[1]);

    it->signal(&wake);
    it->wait_beside(&wake, watched, 3, -1);
    assert_int_equal(POLLIN, watched[0].revents);
    assert_int_equal(0, watched[2].revents);
    assert_false(is_ringing(&wake));

    it->deinit(&wake);
    for (int i = 0; i < 2; i++)
        it->deinit(&beside[i]);
}

static void errno_survives_a_signal_and_a_clear(void **state) {
    (void)state;
    nb_wake wake = {-1, -1};
    errno = ERANGE;
    it->signal(&wake);
    it->clear(&wake);
    assert_int_equal(ERANGE, errno);
}

static const nb_wake *handler_wake;
static void on_signal(int number) {
    (void)number;
    it->signal(handler_wake);
}

static void a_signal_handler_may_wake(void **state) {
    (void)state;
    nb_wake wake;
    assert_status(NB_OK, it->init(&wake));
    handler_wake = &wake;
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    assert_true(is_ringing(&wake));
    it->deinit(&wake);
}

static void descriptors_are_private_to_the_process_and_never_block(void **state) {
    (void)state;
    nb_wake wake;
    assert_status(NB_OK, it->init(&wake));
    const int fds[] = {wake.read_fd, wake.write_fd};
    for (int i = 0; i < 2; i++) {
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
    }
    it->deinit(&wake);
    for (int i = 0; i < 2; i++)
        assert_int_equal(-1, fcntl(fds[i], F_GETFD));
    assert_int_equal(-1, wake.read_fd);
    assert_int_equal(-1, wake.write_fd);
    it->deinit(&wake);
}

static void without_descriptors_left_it_fails_and_leaves_the_struct(void **state) {
    (void)state;
    struct rlimit before, none = {0};
    nb_wake wake = {77, 78};
    getrlimit(RLIMIT_NOFILE, &before);
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &none);
    nb_status status = it->init(&wake);
    int error = errno;
    setrlimit(RLIMIT_NOFILE, &before);
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EMFILE, error);
    assert_int_equal(77, wake.read_fd);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_rings_until_it_is_cleared),
        cmocka_unit_test(signals_beyond_what_fits_do_not_block),
        cmocka_unit_test(a_wait_ends_with_a_signal_or_its_time_and_clears),
        cmocka_unit_test(a_wait_ends_with_what_is_watched_beside_and_tells_which),
        cmocka_unit_test(errno_survives_a_signal_and_a_clear),
        cmocka_unit_test(a_signal_handler_may_wake),
        cmocka_unit_test(descriptors_are_private_to_the_process_and_never_block),
        cmocka_unit_test(without_descriptors_left_it_fails_and_leaves_the_struct),
    };
    it = &native;
    int failed = cmocka_run_group_tests_name(it->name, tests, NULL, NULL);
    it = &piped;
    return failed + cmocka_run_group_tests_name(it->name, tests, NULL, NULL);
}
