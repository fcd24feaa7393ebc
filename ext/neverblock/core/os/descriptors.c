/*
 * descriptors.c - see descriptors.h.
 */
#include "os/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* POSIX promises a process 20 descriptors; every system in use gives this many. */
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

#if defined(F_GETPATH)
/* fcntl(2) of macOS. */
size_t nb_os_descriptor_path(int fd, char *out, size_t size) {
    char path[PATH_MAX];
    if (fcntl(fd, F_GETPATH, path) != 0) return 0;
    size_t bytes = strlen(path) < size ? strlen(path) : size;
    memcpy(out, path, bytes);
    return bytes;
}
#else
/* proc_pid_fd(5); elsewhere there is none. */
size_t nb_os_descriptor_path(int fd, char *out, size_t size) {
    char link[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, out, size);
    return bytes > 0 ? (size_t)bytes : 0;
}
#endif
