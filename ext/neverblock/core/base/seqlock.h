/*
 * seqlock.h - records that one thread or process writes and others read, which never make it wait. A
 * record is a sequence number and words. The number is odd while the record is written. A reader
 * copies the words, and believes the copy if the number was even and has not changed.
 *
 * There are no fences: words are stored with release after the odd number, and loaded with acquire
 * before the number is read again (Boehm, "Can seqlocks get along with programming language memory
 * models?", MSPC 2012). All zero is a record that was never written.
 */
#ifndef NB_BASE_SEQLOCK_H
#define NB_BASE_SEQLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A reader that meets a writer tries again this often. */
#define NB_SEQLOCK_TRIES 4

typedef _Atomic uint64_t nb_seqlock_word;

static inline uint64_t nb_seqlock_get(const nb_seqlock_word *from) {
    return atomic_load_explicit((nb_seqlock_word *)(uintptr_t)from, memory_order_acquire);
}

static inline void nb_seqlock_set(nb_seqlock_word *to, uint64_t value) {
    atomic_store_explicit(to, value, memory_order_release);
}

static inline void nb_seqlock_write_begin(nb_seqlock_word *sequence) {
    uint64_t number = atomic_load_explicit(sequence, memory_order_relaxed);
    atomic_store_explicit(sequence, number | 1, memory_order_relaxed);
}

/* The number is never 0 again. */
static inline void nb_seqlock_write_end(nb_seqlock_word *sequence) {
    uint64_t number = atomic_load_explicit(sequence, memory_order_relaxed);
    atomic_store_explicit(sequence, (number | 1) + 1, memory_order_release);
}

/* False: it was never written, or is being written. */
static inline bool nb_seqlock_read_begin(const nb_seqlock_word *sequence, uint64_t *number) {
    *number = nb_seqlock_get(sequence);
    return *number != 0 && (*number & 1) == 0;
}

static inline bool nb_seqlock_read_end(const nb_seqlock_word *sequence, uint64_t number) {
    return atomic_load_explicit((nb_seqlock_word *)(uintptr_t)sequence, memory_order_relaxed) == number;
}

/* Words that hold so many bytes. */
static inline size_t nb_seqlock_words(size_t bytes) { return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t); }

/* Bytes to words. The last word is filled up with zeroes. */
static inline void nb_seqlock_store(nb_seqlock_word *words, const void *from, size_t bytes) {
    const char *at = from, *whole = at + bytes / sizeof(uint64_t) * sizeof(uint64_t);
    uint64_t value;
    for (; at < whole; at += sizeof(value), words++) {
        memcpy(&value, at, sizeof(value));
        nb_seqlock_set(words, value);
    }
    if (bytes % sizeof(value) == 0) return;
    value = 0;
    memcpy(&value, at, bytes % sizeof(value));
    nb_seqlock_set(words, value);
}

static inline void nb_seqlock_load(const nb_seqlock_word *words, void *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t value = nb_seqlock_get(&words[i / sizeof(value)]);
        memcpy((char *)to + i, &value, bytes - i < sizeof(value) ? bytes - i : sizeof(value));
    }
}

#endif
