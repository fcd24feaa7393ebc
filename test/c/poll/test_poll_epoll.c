/*
 * test_poll_epoll.c - epoll on a kernel without epoll_pwait2 (before Linux 5.11) and in containers
 * that forbid it. Includes the .c with a system call that fails.
 */
#include "support/test.h"

#if defined(__linux__)

#include <errno.h>
#include <unistd.h>

static int pwait2_calls, pwait2_error;

static long failing_syscall(long number, ...) {
    (void)number;
    pwait2_calls++;
    errno = pwait2_error;
    return -1;
}

#define syscall failing_syscall
#include "poll/poll_epoll.c"
#undef syscall

#include "support/poll_contract.h"

static void fall_back_on(int error) {
    nb_poll *poll;
    nb_poll_event event;
    size_t count = 9;
    pwait2_calls = 0;
    pwait2_error = error;
    atomic_store(&pwait2_missing, false);
    assert_status(NB_OK, nb_poll_create("epoll", &poll));
    int64_t before = nb_clock_monotonic_ns();
    for (int i = 0; i < 3; i++)
        assert_status(NB_OK, nb_poll_wait(poll, &event, 1, 300000, &count));
    assert_int_equal(0, count);
    assert_true(nb_clock_monotonic_ns() - before >= 3 * NB_NS_PER_MS);
    assert_int_equal(1, pwait2_calls);
    nb_poll_destroy(poll);
}

static void a_missing_call_is_tried_once_and_epoll_wait_serves(void **state) {
    (void)state;
    fall_back_on(ENOSYS);
}

static void so_is_a_forbidden_one(void **state) {
    (void)state;
    fall_back_on(EPERM);
}

static void other_errors_are_not_taken_for_a_missing_call(void **state) {
    (void)state;
    nb_poll *poll;
    nb_poll_event event;
    size_t count = 9;
    atomic_store(&pwait2_missing, false);
    assert_status(NB_OK, nb_poll_create("epoll", &poll));
    pwait2_error = EBADF;
    assert_status(NB_SYSTEM, nb_poll_wait(poll, &event, 1, 300000, &count));
    assert_int_equal(EBADF, errno);
    pwait2_error = EINTR;
    assert_status(NB_OK, nb_poll_wait(poll, &event, 1, 300000, &count));
    assert_int_equal(0, count);
    assert_false(atomic_load(&pwait2_missing));
    nb_poll_destroy(poll);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_call_is_tried_once_and_epoll_wait_serves),
        cmocka_unit_test(so_is_a_forbidden_one),
        cmocka_unit_test(other_errors_are_not_taken_for_a_missing_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 0; }
#endif
