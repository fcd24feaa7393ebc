/*
 * descriptors.c - see descriptors.h.
 */
#include "os/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

/* What POSIX promises a process is 20; every system in use gives this. */
#define AT_LEAST 256u

uint64_t nb_os_descriptors_max(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : AT_LEAST;
}

int nb_os_descriptors_next(int fd) {
    int next = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (next < 0) return INT_MAX;
    close(next);
    return next;
}
