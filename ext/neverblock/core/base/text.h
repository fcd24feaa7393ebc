/*
 * text.h - a text that is put together piece by piece, in memory of its own that grows up to a bound. What goes wrong
 * (memory, the bound) is kept and found at the end: nb_text_failed. Numbers do not depend on the locale.
 */
#ifndef NB_BASE_TEXT_H
#define NB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

typedef struct nb_text {
    char *bytes; /* not NUL-terminated */
    size_t size, capacity, bytes_max;
    bool failed;
} nb_text;

void nb_text_init(nb_text *text, size_t bytes_max);
void nb_text_deinit(nb_text *text);
/* Not all that was added is there. */
static inline bool nb_text_failed(const nb_text *text) { return text->failed; }
static inline nb_slice nb_text_slice(const nb_text *text) { return (nb_slice){text->bytes, text->size}; }

void nb_text_add(nb_text *text, const char *string);
void nb_text_add_bytes(nb_text *text, const char *bytes, size_t size);
/* printf, 500 bytes at most at once; no floating point (it depends on the locale). */
void nb_text_format(nb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Nanoseconds as decimal seconds: 0.25, 3, 0.000000064. */
void nb_text_seconds(nb_text *text, uint64_t ns);
/* A whole number. */
void nb_text_number(nb_text *text, uint64_t value);
/* A string of JSON with its quotes. Bytes over 127 go through as they are. */
void nb_text_json(nb_text *text, const char *string);

#endif
