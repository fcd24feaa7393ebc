/*
 * syscalls.c - see syscalls.h; the arguments make each call fail with EBADF, EFAULT or EINVAL
 * where it is there.
 */
#include "os/syscalls.h"

#if defined(__linux__)
#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct trial {
    const char *name;
    long number;
    long arguments[6];
} trial;

static const trial trials[] = {
#ifdef SYS_openat2
    {"openat2", SYS_openat2, {-1, 0, 0, 0}},
#endif
#ifdef SYS_preadv2
    {"preadv2", SYS_preadv2, {-1, 0, 0, 0, 0, 0}},
#endif
#ifdef SYS_pwritev2
    {"pwritev2", SYS_pwritev2, {-1, 0, 0, 0, 0, 0}},
#endif
#ifdef SYS_memfd_create
    {"memfd_create", SYS_memfd_create, {0, 0}},
#endif
#ifdef SYS_statx
    {"statx", SYS_statx, {-1, 0, 0, 0, 0}},
#endif
#ifdef SYS_pidfd_open
    {"pidfd_open", SYS_pidfd_open, {-1, 0}},
#endif
#ifdef SYS_close_range
    {"close_range", SYS_close_range, {1, 0, 0}},
#endif
#ifdef SYS_prctl
    {"prctl", SYS_prctl, {-1, 0, 0, 0, 0}},
#endif
};
enum { TRIALS = sizeof trials / sizeof *trials };
_Static_assert((int)TRIALS <= (int)NB_SYSCALLS_MAX, "names has room for all");

static bool refused(const trial *one) {
    const long *at = one->arguments;
    if (syscall(one->number, at[0], at[1], at[2], at[3], at[4], at[5]) >= 0) return false;
    return errno == ENOSYS || errno == EPERM || errno == EACCES;
}

size_t nb_syscalls_refused(const char **names) {
    size_t count = 0;
    for (size_t i = 0; i < TRIALS; i++) {
        if (refused(&trials[i])) names[count++] = trials[i].name;
    }
    return count;
}
#else
size_t nb_syscalls_refused(const char **names) {
    (void)names;
    return 0;
}
#endif
