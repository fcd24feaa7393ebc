/*
 * test_traced.c - a process knows whether another one traces it.
 */
#include "os/traced.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static void one_that_nobody_traces_says_so(void **state) {
    (void)state;
    assert_false(nb_process_traced());
}

#if defined(__linux__)
static void one_that_is_traced_says_so(void **state) {
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(2);
        _exit(nb_process_traced() ? 0 : 1);
    }
    assert_true(child > 0);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, child, NULL, NULL);
    if (WEXITSTATUS(status) == 2) skip(); /* a sandbox without ptrace(2) */
    assert_int_equal(0, WEXITSTATUS(status));
}
#endif

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_nobody_traces_says_so),
#if defined(__linux__)
        cmocka_unit_test(one_that_is_traced_says_so),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
