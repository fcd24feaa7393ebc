/*
 * sendfile.h - bytes of a file to a socket, one file a platform (sendfile_linux.c, sendfile_darwin.c,
 * sendfile_freebsd.c, sendfile_portable.c), one signature.
 *
 * Sends at most `bytes` (> 0) from `offset` of file_fd. NB_OK: *moved > 0 bytes went. NB_AGAIN: the socket is full; where
 * some bytes went before it was, fewer than `bytes`, *moved tells them, else it is left alone. Who asks again at once, and
 * not when the socket can be written to, sends what its peer happened to read meanwhile, in small pieces that cost much. (On
 * Linux it is also said where the file ended before `bytes` did: the socket can be written to then, and the next call tells.)
 * NB_EOF: the file ends at or before offset (it shrank). NB_SYSTEM: errno. A page that is not in memory blocks the
 * calling thread for the disk. sendfile(2) has no MSG_NOSIGNAL: the calling thread blocks SIGPIPE (nb_thread_start
 * does) or the process handles it.
 *
 * nb_os_sendfile_copy does the same with a buffer: for systems without sendfile(2) and for file systems that cannot do
 * it.
 */
#ifndef NB_SENDFILE_SENDFILE_H
#define NB_SENDFILE_SENDFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
nb_status nb_os_sendfile_copy(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);

#endif
