/*
 * page_cache.c - see page_cache.h.
 */
#define _GNU_SOURCE 1 /* preadv2 */

#include "os/page_cache.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

/* What Linux reads ahead at once by default (read_ahead_kb of a device). */
#define PROBE_EVERY_BYTES 131072u

/* Bytes read at once while filling, on the stack of a worker. */
#define FILL_BYTES 65536u

#if defined(RWF_NOWAIT)
static ssize_t read_ready(int fd, const struct iovec *parts, int count, uint64_t offset) {
    ssize_t got = preadv2(fd, parts, count, (off_t)offset, RWF_NOWAIT);
    /* True: the kernel, or a filter of system calls, does not know preadv2(2). */
    if (got < 0 && (errno == ENOSYS || errno == EINVAL || errno == EPERM)) errno = EOPNOTSUPP;
    return got;
}
#else
static ssize_t read_ready(int fd, const struct iovec *parts, int count, uint64_t offset) {
    (void)fd, (void)parts, (void)count, (void)offset;
    errno = EOPNOTSUPP;
    return -1;
}
#endif

nb_status nb_page_cache_read(int fd, const struct iovec *parts, int count, uint64_t offset, bool ready_only,
                             size_t *got) {
    if (offset > INT64_MAX) return NB_EOF;
    ssize_t bytes;
    do {
        bytes = ready_only ? read_ready(fd, parts, count, offset) : preadv(fd, parts, count, (off_t)offset);
    } while (bytes < 0 && errno == EINTR);
    if (bytes == 0) return NB_EOF;
    if (bytes < 0 && errno == EAGAIN) return NB_AGAIN;
    if (bytes < 0) return errno == EOPNOTSUPP ? NB_UNSUPPORTED : NB_SYSTEM;
    *got = (size_t)bytes;
    return NB_OK;
}

nb_status nb_page_cache_probe(int fd, uint64_t offset, uint64_t bytes, uint64_t *ready) {
    uint64_t last = offset + bytes - 1, at = offset, before = offset;
    for (;;) {
        char byte;
        size_t got;
        nb_status status = nb_page_cache_read(fd, &(struct iovec){&byte, 1}, 1, at, true, &got);
        *ready = status == NB_OK ? bytes : before - offset;
        if (status != NB_OK || at == last) return status;
        before = at;
        at = last - at > PROBE_EVERY_BYTES ? at + PROBE_EVERY_BYTES : last;
    }
}

nb_status nb_page_cache_fill(int fd, uint64_t offset, uint64_t bytes) {
    char scratch[FILL_BYTES];
    while (bytes > 0) {
        const struct iovec part = {scratch, bytes < sizeof(scratch) ? (size_t)bytes : sizeof(scratch)};
        size_t got = 0;
        nb_status status = nb_page_cache_read(fd, &part, 1, offset, false, &got);
        if (status != NB_OK) return status;
        offset += got;
        bytes -= got;
    }
    return NB_OK;
}
