/*
 * sendfile.h - sends bytes of a file to a socket: one function, with one file for each platform
 * (sendfile_linux.c, sendfile_darwin.c, sendfile_freebsd.c, sendfile_portable.c).
 *
 * Sends at most `bytes` (> 0) from `offset` of file_fd.
 *
 *   NB_OK      *moved > 0 bytes were sent.
 *   NB_AGAIN   the socket is full. If bytes were sent before, *moved is their number, else it is
 *              unchanged. Wait until the socket is writable: trying again at once sends small
 *              pieces at a high cost. On Linux also when the file ends before `bytes` do; the
 *              socket is writable then, and the next call returns NB_EOF.
 *   NB_EOF     the file ends at or before `offset`: it became shorter.
 *   NB_SYSTEM  errno.
 *
 * A page that is not in memory blocks the calling thread for the disk. sendfile(2) has no
 * MSG_NOSIGNAL: the calling thread blocks SIGPIPE (nb_thread_start does), or the process handles
 * it. Any thread.
 *
 * nb_os_sendfile_copy does the same with a buffer, for systems and file systems without
 * sendfile(2).
 */
#ifndef NB_SENDFILE_SENDFILE_H
#define NB_SENDFILE_SENDFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

nb_status nb_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
nb_status nb_os_sendfile_copy(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);

#endif
