/*
 * text.h - builds a text piece by piece in memory of its own, which grows up to a bound. A failure
 * (memory, the bound) is remembered and asked for at the end: nb_text_failed. Numbers do not
 * depend on the locale. Not thread-safe.
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
/* True: not all that was added is there. */
static inline bool nb_text_failed(const nb_text *text) { return text->failed; }
static inline nb_slice nb_text_slice(const nb_text *text) { return (nb_slice){text->bytes, text->size}; }

void nb_text_add(nb_text *text, const char *string);
void nb_text_add_bytes(nb_text *text, const char *bytes, size_t size);
/* printf of at most 500 bytes; without floating point, which depends on the locale. */
void nb_text_format(nb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Nanoseconds as decimal seconds: 0.25, 3, 0.000000064. */
void nb_text_seconds(nb_text *text, uint64_t ns);
/* A whole number. */
void nb_text_number(nb_text *text, uint64_t value);
/* Adds a JSON string with its quotes. Bytes over 127 are copied as they are. */
void nb_text_json(nb_text *text, const char *string);
/* The same as the value of a label of Prometheus, which knows the escapes \\, \" and \n alone:
   '?' stands for each other control character. */
void nb_text_label(nb_text *text, const char *string);

#endif
