/*
 * outbox.h - bytes on their way to one client, in order: memory chunks and file ranges. Owned by one connection or
 * exchange.
 *
 * Small appends share a pool block; outboxes can be joined without copying. File descriptors belong to the outbox from
 * nb_outbox_add_file on, and are closed when their range was sent or the outbox is cleared.
 */
#ifndef NB_SEND_OUTBOX_H
#define NB_SEND_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/slice.h"
#include "base/status.h"
#include "transport/transport.h"

typedef struct nb_chunk nb_chunk;

typedef struct nb_outbox {
    nb_chunk *first, *last;
    uint64_t bytes; /* all that is not sent yet */
} nb_outbox;

void nb_outbox_init(nb_outbox *outbox);
/* Drops everything. */
void nb_outbox_clear(nb_outbox *outbox, nb_pool *pool);
static inline bool nb_outbox_empty(const nb_outbox *outbox) { return outbox->first == NULL; }

/* Room for `bytes` (at most NB_OUTBOX_RESERVE_MAX) contiguous bytes at the end, to be filled and ended by
 * nb_outbox_commit. NULL: no memory. */
#define NB_OUTBOX_RESERVE_MAX 4096u
char *nb_outbox_reserve(nb_outbox *outbox, nb_pool *pool, size_t bytes);
void nb_outbox_commit(nb_outbox *outbox, size_t bytes);
/* Copies. NB_NO_MEMORY: part of it may be in; give the connection up. */
nb_status nb_outbox_add(nb_outbox *outbox, nb_pool *pool, nb_slice bytes);
/* Takes fd, also on failure. bytes 0: the descriptor is closed at once. */
nb_status nb_outbox_add_file(nb_outbox *outbox, int fd, uint64_t offset, uint64_t bytes);
/* Moves all of `from` behind `to`. */
void nb_outbox_join(nb_outbox *to, nb_outbox *from);

/*
 * Sends until the outbox is empty (NB_OK), the socket is full (NB_AGAIN), or `budget` bytes went (NB_INCOMPLETE: call
 * again in a later turn, so that one big download does not hold up the others). *sent: bytes that went, in every case.
 * NB_EOF: a file became shorter than its range; cut the connection, never pad. NB_SYSTEM: errno.
 */
nb_status nb_outbox_send(nb_outbox *outbox, nb_pool *pool, nb_transport *transport, uint64_t budget, uint64_t *sent);

#endif
