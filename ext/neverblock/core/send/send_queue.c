/*
 * send_queue.c - see send_queue.h.
 */
#include "send/send_queue.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/page_cache.h"

/* Parts of one writev: the heads and bodies of a few pipelined responses. */
#define PARTS_MAX 16

/* Bytes of one sendfile call. They fill a socket buffer, and the turn stays short. */
#define FILE_STEP_BYTES (1u << 20)

/* Bytes that are copied rather than moved with their block. */
#define COPIED_BYTES_MAX 2048u

struct nb_chunk {
    nb_chunk *next;
    uint64_t offset; /* of the next byte: in the block, or in the file */
    uint64_t end;
    uint32_t capacity; /* of the block, whose bytes follow; 0: a file range */
};

typedef struct file_range {
    nb_chunk chunk;
    nb_file *file;
    nb_send_by by;
} file_range;

#define CHUNK_BYTES (NB_READ_BUFFER_BYTES - sizeof(nb_chunk))

void nb_send_queue_init(nb_send_queue *queue) { *queue = (nb_send_queue){0}; }

static file_range *range_of(nb_chunk *chunk) { return (file_range *)(void *)chunk; }
static char *bytes_of(nb_chunk *chunk) { return (char *)(chunk + 1); }

static void give_block(nb_chunk *chunk, nb_pool *pool) {
    pool->sending--;
    nb_pool_give(pool, chunk);
}

static void append(nb_send_queue *queue, nb_chunk *chunk) {
    chunk->next = NULL;
    if (queue->last) {
        queue->last->next = chunk;
    } else {
        queue->first = chunk;
    }
    queue->last = chunk;
}

static void drop_first(nb_send_queue *queue, nb_pool *pool) {
    nb_chunk *chunk = queue->first;
    queue->first = chunk->next;
    if (!queue->first) queue->last = NULL;
    if (!chunk->capacity) {
        queue->files--;
        nb_file_release(range_of(chunk)->file);
        nb_free(chunk);
    } else if (pool) {
        give_block(chunk, pool);
    } else {
        chunk->next = queue->spent;
        queue->spent = chunk;
    }
}

void nb_send_queue_give_back(nb_send_queue *queue, nb_pool *pool) {
    while (queue->spent) {
        nb_chunk *chunk = queue->spent;
        queue->spent = chunk->next;
        give_block(chunk, pool);
    }
}

void nb_send_queue_clear(nb_send_queue *queue, nb_pool *pool) {
    while (queue->first) {
        drop_first(queue, pool);
    }
    nb_send_queue_give_back(queue, pool);
    queue->bytes = 0;
}

static nb_chunk *memory_chunk(nb_send_queue *queue, nb_pool *pool) {
    nb_chunk *chunk = nb_pool_take(pool);
    if (!chunk) return NULL;
    pool->sending++;
    chunk->offset = chunk->end = 0;
    chunk->capacity = (uint32_t)CHUNK_BYTES;
    append(queue, chunk);
    return chunk;
}

char *nb_send_queue_reserve(nb_send_queue *queue, nb_pool *pool, size_t bytes) {
    NB_ASSERT(bytes <= NB_SEND_QUEUE_RESERVE_MAX);
    nb_chunk *chunk = queue->last;
    if (!chunk || chunk->capacity - chunk->end < bytes || !chunk->capacity) chunk = memory_chunk(queue, pool);
    return chunk ? bytes_of(chunk) + chunk->end : NULL;
}

void nb_send_queue_commit(nb_send_queue *queue, size_t bytes) {
    NB_ASSERT(queue->last && queue->last->end + bytes <= queue->last->capacity);
    queue->last->end += bytes;
    queue->bytes += bytes;
}

nb_status nb_send_queue_add(nb_send_queue *queue, nb_pool *pool, nb_slice bytes) {
    while (bytes.size > 0) {
        nb_chunk *chunk = queue->last;
        if (!chunk || !chunk->capacity || chunk->end == chunk->capacity) chunk = memory_chunk(queue, pool);
        if (!chunk) return NB_NO_MEMORY;
        size_t room = (size_t)(chunk->capacity - chunk->end);
        size_t step = bytes.size < room ? bytes.size : room;
        memcpy(bytes_of(chunk) + chunk->end, bytes.data, step);
        nb_send_queue_commit(queue, step);
        bytes.data += step;
        bytes.size -= step;
    }
    return NB_OK;
}

nb_status nb_send_queue_add_file(nb_send_queue *queue, nb_file *file, uint64_t offset, uint64_t bytes, nb_send_by by) {
    file_range *range = bytes ? nb_alloc(sizeof(*range)) : NULL;
    if (!range) {
        nb_file_release(file);
        return bytes ? NB_NO_MEMORY : NB_OK;
    }
    *range = (file_range){.chunk = {.offset = offset, .end = offset + bytes}, .file = file, .by = by};
    append(queue, &range->chunk);
    queue->bytes += bytes;
    queue->files++;
    return NB_OK;
}

void nb_send_queue_join(nb_send_queue *to, nb_send_queue *from) {
    if (!from->first) return;
    if (to->last) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    to->bytes += from->bytes;
    to->files += from->files;
    *from = (nb_send_queue){.spent = from->spent};
}

static void move_chunk(nb_send_queue *to, nb_send_queue *from) {
    nb_chunk *chunk = from->first;
    uint64_t bytes = chunk->end - chunk->offset;
    from->first = chunk->next;
    if (!from->first) from->last = NULL;
    from->bytes -= bytes;
    to->bytes += bytes;
    if (!chunk->capacity) {
        from->files--;
        to->files++;
    }
    append(to, chunk);
}

static nb_status move_front(nb_send_queue *to, nb_send_queue *from, nb_pool *pool, uint64_t bytes) {
    nb_chunk *chunk = from->first;
    nb_status status;
    if (chunk->capacity) {
        status = nb_send_queue_add(to, pool, (nb_slice){bytes_of(chunk) + chunk->offset, (size_t)bytes});
    } else {
        file_range *range = range_of(chunk);
        status = nb_send_queue_add_file(to, nb_file_hold(range->file), chunk->offset, bytes, range->by);
    }
    chunk->offset += bytes;
    from->bytes -= bytes;
    return status;
}

/* Copies a small first entry of `from` where `to` has room, so that small responses do not keep a
 * block each. False: it is none. */
static bool copy_small(nb_send_queue *to, nb_send_queue *from, nb_pool *pool, uint64_t bytes) {
    nb_chunk *chunk = from->first, *last = to->last;
    if (!chunk->capacity || bytes > COPIED_BYTES_MAX || !last || !last->capacity) return false;
    if (last->capacity - last->end < bytes) return false;
    memcpy(bytes_of(last) + last->end, bytes_of(chunk) + chunk->offset, (size_t)bytes);
    nb_send_queue_commit(to, (size_t)bytes);
    from->bytes -= bytes;
    drop_first(from, pool);
    return true;
}

nb_status nb_send_queue_move(nb_send_queue *to, nb_send_queue *from, nb_pool *pool, uint64_t bytes) {
    NB_ASSERT(bytes <= from->bytes);
    while (bytes > 0) {
        uint64_t size = from->first->end - from->first->offset;
        if (size > bytes) return move_front(to, from, pool, bytes);
        if (!copy_small(to, from, pool, size)) move_chunk(to, from);
        bytes -= size;
    }
    return NB_OK;
}

nb_send_by nb_send_queue_sent_by(const nb_send_queue *queue) {
    for (nb_chunk *chunk = queue->files ? queue->first : NULL; chunk; chunk = chunk->next) {
        if (!chunk->capacity) return range_of(chunk)->by;
    }
    return (nb_send_by){0};
}

static bool same(nb_send_by one, nb_send_by other) {
    return one.algorithm == other.algorithm && one.rate == other.rate;
}

void nb_send_queue_split(nb_send_queue *from, nb_send_queue *to) {
    nb_send_by by = nb_send_queue_sent_by(from);
    nb_send_queue front = {.first = from->first};
    nb_chunk *chunk = from->first;
    for (; chunk && (chunk->capacity || same(range_of(chunk)->by, by)); chunk = chunk->next) {
        front.last = chunk;
        front.bytes += chunk->end - chunk->offset;
        front.files += chunk->capacity == 0;
    }
    if (!front.last) return;
    front.last->next = NULL;
    from->first = chunk;
    if (!chunk) from->last = NULL;
    from->bytes -= front.bytes;
    from->files -= front.files;
    nb_send_queue_join(to, &front);
}

void nb_send_queue_peek(const nb_send_queue *queue, nb_download_next *next) {
    *next = (nb_download_next){.file = -1};
    for (nb_chunk *chunk = queue->first; chunk && next->bytes == 0; chunk = chunk->next) {
        /* 0 in a block that was reserved and not committed */
        next->bytes = chunk->end - chunk->offset;
        if (chunk->capacity) continue;
        next->offset = chunk->offset;
        next->file = range_of(chunk)->file->fd;
    }
}

static nb_chunk *first_file(const nb_send_queue *queue) {
    nb_chunk *chunk = queue->files ? queue->first : NULL;
    while (chunk && chunk->capacity) {
        chunk = chunk->next;
    }
    return chunk;
}

void nb_send_queue_peek_file(const nb_send_queue *queue, nb_download_next *next) {
    nb_chunk *chunk = first_file(queue);
    *next = (nb_download_next){.file = -1};
    if (chunk) *next = (nb_download_next){chunk->end - chunk->offset, chunk->offset, range_of(chunk)->file->fd};
}

nb_file *nb_send_queue_file(const nb_send_queue *queue) {
    nb_chunk *chunk = first_file(queue);
    return chunk ? range_of(chunk)->file : NULL;
}

/* Only of a regular file does its size tell. */
static bool ends_before(const nb_file *file, uint64_t end) {
    struct stat found;
    return fstat(file->fd, &found) == 0 && S_ISREG(found.st_mode) && (uint64_t)found.st_size < end;
}

nb_file *nb_send_queue_shrunk(const nb_send_queue *queue, uint64_t bytes) {
    for (nb_chunk *chunk = queue->files ? queue->first : NULL; chunk && bytes > 0; chunk = chunk->next) {
        uint64_t size = chunk->end - chunk->offset;
        if (size > bytes) size = bytes;
        if (!chunk->capacity && ends_before(range_of(chunk)->file, chunk->offset + size)) return range_of(chunk)->file;
        bytes -= size;
    }
    return NULL;
}

static nb_status send_memory(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, size_t *moved) {
    struct iovec parts[PARTS_MAX];
    int count = 0;
    nb_chunk *chunk = queue->first;
    for (; chunk && chunk->capacity && count < PARTS_MAX; chunk = chunk->next) {
        if (chunk->end == chunk->offset) continue;
        parts[count++] = (struct iovec){bytes_of(chunk) + chunk->offset, (size_t)(chunk->end - chunk->offset)};
    }
    nb_status status = count ? transport->kind->writev(transport, parts, count, chunk != NULL, moved) : NB_OK;
    size_t left = *moved;
    while (queue->first && queue->first->capacity) {
        chunk = queue->first;
        size_t step = (size_t)(chunk->end - chunk->offset);
        if (step > left) step = left;
        chunk->offset += step;
        left -= step;
        if (chunk->offset < chunk->end) break;
        drop_first(queue, pool);
    }
    return status;
}

static nb_status send_file(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t most, size_t *moved) {
    nb_chunk *chunk = queue->first;
    uint64_t bytes = chunk->end - chunk->offset;
    if (bytes > most) bytes = most;
    if (bytes > FILE_STEP_BYTES) bytes = FILE_STEP_BYTES;
    nb_status status = transport->kind->sendfile(transport, range_of(chunk)->file->fd, chunk->offset, (size_t)bytes,
                                                 moved);
    chunk->offset += *moved;
    if (chunk->offset == chunk->end) drop_first(queue, pool);
    return status;
}

nb_status nb_send_queue_push(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t most,
                             size_t *moved) {
    nb_status status = NB_OK;
    *moved = 0;
    while (queue->first && *moved == 0 && status == NB_OK) {
        status = queue->first->capacity ? send_memory(queue, pool, transport, moved)
                                        : send_file(queue, pool, transport, most, moved);
    }
    queue->bytes -= *moved;
    return status;
}

nb_status nb_send_queue_send(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t budget,
                             uint64_t *sent) {
    *sent = 0;
    while (queue->first) {
        if (*sent >= budget) return NB_INCOMPLETE;
        size_t moved = 0;
        nb_status status = nb_send_queue_push(queue, pool, transport, budget - *sent, &moved);
        *sent += moved;
        if (status != NB_OK) return status;
    }
    return NB_OK;
}

/* The memory chunk before the first file range, when that is small, and fits behind the chunk's
 * bytes and into one block more. NULL: there is none. */
static nb_chunk *before_small_file(const nb_send_queue *queue) {
    nb_chunk *chunk = queue->files ? queue->first : NULL;
    while (chunk && chunk->capacity && chunk->next && chunk->next->capacity) {
        chunk = chunk->next;
    }
    if (!chunk || !chunk->capacity || !chunk->next) return NULL;
    uint64_t bytes = (uint64_t)(chunk->next->end - chunk->next->offset),
             room = (uint64_t)(chunk->capacity - chunk->end);
    return bytes <= NB_SEND_QUEUE_GATHER_MAX && bytes <= room + CHUNK_BYTES ? chunk : NULL;
}

/* Reads the range into the room behind `head`, and what does not fit there into `more`. */
static nb_status read_range(nb_chunk *head, nb_chunk *more, const file_range *range, bool ready_only) {
    size_t bytes = (size_t)(range->chunk.end - range->chunk.offset), room = (size_t)(head->capacity - head->end);
    if (room > bytes) room = bytes;
    struct iovec parts[2] = {{bytes_of(head) + head->end, room}};
    if (more) parts[1] = (struct iovec){bytes_of(more), bytes - room};
    size_t got = 0;
    nb_status status = nb_page_cache_read(range->file->fd, parts, more ? 2 : 1, range->chunk.offset, ready_only, &got);
    if (status == NB_OK && got < bytes) status = ready_only ? NB_AGAIN : NB_EOF;
    if (status != NB_OK) return status;
    head->end += room;
    if (more) more->end = bytes - room;
    return NB_OK;
}

nb_status nb_send_queue_gather(nb_send_queue *queue, nb_pool *pool, bool ready_only) {
    nb_chunk *head = before_small_file(queue), *more = NULL;
    if (!head) return NB_NOT_FOUND;
    file_range *range = range_of(head->next);
    if (range->chunk.end - range->chunk.offset > head->capacity - head->end) {
        more = nb_pool_take(pool);
        if (!more) return NB_NO_MEMORY;
        pool->sending++;
        *more = (nb_chunk){.capacity = (uint32_t)CHUNK_BYTES};
    }
    nb_status status = read_range(head, more, range, ready_only);
    if (status != NB_OK) {
        if (more) give_block(more, pool);
        return status;
    }
    nb_chunk *last = more ? more : head;
    if (more) head->next = more;
    last->next = range->chunk.next;
    if (queue->last == &range->chunk) queue->last = last;
    queue->files--;
    nb_file_release(range->file);
    nb_free(range);
    return NB_OK;
}
