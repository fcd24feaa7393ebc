/*
 * text.c - see text.h.
 */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/decimal.h"

#define FIRST_BYTES 4096u
#define FORMAT_BYTES_MAX 512

void nb_text_init(nb_text *text, size_t bytes_max) { *text = (nb_text){NULL, 0, 0, bytes_max, false}; }

void nb_text_deinit(nb_text *text) {
    nb_free(text->bytes);
    nb_text_init(text, text->bytes_max);
}

static bool has_room(nb_text *text, size_t bytes) {
    if (text->failed) return false;
    if (text->capacity - text->size >= bytes) return true;
    size_t capacity = text->capacity ? text->capacity : FIRST_BYTES;
    while (capacity - text->size < bytes && capacity < text->bytes_max) {
        capacity *= 2;
    }
    if (capacity > text->bytes_max) capacity = text->bytes_max;
    char *larger = capacity - text->size < bytes ? NULL : nb_realloc(text->bytes, capacity);
    text->failed = larger == NULL;
    if (text->failed) return false;
    text->bytes = larger;
    text->capacity = capacity;
    return true;
}

void nb_text_add_bytes(nb_text *text, const char *bytes, size_t size) {
    if (size == 0 || !has_room(text, size)) return;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

void nb_text_add(nb_text *text, const char *string) { nb_text_add_bytes(text, string, strlen(string)); }

void nb_text_format(nb_text *text, const char *format, ...) {
    char line[FORMAT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof(line)) {
        text->failed = true;
        return;
    }
    nb_text_add_bytes(text, line, (size_t)size);
}

void nb_text_number(nb_text *text, uint64_t value) {
    char digits[NB_DECIMAL_BYTES_MAX];
    nb_text_add_bytes(text, digits, (size_t)(nb_decimal_put(digits, value) - digits));
}

void nb_text_seconds(nb_text *text, uint64_t ns) {
    char digits[32];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
    while (digits[size - 1] == '0') {
        size--;
    }
    if (digits[size - 1] == '.') size--;
    nb_text_add_bytes(text, digits, (size_t)size);
}

static bool is_escaped(unsigned char byte) { return byte < ' ' || byte == 127 || byte == '"' || byte == '\\'; }

/* Bytes that stand as they are, at the front of the string. */
static size_t plain_run(const char *string) {
    size_t run = 0;
    while (string[run] && !is_escaped((unsigned char)string[run]))
        run++;
    return run;
}

typedef void escape_writer(nb_text *text, unsigned char byte);

static void add_quoted(nb_text *text, const char *string, escape_writer *escape) {
    nb_text_add(text, "\"");
    for (;;) {
        size_t run = plain_run(string);
        nb_text_add_bytes(text, string, run);
        string += run;
        if (!*string) break;
        escape(text, (unsigned char)*string);
        string++;
    }
    nb_text_add(text, "\"");
}

static void escape_json(nb_text *text, unsigned char byte) {
    nb_text_format(text, byte == '"' || byte == '\\' ? "\\%c" : "\\u%04x", byte);
}

static void escape_label(nb_text *text, unsigned char byte) {
    char escaped[] = {'\\', byte == '\n' ? 'n' : (char)byte, '\0'};
    bool known = byte == '\n' || byte == '"' || byte == '\\';
    nb_text_add(text, known ? escaped : "?");
}

void nb_text_json(nb_text *text, const char *string) { add_quoted(text, string, escape_json); }

void nb_text_label(nb_text *text, const char *string) { add_quoted(text, string, escape_label); }
