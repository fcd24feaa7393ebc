/*
 * hash.h - FNV-1a (Fowler, Noll, Vo) over 32 bits of bytes, and over 64 bits of parts. Only for
 * tables whose keys no attacker chooses, or whose walks are bounded.
 */
#ifndef NB_BASE_HASH_H
#define NB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t nb_hash(const char *bytes, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

/* Hash of several parts, one after the other; begin with the basis. */
#define NB_HASH64_BASIS UINT64_C(14695981039346656037)

static inline uint64_t nb_hash64_mix(uint64_t hash, uint64_t part) { return (hash ^ part) * UINT64_C(1099511628211); }

#endif
