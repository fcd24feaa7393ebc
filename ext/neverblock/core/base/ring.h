/*
 * ring.h - a bounded queue of byte records between exactly one producer and one consumer, threads
 * or processes. It has no pointers inside, only offsets, so that it may lie in shared memory.
 *
 * Memory: nb_ring_memory_bytes(capacity) bytes, 64-byte aligned, owned by the caller, who formats
 * it once (nb_ring_format) before either side attaches. Each side then has a private handle with
 * cached positions.
 *
 * Records are contiguous and 8-byte aligned, of at most capacity / 2 bytes, so that a record
 * always fits into an empty ring. The producer reserves, fills, commits (still private) and
 * publishes (visible, release order). Several commits may share one publish. The consumer peeks,
 * uses, advances (still private) and releases (returns the room). Several advances may share one
 * release. Bytes seen by peek are valid until release.
 *
 * Neither side blocks here; doorbell.h is how a side sleeps. A producer in another process may be
 * killed at any moment: what it had not published never existed. One with damaged memory cannot
 * make the consumer read outside the ring: an impossible size is refused, and the consumer is
 * `broken` from then on.
 */
#ifndef NB_BASE_RING_H
#define NB_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct nb_ring_memory nb_ring_memory; /* the shared part */

typedef struct nb_ring_producer {
    nb_ring_memory *memory;
    char *data;
    uint64_t mask; /* capacity - 1 */
    /* Position behind the written bytes, which are not yet published beyond `published`. */
    uint64_t committed;
    uint64_t published;
    uint64_t released_seen; /* the consumer's position at the last look */
    /* Of the record that is reserved: its bytes, and those left out before it. */
    uint64_t reserved, padding;
} nb_ring_producer;

typedef struct nb_ring_consumer {
    nb_ring_memory *memory;
    const char *data;
    uint64_t mask;
    /* Position behind the used bytes, which are not yet released beyond `released`. */
    uint64_t advanced;
    uint64_t released;
    uint64_t published_seen;
    bool broken; /* the ring is damaged: nothing can be read any more */
} nb_ring_consumer;

/* capacity: a power of two of at least 4096. */
size_t nb_ring_memory_bytes(size_t capacity);
nb_status nb_ring_format(void *memory, size_t capacity);
void nb_ring_producer_attach(nb_ring_producer *producer, void *memory);
void nb_ring_consumer_attach(nb_ring_consumer *consumer, void *memory);

/* Room for `bytes` (> 0, at most capacity / 2). NULL: there is none now. Nothing is used until
   commit. */
void *nb_ring_reserve(nb_ring_producer *producer, size_t bytes);
/* Commits the reserved record with `bytes` (> 0, at most what was reserved). */
void nb_ring_commit(nb_ring_producer *producer, size_t bytes);
/* Publishes what was committed. True: there was something. */
bool nb_ring_publish(nb_ring_producer *producer);
/* end: where the last committed record ends, as a position that only grows. given_back: whether the
   consumer has released everything before such a position. Until then the record's bytes do not
   change. */
static inline uint64_t nb_ring_end(const nb_ring_producer *producer) { return producer->committed; }
bool nb_ring_given_back(nb_ring_producer *producer, uint64_t end);

/* The oldest record, with its size in *bytes. NULL: there is none. */
const void *nb_ring_peek(nb_ring_consumer *consumer, size_t *bytes);
void nb_ring_advance(nb_ring_consumer *consumer);
/* Releases what was advanced over. True: there was something. */
bool nb_ring_release(nb_ring_consumer *consumer);
/* True: a record can be peeked. Reads the shared position, for the check between announcing sleep
   and sleeping. */
bool nb_ring_readable(nb_ring_consumer *consumer);
/* The same for a thread other than the consumer's; valid while that one does not use the ring.
   in_hand: the consumer uses the first record, which is left out. */
bool nb_ring_more(const nb_ring_consumer *consumer, bool in_hand);

#endif
