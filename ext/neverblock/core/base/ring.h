/*
 * ring.h - a bounded queue of byte records between exactly one producer thread and one consumer thread, laid out
 * so that it may lie in memory shared by two processes (no pointer inside; offsets only).
 *
 * Memory: nb_ring_memory_bytes(capacity) bytes, 64-byte aligned, owned by the caller, who formats it once
 * (nb_ring_format) before either side attaches. Each side then keeps a private handle with its cached indices.
 *
 * Records are contiguous and 8-byte aligned. A record may be up to capacity / 2 bytes, so a record always fits into an
 * empty ring, wherever its end lies. The producer reserves, fills, commits (local only) and publishes (visible, release
 * order); several commits may share one publish. The consumer peeks, uses, advances (local only) and releases (gives
 * the space back); several advances may share one release. Bytes seen by peek stay valid until release.
 *
 * Neither side ever blocks here; doorbell.h is how a side sleeps. A producer in another process may be killed at any
 * moment: what it had not published was never there. One that has gone mad (wild writes of an extension) cannot make the
 * consumer read outside of the ring: a size that cannot be is refused, and the consumer is `broken` from then on.
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
    uint64_t mask;      /* capacity - 1 */
    uint64_t committed; /* bytes written, not yet published beyond `published` */
    uint64_t published;
    uint64_t released_seen; /* the consumer's position when last looked at */
} nb_ring_producer;

typedef struct nb_ring_consumer {
    nb_ring_memory *memory;
    const char *data;
    uint64_t mask;
    uint64_t advanced; /* bytes used, not yet given back beyond `released` */
    uint64_t released;
    uint64_t published_seen;
    bool broken; /* nothing can be read any more */
} nb_ring_consumer;

/* capacity: a power of two of at least 4096. */
size_t nb_ring_memory_bytes(size_t capacity);
nb_status nb_ring_format(void *memory, size_t capacity);
void nb_ring_producer_attach(nb_ring_producer *producer, void *memory);
void nb_ring_consumer_attach(nb_ring_consumer *consumer, void *memory);

/* Room for `bytes` (> 0, at most capacity / 2), or NULL when there is none now. Nothing is taken until commit. */
void *nb_ring_reserve(nb_ring_producer *producer, size_t bytes);
/* Ends the reserved record at `bytes` (at most what was reserved, > 0). */
void nb_ring_commit(nb_ring_producer *producer, size_t bytes);
/* True when something was there to publish. */
bool nb_ring_publish(nb_ring_producer *producer);
/* Where the last committed record ends, as a position that only grows; and whether the consumer has given back all that
 * lies before such a position. Until then the record's bytes stay as they are. */
static inline uint64_t nb_ring_end(const nb_ring_producer *producer) { return producer->committed; }
bool nb_ring_given_back(nb_ring_producer *producer, uint64_t end);

/* The oldest record and its size in *bytes, or NULL when there is none. */
const void *nb_ring_peek(nb_ring_consumer *consumer, size_t *bytes);
void nb_ring_advance(nb_ring_consumer *consumer);
/* True when something was given back. */
bool nb_ring_release(nb_ring_consumer *consumer);
/* True when a record can be peeked; looks at the shared index (for the check between announcing sleep and sleeping). */
bool nb_ring_readable(nb_ring_consumer *consumer);
/* The same for another thread than the consumer's: right while that one does nothing with the ring. in_hand: it uses the first record, which is left out. */
bool nb_ring_more(const nb_ring_consumer *consumer, bool in_hand);

#endif
