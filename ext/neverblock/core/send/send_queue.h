/*
 * send_queue.h - the bytes that wait to be written to one client, in order. An entry is a chunk of
 * memory or a range of a file.
 *
 * Owner: one connection, exchange or sending (sending.h). Small appends share a block of the pool.
 * Queues are joined without copying. A file range holds its file (files/open_file.h) until the
 * range is sent or the queue is cleared.
 *
 * Threads: one at a time. The pool belongs to the loop's thread. A worker thread that sends passes
 * NULL for the pool: blocks that it has sent stay in the queue until nb_send_queue_give_back.
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

/* How a file range is sent. All zero: by the server's settings. */
typedef struct nb_send_by {
    uint64_t rate;      /* bytes per second of its connection; 0: no limit */
    uint16_t algorithm; /* its number (algorithms.h) */
} nb_send_by;

typedef struct nb_send_queue {
    nb_chunk *first, *last;
    nb_chunk *spent; /* blocks sent by a thread without the pool */
    uint64_t bytes;  /* not sent yet */
    uint32_t files;  /* file ranges in the queue */
} nb_send_queue;

void nb_send_queue_init(nb_send_queue *queue);
/* Drops everything. */
void nb_send_queue_clear(nb_send_queue *queue, nb_pool *pool);
static inline bool nb_send_queue_empty(const nb_send_queue *queue) { return queue->first == NULL; }

/* --- adding --- */

/* Returns room for `bytes` contiguous bytes at the end, at most NB_SEND_QUEUE_RESERVE_MAX. The
 * caller fills it and calls nb_send_queue_commit. NULL: out of memory. */
#define NB_SEND_QUEUE_RESERVE_MAX 4096u
char *nb_send_queue_reserve(nb_send_queue *queue, nb_pool *pool, size_t bytes);
void nb_send_queue_commit(nb_send_queue *queue, size_t bytes);

/* Copies the bytes to the end. NB_NO_MEMORY: some of them may be in the queue; end the
 * connection. */
nb_status nb_send_queue_add(nb_send_queue *queue, nb_pool *pool, nb_slice bytes);

/* Adds a range of a file. Takes one hold of the file, also on failure. With 0 bytes nothing is
 * added. NB_NO_MEMORY. */
nb_status nb_send_queue_add_file(nb_send_queue *queue, nb_file *file, uint64_t offset, uint64_t bytes, nb_send_by by);

/* Moves all of `from` to the end of `to`. */
void nb_send_queue_join(nb_send_queue *to, nb_send_queue *from);

/* Moves the first `bytes` of `from` to the end of `to`; `from` holds at least so many.
 * NB_NO_MEMORY: some may have been moved; end the connection. */
nb_status nb_send_queue_move(nb_send_queue *to, nb_send_queue *from, nb_pool *pool, uint64_t bytes);

/* Moves the front of `from` to the end of `to`: all entries before the first file range whose
 * nb_send_by differs from that of the first file range. Without a file range it moves
 * everything. */
void nb_send_queue_split(nb_send_queue *from, nb_send_queue *to);

/* --- looking --- */

/* Of the first file range; all zero: there is none. */
nb_send_by nb_send_queue_sent_by(const nb_send_queue *queue);
/* The next entry. */
void nb_send_queue_peek(const nb_send_queue *queue, nb_download_next *next);
/* The first file range, also when memory comes before it. */
void nb_send_queue_peek_file(const nb_send_queue *queue, nb_download_next *next);
/* The file of the first file range, borrowed from the queue. NULL: there is none. */
nb_file *nb_send_queue_file(const nb_send_queue *queue);
/* The file that has become shorter than a range of it within the first `bytes` of the queue, as far
 * as they reach; borrowed. NULL: all of them are there. */
nb_file *nb_send_queue_shrunk(const nb_send_queue *queue, uint64_t bytes);

/* --- sending --- */

/*
 * One call of the transport for the next entry: several memory chunks together, or at most `most`
 * bytes of a file range.
 *
 *   NB_OK      *moved bytes were sent; 0: the queue is empty.
 *   NB_AGAIN   the socket is full; *moved bytes were sent before.
 *   NB_EOF     the file has become shorter than its range. End the connection; never pad.
 *   NB_SYSTEM  errno.
 */
nb_status nb_send_queue_push(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t most,
                             size_t *moved);

/*
 * Pushes until the queue is empty (NB_OK), the socket is full (NB_AGAIN), or `budget` bytes are
 * sent. The last is NB_INCOMPLETE: call again in a later turn, so that other clients have theirs.
 * Other statuses as nb_send_queue_push. *sent: bytes sent, whatever the status.
 */
nb_status nb_send_queue_send(nb_send_queue *queue, nb_pool *pool, nb_transport *transport, uint64_t budget,
                             uint64_t *sent);

/*
 * Reads a small file into memory behind the head, so that both leave in one call. It applies when
 * the queue begins with memory and the first file range has at most NB_SEND_QUEUE_GATHER_MAX bytes.
 * ready_only: only if the page cache has the range.
 *
 *   NB_OK         done.
 *   NB_NOT_FOUND  the queue does not begin like that.
 *   NB_AGAIN      the range is not in the page cache.
 *   NB_NO_MEMORY, or as nb_page_cache_read.
 *
 * On all but NB_OK the queue is unchanged.
 */
#define NB_SEND_QUEUE_GATHER_MAX 16384u
nb_status nb_send_queue_gather(nb_send_queue *queue, nb_pool *pool, bool ready_only);

/* Gives blocks that another thread has sent back to the pool. */
void nb_send_queue_give_back(nb_send_queue *queue, nb_pool *pool);

#endif
