/*
 * file.c - see file.h.
 */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static nb_status named_then_unlinked(const char *directory, int *fd) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/neverblock-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return NB_SYSTEM;
    }
    int opened = mkostemp(path, O_CLOEXEC);
    if (opened < 0) return NB_SYSTEM;
    unlink(path);
    *fd = opened;
    return NB_OK;
}

nb_status nb_file_temporary(const char *directory, int *fd) {
#ifdef O_TMPFILE
    int opened = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (opened >= 0) {
        *fd = opened;
        return NB_OK;
    }
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return NB_SYSTEM;
#endif
    return named_then_unlinked(directory, fd);
}

nb_status nb_file_write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return NB_SYSTEM;
        bytes += written;
        size -= (size_t)written;
    }
    return NB_OK;
}

bool nb_file_read_text(const char *path, char *text, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, text, room - 1);
    close(fd);
    if (size <= 0) return false;
    text[size] = '\0';
    return true;
}
