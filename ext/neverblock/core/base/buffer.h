/*
 * buffer.h - bytes received and not yet consumed: a window [start, end) in a block. The block
 * comes from the pool, and moves to the heap when a head is larger. An empty buffer holds no
 * memory. Not thread-safe.
 */
#ifndef NB_BASE_BUFFER_H
#define NB_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"

typedef struct nb_buffer {
    char *data; /* NULL when nothing is held */
    uint32_t start, end, capacity;
} nb_buffer;

static inline size_t nb_buffer_size(const nb_buffer *buffer) { return (size_t)(buffer->end - buffer->start); }
static inline char *nb_buffer_bytes(const nb_buffer *buffer) { return buffer->data + buffer->start; }

/* Makes room after `end`: takes a block, moves the window to its front, or doubles it up to
   capacity_max. NB_OVER_LIMIT: the window fills capacity_max. *room is the number of bytes that may
   be written at data + end. */
nb_status nb_buffer_room(nb_buffer *buffer, nb_pool *pool, size_t capacity_max, size_t *room);
/* Drops `bytes` from the front. An emptied buffer returns its block. */
void nb_buffer_consume(nb_buffer *buffer, nb_pool *pool, size_t bytes);
void nb_buffer_release(nb_buffer *buffer, nb_pool *pool);

#endif
