/*
 * bytes.h - an array of bytes that grows at its end. All zero: empty, without memory.
 *
 * Threads: one at a time.
 */
#ifndef NB_CODING_BYTES_H
#define NB_CODING_BYTES_H

#include <stddef.h>

#include "base/slice.h"
#include "base/status.h"

typedef struct nb_bytes {
    char *data;
    size_t size, capacity;
} nb_bytes;

/* Makes room for `least` bytes behind `size`. NB_NO_MEMORY: unchanged. */
nb_status nb_bytes_reserve(nb_bytes *bytes, size_t least);
/* Appends a copy. NB_NO_MEMORY: unchanged. */
nb_status nb_bytes_add(nb_bytes *bytes, nb_slice more);
void nb_bytes_free(nb_bytes *bytes);

static inline nb_slice nb_bytes_slice(const nb_bytes *bytes) { return nb_slice_of(bytes->data, bytes->size); }

#endif
