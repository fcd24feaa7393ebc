/*
 * test_syscalls.c - what a filter of system calls refuses is told, by name, and nothing else is.
 */
#include "support/test.h"

#include <errno.h>
#include <string.h>

#include "os/syscalls.h"

#if defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, KINDS = 2 };

static bool refuse(unsigned number, unsigned error) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool tells(const char *name) {
    const char *names[NB_SYSCALLS_MAX];
    size_t count = nb_syscalls_refused(names);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

static int with_a_filter(unsigned error) {
    if (tells("statx")) return SKIP;
    if (!refuse(SYS_statx, error)) return SKIP;
    return tells("statx") && !tells("preadv2") ? 0 : 1;
}

static void what_a_filter_refuses_is_told(void **state) {
    (void)state;
    const unsigned errors[KINDS] = {EPERM, ENOSYS};
    for (size_t i = 0; i < KINDS; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(with_a_filter(errors[i]));
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == SKIP) skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}
#else
static void what_a_filter_refuses_is_told(void **state) {
    (void)state;
    const char *names[NB_SYSCALLS_MAX];
    assert_int_equal(nb_syscalls_refused(names), 0);
}
#endif

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_filter_refuses_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
