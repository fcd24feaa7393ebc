/* test_fork.c - what fork(2) waits for. */
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fork.h"

static int left, right; /* changed together, between enter and leave */
static atomic_bool stop;

static void *change(void *unused) {
    (void)unused;
    while (!atomic_load(&stop)) {
        nb_fork_enter();
        left++;
        sched_yield();
        right++;
        nb_fork_leave();
    }
    return NULL;
}

static void a_child_sees_both(void) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(left == right ? 0 : 1);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

static void a_child_never_sees_a_change_half_made(void **state) {
    (void)state;
    pthread_t thread;
    atomic_store(&stop, false);
    assert_int_equal(0, pthread_create(&thread, NULL, change, NULL));
    for (int i = 0; i < 100; i++)
        a_child_sees_both();
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

static atomic_int first; /* 1: its thread is called, 2: it is inside, 3: it may end */

static void *be_the_first(void *unused) {
    (void)unused;
    while (atomic_load(&first) != 1)
        sched_yield();
    nb_fork_enter();
    left++;
    atomic_store(&first, 2);
    for (int i = 0; i < 10000; i++)
        sched_yield();
    right++;
    nb_fork_leave();
    /* ThreadSanitizer takes one that has ended before the fork for leaked in the child. */
    while (atomic_load(&first) != 3)
        sched_yield();
    return NULL;
}

/* Called by fork(2) before what the library has installed: the later installed is the earlier
   called (pthread_atfork(3)). */
static void call_the_first(void) {
    if (atomic_load(&first) != 0) return;
    atomic_store(&first, 1);
    while (atomic_load(&first) != 2)
        sched_yield();
}

/* The first test: nobody has entered in this process. */
static void the_first_to_enter_is_waited_for_by_a_fork_that_has_begun(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(0, pthread_create(&thread, NULL, be_the_first, NULL));
    assert_int_equal(0, pthread_atfork(call_the_first, NULL, NULL));
    a_child_sees_both();
    atomic_store(&first, 3);
    pthread_join(thread, NULL);
}

static void the_child_may_enter_again_and_fork(void **state) {
    (void)state;
    nb_fork_enter();
    nb_fork_leave();
    pid_t child = fork();
    if (child == 0) {
        nb_fork_enter();
        nb_fork_leave();
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(5);
        int status;
        waitpid(grandchild, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(5, WEXITSTATUS(status));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_to_enter_is_waited_for_by_a_fork_that_has_begun),
        cmocka_unit_test(a_child_never_sees_a_change_half_made),
        cmocka_unit_test(the_child_may_enter_again_and_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
