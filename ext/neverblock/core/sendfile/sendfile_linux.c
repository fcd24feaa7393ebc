/*
 * sendfile_linux.c - sendfile(2) of Linux.
 */
#include "sendfile/sendfile.h"

#if defined(__linux__)

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/types.h>

/* The most that one call sends (sendfile(2)). */
#define ONCE_BYTES_MAX 0x7ffff000u

nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    if (offset > INT64_MAX) return NB_EOF;
    ssize_t sent;
    do {
        off_t position = (off_t)offset;
        sent = sendfile(socket_fd, file_fd, &position, bytes);
    } while (sent < 0 && errno == EINTR);
    if (sent > 0) {
        *moved = (size_t)sent;
        return *moved < bytes && *moved < ONCE_BYTES_MAX ? NB_AGAIN : NB_OK;
    }
    if (sent == 0) return NB_EOF;
    if (errno == EAGAIN) return NB_AGAIN;
    /* The file cannot be mapped, as on some FUSE mounts and in /proc, or it is too large for a
     * 32-bit system (sendfile(2)). */
    if (errno == EINVAL || errno == ENOSYS || errno == EOVERFLOW)
        return nb_os_sendfile_copy(socket_fd, file_fd, offset, bytes, moved);
    return NB_SYSTEM;
}

#endif

typedef int nb_sendfile_linux_is_not_empty; /* C11 6.9 wants a declaration in every file */
