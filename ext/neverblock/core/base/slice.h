/*
 * slice.h - a view of bytes that another owner holds: pointer and size, never NUL-terminated.
 */
#ifndef NB_BASE_SLICE_H
#define NB_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct nb_slice {
    const char *data;
    size_t size;
} nb_slice;

#define NB_SLICE(literal) ((nb_slice){(literal), sizeof(literal) - 1})

static inline nb_slice nb_slice_of(const char *data, size_t size) { return (nb_slice){data, size}; }

static inline bool nb_slice_equal(nb_slice a, nb_slice b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool nb_slice_begins_with(nb_slice text, nb_slice start) {
    return text.size >= start.size && nb_slice_equal(nb_slice_of(text.data, start.size), start);
}

/* As nb_slice_equal, in a time that says nothing of the secret but its size. */
static inline bool nb_slice_is_secret(nb_slice given, nb_slice secret) {
    unsigned char differs = 0;
    if (given.size != secret.size) return false;
    for (size_t i = 0; i < secret.size; i++) {
        differs |= (unsigned char)(given.data[i] ^ secret.data[i]);
    }
    return differs == 0;
}

/* ASCII case only; `lower` must already be lower case. */
static inline bool nb_slice_equal_lower(nb_slice a, nb_slice lower) {
    if (a.size != lower.size) return false;
    for (size_t i = 0; i < a.size; i++) {
        unsigned char c = (unsigned char)a.data[i];
        if (c >= 'A' && c <= 'Z') c = (unsigned char)(c | 0x20);
        if (c != (unsigned char)lower.data[i]) return false;
    }
    return true;
}

/* The text without the white space (SP, HTAB) around it. */
static inline nb_slice nb_slice_trim(nb_slice text) {
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

#endif
