/* file.h - temporary files and whole writes. Blocking: for file workers, not for the loop. */
#ifndef NB_OS_FILE_H
#define NB_OS_FILE_H

#include <stddef.h>

#include "base/status.h"

/* A new, empty, nameless file in `directory`, mode 0600, CLOEXEC, read and write (O_TMPFILE, or mkostemp(3) and unlink
   where the file system lacks it). NB_SYSTEM: errno. */
nb_status nb_file_temporary(const char *directory, int *fd);
/* All of it, at the file's position. NB_SYSTEM: errno (ENOSPC, EDQUOT, EIO). */
nb_status nb_file_write_all(int fd, const char *bytes, size_t size);

#endif
