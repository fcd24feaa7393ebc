/*
 * bytes.c - see bytes.h.
 */
#include "coding/bytes.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_BYTES 1024u

nb_status nb_bytes_reserve(nb_bytes *bytes, size_t least) {
    if (least <= bytes->capacity - bytes->size) return NB_OK;
    if (least > SIZE_MAX / 2 - bytes->size) return NB_NO_MEMORY;
    size_t capacity = bytes->capacity ? bytes->capacity : FIRST_BYTES;
    while (capacity < bytes->size + least)
        capacity *= 2;
    char *data = nb_realloc(bytes->data, capacity);
    if (!data) return NB_NO_MEMORY;
    bytes->data = data;
    bytes->capacity = capacity;
    return NB_OK;
}

nb_status nb_bytes_add(nb_bytes *bytes, nb_slice more) {
    if (more.size == 0) return NB_OK;
    nb_status status = nb_bytes_reserve(bytes, more.size);
    if (status != NB_OK) return status;
    memcpy(bytes->data + bytes->size, more.data, more.size);
    bytes->size += more.size;
    return NB_OK;
}

void nb_bytes_free(nb_bytes *bytes) {
    nb_free(bytes->data);
    *bytes = (nb_bytes){0};
}
