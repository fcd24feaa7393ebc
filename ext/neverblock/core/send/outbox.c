/*
 * outbox.c - see outbox.h. The sender is the simple one: memory by writev, files by sendfile(2) from the caller's
 * thread.
 */
#include "send/outbox.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"

/* Parts of one writev: the head and body of a pipeline's responses; more is of no use to a socket buffer. */
#define PARTS_MAX 16

/* One sendfile call: large enough to fill a socket buffer (4 MB at the most), small enough to keep turns short. */
#define FILE_STEP_BYTES (1u << 20)

struct nb_chunk {
    nb_chunk *next;
    uint64_t offset; /* of the next byte: in data, or in the file */
    uint64_t end;
    uint32_t capacity; /* 0: a file range */
    int fd;
    char data[];
};

#define CHUNK_BYTES (NB_READ_BUFFER_BYTES - sizeof(nb_chunk))

void nb_outbox_init(nb_outbox *outbox) { *outbox = (nb_outbox){NULL, NULL, 0}; }

static void chunk_free(nb_chunk *chunk, nb_pool *pool) {
    if (chunk->capacity) {
        pool->sending--;
        nb_pool_give(pool, chunk);
        return;
    }
    close(chunk->fd);
    nb_free(chunk);
}

static void append(nb_outbox *outbox, nb_chunk *chunk) {
    chunk->next = NULL;
    if (outbox->last) {
        outbox->last->next = chunk;
    } else {
        outbox->first = chunk;
    }
    outbox->last = chunk;
}

static void drop_first(nb_outbox *outbox, nb_pool *pool) {
    nb_chunk *chunk = outbox->first;
    outbox->first = chunk->next;
    if (!outbox->first) outbox->last = NULL;
    chunk_free(chunk, pool);
}

void nb_outbox_clear(nb_outbox *outbox, nb_pool *pool) {
    while (outbox->first) {
        drop_first(outbox, pool);
    }
    outbox->bytes = 0;
}

static nb_chunk *memory_chunk(nb_outbox *outbox, nb_pool *pool) {
    nb_chunk *chunk = nb_pool_take(pool);
    if (!chunk) return NULL;
    pool->sending++;
    chunk->offset = chunk->end = 0;
    chunk->capacity = (uint32_t)CHUNK_BYTES;
    chunk->fd = -1;
    append(outbox, chunk);
    return chunk;
}

char *nb_outbox_reserve(nb_outbox *outbox, nb_pool *pool, size_t bytes) {
    NB_ASSERT(bytes <= NB_OUTBOX_RESERVE_MAX);
    nb_chunk *chunk = outbox->last;
    if (!chunk || chunk->capacity - chunk->end < bytes || !chunk->capacity) chunk = memory_chunk(outbox, pool);
    return chunk ? chunk->data + chunk->end : NULL;
}

void nb_outbox_commit(nb_outbox *outbox, size_t bytes) {
    NB_ASSERT(outbox->last && outbox->last->end + bytes <= outbox->last->capacity);
    outbox->last->end += bytes;
    outbox->bytes += bytes;
}

nb_status nb_outbox_add(nb_outbox *outbox, nb_pool *pool, nb_slice bytes) {
    while (bytes.size > 0) {
        nb_chunk *chunk = outbox->last;
        if (!chunk || !chunk->capacity || chunk->end == chunk->capacity) chunk = memory_chunk(outbox, pool);
        if (!chunk) return NB_NO_MEMORY;
        size_t room = (size_t)(chunk->capacity - chunk->end);
        size_t step = bytes.size < room ? bytes.size : room;
        memcpy(chunk->data + chunk->end, bytes.data, step);
        nb_outbox_commit(outbox, step);
        bytes.data += step;
        bytes.size -= step;
    }
    return NB_OK;
}

nb_status nb_outbox_add_file(nb_outbox *outbox, int fd, uint64_t offset, uint64_t bytes) {
    nb_chunk *chunk = bytes ? nb_alloc(sizeof(*chunk)) : NULL;
    if (!chunk) {
        close(fd);
        return bytes ? NB_NO_MEMORY : NB_OK;
    }
    chunk->offset = offset;
    chunk->end = offset + bytes;
    chunk->capacity = 0;
    chunk->fd = fd;
    append(outbox, chunk);
    outbox->bytes += bytes;
    return NB_OK;
}

void nb_outbox_join(nb_outbox *to, nb_outbox *from) {
    if (!from->first) return;
    if (to->last) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    to->bytes += from->bytes;
    nb_outbox_init(from);
}

static nb_status send_memory(nb_outbox *outbox, nb_pool *pool, nb_transport *transport, size_t *moved) {
    struct iovec parts[PARTS_MAX];
    int count = 0;
    for (nb_chunk *chunk = outbox->first; chunk && chunk->capacity && count < PARTS_MAX; chunk = chunk->next) {
        if (chunk->end == chunk->offset) continue;
        parts[count++] = (struct iovec){chunk->data + chunk->offset, (size_t)(chunk->end - chunk->offset)};
    }
    nb_status status = count ? transport->kind->writev(transport, parts, count, moved) : NB_OK;
    size_t left = *moved;
    while (outbox->first && outbox->first->capacity) {
        nb_chunk *chunk = outbox->first;
        size_t step = (size_t)(chunk->end - chunk->offset);
        if (step > left) step = left;
        chunk->offset += step;
        left -= step;
        if (chunk->offset < chunk->end) break;
        drop_first(outbox, pool);
    }
    return status;
}

static nb_status send_file(nb_outbox *outbox, nb_pool *pool, nb_transport *transport, uint64_t budget, size_t *moved) {
    nb_chunk *chunk = outbox->first;
    uint64_t bytes = chunk->end - chunk->offset;
    if (bytes > budget) bytes = budget;
    if (bytes > FILE_STEP_BYTES) bytes = FILE_STEP_BYTES;
    nb_status status = transport->kind->sendfile(transport, chunk->fd, chunk->offset, (size_t)bytes, moved);
    chunk->offset += *moved;
    if (chunk->offset == chunk->end) drop_first(outbox, pool);
    return status;
}

nb_status nb_outbox_send(nb_outbox *outbox, nb_pool *pool, nb_transport *transport, uint64_t budget, uint64_t *sent) {
    *sent = 0;
    while (outbox->first) {
        if (*sent >= budget) return NB_INCOMPLETE;
        size_t moved = 0;
        nb_status status = outbox->first->capacity ? send_memory(outbox, pool, transport, &moved)
                                                   : send_file(outbox, pool, transport, budget - *sent, &moved);
        *sent += moved;
        outbox->bytes -= moved;
        if (status != NB_OK) return status;
    }
    return NB_OK;
}
