/*
 * page_cache.h - tells whether a file's bytes are in memory, so that a thread that must not wait
 * for the disk does not. Any thread.
 *
 * It asks by preadv2(2) with RWF_NOWAIT; mincore(2) answers only the file's owner. What cannot be
 * told (by some file systems and systems) counts as not in memory. A page in memory may be evicted
 * before it is used. Nothing here can rule that out, and a reader then waits for the disk.
 */
#ifndef NB_OS_PAGE_CACHE_H
#define NB_OS_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

/* Reads from `offset`. ready_only: only what is in memory. NB_OK: *got > 0 bytes, perhaps fewer
   than asked for. NB_AGAIN: nothing of it is in memory. NB_UNSUPPORTED: it cannot be told. NB_EOF:
   the file ends there. NB_SYSTEM: errno. */
nb_status nb_page_cache_read(int fd, const struct iovec *parts, int count, uint64_t offset, bool ready_only,
                             size_t *got);
/* Probes one page in every 128 KB of the range, and the last one: the kernel reads and evicts
   neighbours together. NB_OK: all are in memory. NB_AGAIN: one is not; the first *ready bytes
   (perhaps 0) count as in memory. NB_UNSUPPORTED. NB_EOF: the file ends within the range.
   NB_SYSTEM: errno. */
nb_status nb_page_cache_probe(int fd, uint64_t offset, uint64_t bytes, uint64_t *ready);
/* Reads the range so that it is in memory, waiting for the disk. NB_OK; NB_EOF: the file ends
   within the range. NB_SYSTEM: errno. */
nb_status nb_page_cache_fill(int fd, uint64_t offset, uint64_t bytes);

#endif
