/*
 * buffer.c - see buffer.h.
 */
#include "base/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

static void give_block(nb_buffer *buffer, nb_pool *pool) {
    if (buffer->capacity == NB_READ_BUFFER_BYTES) {
        nb_pool_give(pool, buffer->data);
    } else {
        nb_free(buffer->data);
    }
}

static nb_status grow(nb_buffer *buffer, nb_pool *pool, size_t capacity_max) {
    size_t capacity = (size_t)buffer->capacity * 2;
    if (capacity > capacity_max) capacity = capacity_max;
    if (capacity <= buffer->capacity) return NB_OVER_LIMIT;
    char *data = nb_alloc(capacity);
    if (!data) return NB_NO_MEMORY;
    memcpy(data, nb_buffer_bytes(buffer), nb_buffer_size(buffer));
    give_block(buffer, pool);
    buffer->data = data;
    buffer->end -= buffer->start;
    buffer->start = 0;
    buffer->capacity = (uint32_t)capacity;
    return NB_OK;
}

nb_status nb_buffer_room(nb_buffer *buffer, nb_pool *pool, size_t capacity_max, size_t *room) {
    if (!buffer->data) {
        char *data = nb_pool_take(pool);
        if (!data) return NB_NO_MEMORY;
        *buffer = (nb_buffer){data, 0, 0, NB_READ_BUFFER_BYTES};
    } else if (buffer->end == buffer->capacity && buffer->start > 0) {
        memmove(buffer->data, nb_buffer_bytes(buffer), nb_buffer_size(buffer));
        buffer->end -= buffer->start;
        buffer->start = 0;
    } else if (buffer->end == buffer->capacity) {
        nb_status status = grow(buffer, pool, capacity_max);
        if (status != NB_OK) return status;
    }
    *room = (size_t)(buffer->capacity - buffer->end);
    return NB_OK;
}

void nb_buffer_consume(nb_buffer *buffer, nb_pool *pool, size_t bytes) {
    NB_ASSERT(bytes <= nb_buffer_size(buffer));
    buffer->start += (uint32_t)bytes;
    if (buffer->start == buffer->end) nb_buffer_release(buffer, pool);
}

void nb_buffer_release(nb_buffer *buffer, nb_pool *pool) {
    if (buffer->data) give_block(buffer, pool);
    *buffer = (nb_buffer){NULL, 0, 0, 0};
}
