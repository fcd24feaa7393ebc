/*
 * file_io.h - files, for which no poller tells when the disk has answered: the hooks io_pread and
 * io_pwrite. Also the wait of io_read for a regular file whose pages are not in memory, and reads
 * and writes of file systems that another machine or process serves.
 *
 * First the kernel is asked for what it can do without waiting (preadv2(2), RWF_NOWAIT). What it
 * cannot goes to a native thread, while the fiber parks. The thread works on memory of the job's
 * own, never on Ruby's: a fiber that is interrupted may lose its string or buffer. The thread uses
 * the descriptor, so no fiber leaves the wait, and no IO is closed, before the thread has ended
 * with it.
 */
#ifndef NB_BINDING_FILE_IO_H
#define NB_BINDING_FILE_IO_H

#include <sys/types.h>

#include "binding/state/state.h"

/* preadv2(2) without waiting for the disk; from -1: at the file's position. -1 with EAGAIN: it
   would wait (also a pipe that is empty); EOPNOTSUPP: the kernel or the file system cannot tell. */
ssize_t nb_file_read_now(int fd, char *bytes, size_t size, off_t from);
bool nb_file_regular(int fd);
/* A regular file for which a thread has to wait: the kernel could not tell (EOPNOTSUPP of
   nb_file_read_now), or, for a write, another machine or process answers (NFS, FUSE...). */
bool nb_file_waits(int fd, bool writes);
/* Parks until a thread has read or written, at the file's position, what a read(2) or write(2)
   would. Bytes, or -1 and errno. Raises. */
ssize_t nb_file_move(nb_scheduler *scheduler, int fd, bool writes, VALUE buffer, size_t offset, size_t size);
/* Parks until what comes next in the file, `size` bytes at most, has been read by another thread;
   the position stays. Raises. */
void nb_file_warm(nb_scheduler *scheduler, int fd, size_t size);
/* The descriptor is about to be closed: returns when no native thread uses it. Fibers that wait for
   one get the exception. */
void nb_files_closing(nb_scheduler *scheduler, int fd, VALUE exception);
/* The memory of an IO::Buffer from offset on. To be asked for again after each wait: it may have
   been freed or made smaller. Raises. */
size_t nb_buffer_size(VALUE buffer);
char *nb_buffer_memory(VALUE buffer, bool writable, size_t offset, size_t size);

void nb_file_io_define(VALUE klass);

#endif
