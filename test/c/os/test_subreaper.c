/*
 * test_subreaper.c - an orphan becomes a child of the nearest ancestor that asked for it.
 */
#include "support/test.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/subreaper.h"

/* In a process of its own, so that the test's own children stay what they are. */
static int adopt_a_grandchild(void) {
    int ends[2];
    pid_t grandchild = 0;
    if (!nb_subreaper_become()) return 77;
    if (pipe(ends) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        grandchild = fork();
        if (grandchild == 0) _exit(3);
        _exit(write(ends[1], &grandchild, sizeof(grandchild)) == sizeof(grandchild) ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    if (read(ends[0], &grandchild, sizeof(grandchild)) != sizeof(grandchild)) return 1;
    if (waitpid(grandchild, &status, 0) != grandchild) return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 0 : 1;
}

static void an_orphan_is_reaped_by_the_subreaper_with_its_status(void **state) {
    (void)state;
    pid_t pid = fork();
    if (pid == 0) _exit(adopt_a_grandchild());
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_orphan_is_reaped_by_the_subreaper_with_its_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
