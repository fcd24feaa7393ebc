/*
 * pool.h - the loop's I/O buffers: blocks of NB_READ_BUFFER_BYTES on a free list, so that an idle
 * connection holds none and a busy one gets a block that is in the cache. At most NB_POOL_KEPT_MAX
 * free blocks are kept (4 MB). More are freed, and counted until nb_pool_trim, as the sign that a
 * burst is over. Not thread-safe.
 */
#ifndef NB_BASE_POOL_H
#define NB_BASE_POOL_H

#include <stddef.h>

#include "base/limits.h"

#define NB_POOL_KEPT_MAX 256u
#define NB_POOL_KEPT_TRIMMED 16u

typedef struct nb_pool_block nb_pool_block;

typedef struct nb_pool {
    nb_pool_block *free;
    unsigned kept;
    unsigned returned; /* freed to the heap since the last trim */
    unsigned sending;  /* blocks in use that hold bytes of responses; counted by send_queue.c */
} nb_pool;

void nb_pool_init(nb_pool *pool);
void nb_pool_deinit(nb_pool *pool);
/* A block of NB_READ_BUFFER_BYTES. NULL: no memory. */
void *nb_pool_take(nb_pool *pool);
void nb_pool_give(nb_pool *pool, void *block);
/* Frees all but NB_POOL_KEPT_TRIMMED free blocks. */
void nb_pool_trim(nb_pool *pool);

#endif
