/*
 * mime.c - see mime.h. Rows are found by a hash table of their endings.
 */
#include "files/mime.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "http/head.h"

enum { SLOTS = 2 * NB_MIME_ROWS_MAX };

typedef struct row {
    uint32_t ending, type; /* where they begin in the text */
    uint8_t ending_bytes, type_bytes;
} row;

struct nb_mime {
    char *text;
    uint32_t text_bytes, text_capacity;
    uint16_t count;
    uint16_t slots[SLOTS]; /* number of a row, from 1; 0: free */
    row rows[NB_MIME_ROWS_MAX];
};

nb_status nb_mime_create(nb_mime **mime) {
    nb_mime *self = nb_alloc_zero(1, sizeof *self);
    if (!self) return NB_NO_MEMORY;
    *mime = self;
    return NB_OK;
}

void nb_mime_destroy(nb_mime *mime) {
    if (!mime) return;
    nb_free(mime->text);
    nb_free(mime);
}

static size_t lower(char *out, nb_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    return text.size;
}

/* The slot of an ending (in lower case), or the free slot where it belongs. */
static uint16_t *slot_of(nb_mime *mime, const char *ending, size_t bytes) {
    for (size_t at = nb_hash(ending, bytes) % SLOTS;; at = (at + 1) % SLOTS) {
        uint16_t number = mime->slots[at];
        if (number == 0) return &mime->slots[at];
        const row *found = &mime->rows[number - 1];
        if (found->ending_bytes == bytes && memcmp(mime->text + found->ending, ending, bytes) == 0)
            return &mime->slots[at];
    }
}

static nb_status reserve(nb_mime *mime, size_t bytes) {
    if (mime->text_capacity - mime->text_bytes >= bytes) return NB_OK;
    uint32_t capacity = (uint32_t)(2 * mime->text_capacity + 16384 + bytes);
    char *text = nb_realloc(mime->text, capacity);
    if (!text) return NB_NO_MEMORY;
    mime->text = text;
    mime->text_capacity = capacity;
    return NB_OK;
}

static uint32_t append(nb_mime *mime, nb_slice bytes) {
    uint32_t start = mime->text_bytes;
    memcpy(mime->text + start, bytes.data, bytes.size);
    mime->text_bytes += (uint32_t)bytes.size;
    return start;
}

static bool is_ending(nb_slice ending) {
    if (ending.size == 0) return false;
    for (size_t i = 0; i < ending.size; i++) {
        if (ending.data[i] <= ' ' || ending.data[i] > '~' || ending.data[i] == '/') return false;
    }
    return true;
}

nb_status nb_mime_add(nb_mime *mime, nb_slice ending, nb_slice type) {
    char name[NB_MIME_ENDING_BYTES_MAX];
    if (ending.size > 0 && ending.data[0] == '.') ending = nb_slice_of(ending.data + 1, ending.size - 1);
    if (!is_ending(ending) || type.size == 0 || !nb_is_field_value(type)) return NB_INVALID;
    if (ending.size > NB_MIME_ENDING_BYTES_MAX || type.size > NB_MIME_TYPE_BYTES_MAX) return NB_OVER_LIMIT;
    size_t bytes = lower(name, ending);
    uint16_t *slot = slot_of(mime, name, bytes);
    if (*slot == 0 && mime->count == NB_MIME_ROWS_MAX) return NB_FULL;
    if (reserve(mime, bytes + type.size) != NB_OK) return NB_NO_MEMORY;
    if (*slot == 0) {
        mime->rows[mime->count] = (row){.ending = append(mime, nb_slice_of(name, bytes)),
                                        .ending_bytes = (uint8_t)bytes};
        *slot = ++mime->count;
    }
    mime->rows[*slot - 1].type = append(mime, type);
    mime->rows[*slot - 1].type_bytes = (uint8_t)type.size;
    return NB_OK;
}

/* A leading dot of a name begins no ending. */
nb_slice nb_mime_find(const nb_mime *mime, nb_slice path) {
    char name[NB_MIME_ENDING_BYTES_MAX];
    const char *end = path.data + path.size, *start = end;
    while (start > path.data && start[-1] != '/')
        start--;
    for (const char *at = start; at < end; at++) {
        size_t bytes = (size_t)(end - at) - 1;
        if (*at != '.' || at == start || bytes == 0 || bytes > sizeof name) continue;
        lower(name, nb_slice_of(at + 1, bytes));
        uint16_t number = *slot_of((nb_mime *)mime, name, bytes);
        if (number == 0) continue;
        const row *found = &mime->rows[number - 1];
        return nb_slice_of(mime->text + found->type, found->type_bytes);
    }
    return NB_SLICE(NB_MIME_DEFAULT);
}
