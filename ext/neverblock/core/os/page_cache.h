/*
 * page_cache.h - whether a file's bytes are in memory, so that a thread that must not wait for the disk does not. Any thread.
 *
 * Asked by preadv2(2) with RWF_NOWAIT, and not by mincore(2), which tells only the file's owner. What it does not tell (a
 * file system, a system without it) counts as not in memory. A page that is in memory now may be taken away before it is
 * used: nothing here can rule that out, and whoever then reads waits for the disk.
 */
#ifndef NB_OS_PAGE_CACHE_H
#define NB_OS_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

/* Reads from `offset`. ready_only: only what is in memory; NB_AGAIN: nothing of it is, NB_UNSUPPORTED: it cannot be told.
   NB_OK: *got > 0 bytes, perhaps fewer than asked for. NB_EOF: the file ends there. NB_SYSTEM: errno. */
nb_status nb_page_cache_read(int fd, const struct iovec *parts, int count, uint64_t offset, bool ready_only,
                             size_t *got);
/* Looks at a page in every 128 KB of the range and at the last one: reading ahead brings, and the kernel gives up, neighbours
   together. NB_OK: they are in memory. NB_AGAIN: one is not; the first *ready bytes are taken for being (perhaps 0). NB_UNSUPPORTED. NB_EOF:
   the file ends within the range. NB_SYSTEM: errno. */
nb_status nb_page_cache_probe(int fd, uint64_t offset, uint64_t bytes, uint64_t *ready);
/* Reads the range so that it is in memory, waiting for the disk. NB_OK; NB_EOF: the file ends within the range.
   NB_SYSTEM: errno. */
nb_status nb_page_cache_fill(int fd, uint64_t offset, uint64_t bytes);

#endif
