/*
 * hash.h - FNV-1a, 32 bits, for tables whose keys nobody chooses to make them slow, or whose walks are bounded.
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

#endif
