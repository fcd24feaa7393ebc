/*
 * pool.c - see pool.h. Last in, first out: the block given back last is the one still in the
 * processor's cache.
 */
#include "base/pool.h"

#include "base/alloc.h"

struct nb_pool_block {
    nb_pool_block *next;
};

void nb_pool_init(nb_pool *pool) { *pool = (nb_pool){NULL, 0, 0, 0}; }

static void keep(nb_pool *pool, unsigned count) {
    while (pool->kept > count) {
        nb_pool_block *block = pool->free;
        pool->free = block->next;
        pool->kept--;
        nb_free(block);
    }
}

void nb_pool_deinit(nb_pool *pool) { keep(pool, 0); }

void nb_pool_trim(nb_pool *pool) {
    keep(pool, NB_POOL_KEPT_TRIMMED);
    pool->returned = 0;
}

void *nb_pool_take(nb_pool *pool) {
    nb_pool_block *block = pool->free;
    if (!block) return nb_alloc(NB_READ_BUFFER_BYTES);
    pool->free = block->next;
    pool->kept--;
    return block;
}

void nb_pool_give(nb_pool *pool, void *memory) {
    if (!memory) return;
    if (pool->kept >= NB_POOL_KEPT_MAX) {
        nb_free(memory);
        pool->returned++;
        return;
    }
    nb_pool_block *block = memory;
    block->next = pool->free;
    pool->free = block;
    pool->kept++;
}
