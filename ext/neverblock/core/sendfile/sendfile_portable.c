/*
 * sendfile_portable.c - sends a file through a buffer on the stack.
 */
#include "sendfile/sendfile.h"

#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/net.h"

enum { BUFFER_BYTES = 65536 };

nb_status nb_os_sendfile_copy(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    char buffer[BUFFER_BYTES];
    if (offset > INT64_MAX) return NB_EOF;
    ssize_t got;
    do {
        got = pread(file_fd, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return NB_SYSTEM;
    if (got == 0) return NB_EOF;
    const struct iovec part = {buffer, (size_t)got};
    return nb_net_writev(socket_fd, &part, 1, moved);
}

#if !defined(__linux__) && !defined(__APPLE__) && !defined(__FreeBSD__) && !defined(__DragonFly__)
nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    return nb_os_sendfile_copy(socket_fd, file_fd, offset, bytes, moved);
}
#endif
