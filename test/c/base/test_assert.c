/*
 * test_assert.c - a false assertion ends the process and says where.
 */
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"

static void compare_with_seven(void *number) { NB_ASSERT(*(int *)number == 7); }

static void a_true_assertion_does_nothing(void **state) {
    (void)state;
    assert_false(nb_test_aborts(compare_with_seven, &(int){7}));
}

static void a_false_assertion_aborts(void **state) {
    (void)state;
    assert_true(nb_test_aborts(compare_with_seven, &(int){8}));
}

static void the_message_names_the_expression_and_the_place(void **state) {
    (void)state;
    int ends[2], status;
    char text[512];
    size_t size = 0;
    ssize_t got;
    assert_int_equal(0, pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        nb_assert_failed("1 == 2", "somewhere.c", 42);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    assert_string_equal("neverblock: assertion failed: 1 == 2 (somewhere.c:42)\n", text);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_true_assertion_does_nothing),
        cmocka_unit_test(a_false_assertion_aborts),
        cmocka_unit_test(the_message_names_the_expression_and_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
