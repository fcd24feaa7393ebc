/*
 * kernel_tls.c - see kernel_tls.h.
 */
#include "os/kernel_tls.h"

#ifdef __linux__

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static bool found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A kernel that has it refuses a socket without a connection (ENOTCONN; ENOTSUPP, 524, before 5.4).
 * One without says ENOENT or ENOPROTOOPT: Documentation/networking/tls.rst. */
static void ask(void) {
    enum { NOT_SUPPORTED = 524 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    int result = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls"));
    found = result == 0 || errno == ENOTCONN || errno == NOT_SUPPORTED;
    (void)close(fd);
}

bool nb_os_kernel_tls(void) {
    pthread_once(&once, ask);
    return found;
}

#else

bool nb_os_kernel_tls(void) { return false; }

#endif
