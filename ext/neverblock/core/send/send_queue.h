/*
 * send_queue.h - bytes on their way to one client, in order: memory chunks and file ranges. Owned by one connection, exchange or sending
 * (sending.h).
 *
 * Small appends share a pool block; send queues can be joined without copying. A file range holds its file (files/open_file.h)
 * until it was sent or the send queue is cleared, and says how it is to be sent.
 *
 * The pool is one thread's. Another thread that sends from a send queue passes NULL for it: blocks that were sent then wait in
 * the send queue until nb_send_queue_give_back.
 */
#ifndef NB_SEND_SEND_QUEUE_H
#define NB_SEND_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/slice.h"
#include "base/status.h"
#include "files/open_file.h"
#include "include/neverblock.h"
#include "transport/transport.h"

typedef struct nb_chunk nb_chunk;

/* How a file range is sent. All zero: as the server's settings say. */
typedef struct nb_send_by {
    uint64_t rate;      /* bytes a second of its connection; 0: no limit */
    uint16_t algorithm; /* its number (algorithms.h) */
} nb_send_by;

typedef struct nb_send_queue {
    nb_chunk *first, *last;
    nb_chunk *spent; /* blocks sent without the pool at hand */
    uint64_t bytes;  /* all that is not sent yet */
    uint32_t files;  /* ranges among it */
} nb_send_queue;

void nb_send_queue_init(nb_send_queue *queue);
/* Drops everything. */
void nb_send_queue_clear(nb_send_queue *queue, nb_pool *pool);
static inline bool nb_send_queue_empty(const nb_send_queue *queue) { return queue->first == NULL; }

/* Room for `bytes` (at most NB_SEND_QUEUE_RESERVE_MAX) contiguous bytes at the end, to be filled and ended by
 * nb_send_queue_commit. NULL: no memory. */
#define NB_SEND_QUEUE_RESERVE_MAX 4096u
char *nb_send_queue_reserve(nb_send_queue *queue, nb_pool *pool, size_t bytes);
void nb_send_queue_commit(nb_send_queue *queue, size_t bytes);
/* Copies. NB_NO_MEMORY: part of it may be in; give the connection up. */
nb_status nb_send_queue_add(nb_send_queue *queue, nb_pool *pool, nb_slice bytes);
/* Takes one hold of the file, also on failure. bytes 0: it is let go of at once. NB_NO_MEMORY. */
nb_status nb_send_queue_add_file(nb_send_queue *queue, nb_file *file, uint64_t offset, uint64_t bytes, nb_send_by by);
/* Moves all of `from` behind `to`. */
void nb_send_queue_join(nb_send_queue *to, nb_send_queue *from);
/* Moves the first `bytes` of `from`, which has so many, behind `to`. NB_NO_MEMORY: some may have been moved; give the
   connection up. */
nb_status nb_send_queue_move(nb_send_queue *to, nb_send_queue *from, nb_pool *pool, uint64_t bytes);
/* Moves what is sent the way the first file range of `from` is, up to the next range that is sent another way, to the end of `to`.
   Without a file range: everything. */
void nb_send_queue_split(nb_send_queue *from, nb_send_queue *to);
/* Of the first file range; all zero when there is none. */
nb_send_by nb_send_queue_sent_by(const nb_send_queue *queue);
/* What is sent next; what of files is. */
void nb_send_queue_peek(const nb_send_queue *queue, nb_download_next *next);
void nb_send_queue_peek_file(const nb_send_queue *queue, nb_download_next *next);
/* Of the first file range, not held. NULL: there is none. */
nb_file *nb_send_queue_file(const nb_send_queue *queue);

/*
 * One call of the transport: what is next, memory chunks together or at most `most` bytes of a file range. NB_OK: *moved
 * bytes went (0: nothing was left). NB_AGAIN: the socket is full; *moved bytes went before it was. NB_EOF: a file became
 * shorter than its range; cut the connection, never pad. NB_SYSTEM: errno.
 */
nb_status nb_send_queue_push(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t most,
                             size_t *moved);
/*
 * Pushes until the send queue is empty (NB_OK), the socket is full (NB_AGAIN), or `budget` bytes went (NB_INCOMPLETE: call
 * again in a later turn, so that one client does not hold up the others). *sent: bytes that went, in every case. Else as
 * nb_send_queue_push.
 */
nb_status nb_send_queue_send(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t budget,
                             uint64_t *sent);

/*
 * A small file goes with the head before it: when the first file range has at most NB_SEND_QUEUE_GATHER_MAX bytes, and memory
 * before it, these become memory, so that both leave in one call. ready_only: only what the page cache holds. NB_OK: done.
 * NB_NOT_FOUND: there is nothing of the kind. NB_AGAIN: it is not in the page cache. Else as nb_page_cache_read, and
 * NB_NO_MEMORY. All but NB_OK: nothing has changed.
 */
#define NB_SEND_QUEUE_GATHER_MAX 16384u
nb_status nb_send_queue_gather(nb_send_queue *queue, nb_pool *pool, bool ready_only);

/* Blocks that another thread has sent. */
void nb_send_queue_give_back(nb_send_queue *queue, nb_pool *pool);

#endif
