/*
 * sendfile_freebsd.c - sendfile(2) of FreeBSD and DragonFly. It returns the number of bytes sent in
 * an argument, also on failure.
 */
#include "sendfile/sendfile.h"

#if defined(__FreeBSD__) || defined(__DragonFly__)

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* EBUSY means that a page is still being read. It comes with SF_NODISKIO only, which is not set,
 * and is treated as EAGAIN. */
nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    if (offset > INT64_MAX) return NB_EOF;
    off_t sent;
    int result;
    do {
        sent = 0;
        result = sendfile(file_fd, socket_fd, (off_t)offset, bytes, NULL, &sent, 0);
    } while (result < 0 && errno == EINTR && sent == 0);
    if (sent > 0 && (result == 0 || errno == EAGAIN || errno == EINTR || errno == EBUSY)) {
        *moved = (size_t)sent;
        return result < 0 && errno == EAGAIN ? NB_AGAIN : NB_OK;
    }
    if (result == 0) return NB_EOF;
    if (errno == EAGAIN || errno == EBUSY) return NB_AGAIN;
    if (errno == EINVAL || errno == EOPNOTSUPP) return nb_os_sendfile_copy(socket_fd, file_fd, offset, bytes, moved);
    return NB_SYSTEM;
}

#endif

typedef int nb_sendfile_freebsd_is_not_empty; /* C11 6.9 wants a declaration in every file */
