/*
 * sendfile_darwin.c - sendfile(2) of macOS. It returns the number of bytes sent in its length
 * argument, also on failure.
 */
#include "sendfile/sendfile.h"

#if defined(__APPLE__)

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    if (offset > INT64_MAX) return NB_EOF;
    off_t sent;
    int result;
    do {
        sent = (off_t)bytes;
        result = sendfile(file_fd, socket_fd, (off_t)offset, &sent, NULL, 0);
    } while (result < 0 && errno == EINTR && sent == 0);
    if (sent > 0 && (result == 0 || errno == EAGAIN || errno == EINTR)) {
        *moved = (size_t)sent;
        return result < 0 && errno == EAGAIN ? NB_AGAIN : NB_OK;
    }
    if (result == 0) return NB_EOF;
    if (errno == EAGAIN) return NB_AGAIN;
    if (errno == ENOTSUP || errno == EOPNOTSUPP) return nb_os_sendfile_copy(socket_fd, file_fd, offset, bytes, moved);
    return NB_SYSTEM;
}

#endif

typedef int nb_sendfile_darwin_is_not_empty; /* C11 6.9 wants a declaration in every file */
