/*
 * ring.c - records of bytes from one thread (or process) to one other, through memory both see.
 *
 * Positions count bytes since the ring was formatted and never wrap; `position & mask` is the
 * place. A record is an 8-byte header with its size and then its bytes, rounded up to 8. A record
 * that does not fit before the end leaves a padding header there and begins at the start. The data
 * area has 8 bytes more than the capacity for one case: a record of capacity / 2 that begins in
 * the very middle ends 8 bytes after the end; those bytes count as the first 8 of the next round,
 * so nobody else uses them, and a record of capacity / 2 fits an empty ring at every place.
 */
#include "base/ring.h"

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"

enum { LINE = 64, HEADER = 8, SLACK = LINE, CAPACITY_MIN = 4096 };

#define PADDING UINT64_MAX /* in place of a size: go on at the start */

struct nb_ring_memory {
    _Alignas(LINE) _Atomic uint64_t published; /* written by the producer only */
    _Alignas(LINE) _Atomic uint64_t released;  /* written by the consumer only */
    _Alignas(LINE) uint64_t capacity;
};

_Static_assert(sizeof(nb_ring_memory) == (size_t)3 * LINE, "each index has a cache line of its own");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "an index shared by processes must not hide a lock");

static uint64_t load_header(const char *place) {
    uint64_t header;
    memcpy(&header, place, sizeof header);
    return header;
}

static void store_header(char *place, uint64_t header) { memcpy(place, &header, sizeof header); }

static uint64_t record_bytes(uint64_t size) { return HEADER + ((size + 7) & ~UINT64_C(7)); }

size_t nb_ring_memory_bytes(size_t capacity) { return sizeof(nb_ring_memory) + capacity + SLACK; }

nb_status nb_ring_format(void *memory, size_t capacity) {
    NB_ASSERT((uintptr_t)memory % LINE == 0);
    if (capacity < CAPACITY_MIN || (capacity & (capacity - 1)) != 0) return NB_INVALID;
    nb_ring_memory *ring = memory;
    atomic_init(&ring->published, 0);
    atomic_init(&ring->released, 0);
    ring->capacity = capacity;
    return NB_OK;
}

void nb_ring_producer_attach(nb_ring_producer *producer, void *memory) {
    nb_ring_memory *ring = memory;
    uint64_t published = atomic_load_explicit(&ring->published, memory_order_acquire);
    *producer = (nb_ring_producer){
        .memory = ring,
        .data = (char *)memory + sizeof *ring,
        .mask = ring->capacity - 1,
        .committed = published,
        .published = published,
        .released_seen = atomic_load_explicit(&ring->released, memory_order_acquire),
    };
}

void nb_ring_consumer_attach(nb_ring_consumer *consumer, void *memory) {
    nb_ring_memory *ring = memory;
    uint64_t released = atomic_load_explicit(&ring->released, memory_order_acquire);
    *consumer = (nb_ring_consumer){
        .memory = ring,
        .data = (const char *)memory + sizeof *ring,
        .mask = ring->capacity - 1,
        .advanced = released,
        .released = released,
        .published_seen = atomic_load_explicit(&ring->published, memory_order_acquire),
    };
}

static bool has_room(nb_ring_producer *producer, uint64_t bytes) {
    uint64_t capacity = producer->mask + 1;
    if (producer->committed + bytes - producer->released_seen <= capacity) return true;
    producer->released_seen = atomic_load_explicit(&producer->memory->released, memory_order_acquire);
    return producer->committed + bytes - producer->released_seen <= capacity;
}

/* What commit has to know is kept in the handle: the consumer may have damaged the memory. */
void *nb_ring_reserve(nb_ring_producer *producer, size_t bytes) {
    uint64_t capacity = producer->mask + 1, padding = 0;
    NB_ASSERT(bytes > 0 && bytes <= capacity / 2);
    uint64_t place = producer->committed & producer->mask, to_end = capacity - place, needed = record_bytes(bytes);
    if (needed <= to_end + HEADER) {
        if (!has_room(producer, needed)) return NULL;
    } else {
        if (!has_room(producer, to_end + needed)) return NULL;
        store_header(producer->data + place, PADDING);
        padding = to_end;
        place = 0;
    }
    producer->padding = padding;
    producer->reserved = bytes;
    return producer->data + place + HEADER;
}

void nb_ring_commit(nb_ring_producer *producer, size_t bytes) {
    NB_ASSERT(bytes > 0 && bytes <= producer->reserved);
    producer->committed += producer->padding;
    store_header(producer->data + (producer->committed & producer->mask), bytes);
    producer->committed += record_bytes(bytes);
    producer->padding = producer->reserved = 0;
}

bool nb_ring_publish(nb_ring_producer *producer) {
    if (producer->published == producer->committed) return false;
    producer->published = producer->committed;
    atomic_store_explicit(&producer->memory->published, producer->published, memory_order_release);
    return true;
}

bool nb_ring_given_back(nb_ring_producer *producer, uint64_t end) {
    if (producer->released_seen >= end) return true;
    producer->released_seen = atomic_load_explicit(&producer->memory->released, memory_order_acquire);
    return producer->released_seen >= end;
}

bool nb_ring_readable(nb_ring_consumer *consumer) {
    if (consumer->advanced != consumer->published_seen) return !consumer->broken;
    consumer->published_seen = atomic_load_explicit(&consumer->memory->published, memory_order_acquire);
    return consumer->advanced != consumer->published_seen && !consumer->broken;
}

bool nb_ring_more(const nb_ring_consumer *consumer, bool in_hand) {
    uint64_t position = __atomic_load_n(&consumer->advanced, __ATOMIC_RELAXED);
    if (in_hand) {
        const char *place = consumer->data + (position & consumer->mask);
        uint64_t header = __atomic_load_n((const uint64_t *)(const void *)place, __ATOMIC_RELAXED);
        if (header == PADDING) {
            position += consumer->mask + 1 - (position & consumer->mask);
            header = __atomic_load_n((const uint64_t *)(const void *)consumer->data, __ATOMIC_RELAXED);
        }
        position += record_bytes(header);
    }
    return (int64_t)(atomic_load_explicit(&consumer->memory->published, memory_order_relaxed) - position) > 0;
}

/* Positions are compared as distances: a damaged one gives a large distance. */
static bool possible(const nb_ring_consumer *consumer, uint64_t place, uint64_t size) {
    uint64_t capacity = consumer->mask + 1, there = consumer->published_seen - consumer->advanced;
    return size > 0 && size <= capacity / 2 && record_bytes(size) <= there && there <= capacity &&
           place + record_bytes(size) <= capacity + HEADER;
}

/* Padding is never published without the record after it. */
const void *nb_ring_peek(nb_ring_consumer *consumer, size_t *bytes) {
    if (!nb_ring_readable(consumer)) return NULL;
    uint64_t place = consumer->advanced & consumer->mask;
    if (load_header(consumer->data + place) == PADDING) {
        consumer->advanced += consumer->mask + 1 - place;
        place = 0;
    }
    uint64_t size = load_header(consumer->data + place);
    if (!possible(consumer, place, size)) {
        consumer->broken = true;
        return NULL;
    }
    *bytes = (size_t)size;
    return consumer->data + place + HEADER;
}

void nb_ring_advance(nb_ring_consumer *consumer) {
    size_t bytes;
    const void *record = nb_ring_peek(consumer, &bytes);
    NB_ASSERT(record != NULL || consumer->broken);
    if (record) consumer->advanced += record_bytes(bytes);
}

bool nb_ring_release(nb_ring_consumer *consumer) {
    if (consumer->released == consumer->advanced) return false;
    consumer->released = consumer->advanced;
    atomic_store_explicit(&consumer->memory->released, consumer->released, memory_order_release);
    return true;
}
