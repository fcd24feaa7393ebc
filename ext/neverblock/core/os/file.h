/* file.h - temporary files, whole writes, small reads. Blocking: for file workers, not for the
   loop. */
#ifndef NB_OS_FILE_H
#define NB_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* A new, empty, nameless file in `directory`, mode 0600, CLOEXEC, read and write (O_TMPFILE, or
   mkostemp(3) and unlink where the file system lacks it). NB_SYSTEM: errno. */
nb_status nb_file_temporary(const char *directory, int *fd);
/* Writes all bytes at the file's position. NB_SYSTEM: errno (ENOSPC, EDQUOT, EIO). */
nb_status nb_file_write_all(int fd, const char *bytes, size_t size);
/* Reads the start of a small file, such as those of proc(5), and ends it with a NUL; `room` counts
   both. False: there is no such file, or it is empty. */
bool nb_file_read_text(const char *path, char *text, size_t room);

#endif
