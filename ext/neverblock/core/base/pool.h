/*
 * pool.h - the loop's I/O buffers: blocks of NB_READ_BUFFER_BYTES kept on a free list, so that an idle connection holds
 * none and a busy one takes a warm one. Not thread-safe. At most NB_POOL_KEPT_MAX free blocks are kept (4 MB); more are
 * given back to the heap, and counted until nb_pool_trim: the sign that a burst is over.
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
    unsigned returned; /* to the heap since the last trim */
    unsigned sending;  /* blocks out that hold bytes of responses: kept by send_queue.c */
} nb_pool;

void nb_pool_init(nb_pool *pool);
void nb_pool_deinit(nb_pool *pool);
/* NB_READ_BUFFER_BYTES bytes, or NULL when memory is out. */
void *nb_pool_take(nb_pool *pool);
void nb_pool_give(nb_pool *pool, void *block);
/* Keeps NB_POOL_KEPT_TRIMMED free blocks at the most. */
void nb_pool_trim(nb_pool *pool);

#endif
