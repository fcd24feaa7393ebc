/*
 * slow_chunked.h - the chunked coding read straight from its grammar (RFC 9112 section 7.1), from
 * the first byte to the last, without states and slowly. The decoder is compared with it.
 */
#ifndef NB_TEST_HTTP1_SLOW_CHUNKED_H
#define NB_TEST_HTTP1_SLOW_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/limits.h"

#define SLOW_OK 0
#define SLOW_MORE (-1)

typedef struct slow_chunked {
    const char *bytes;
    size_t size, at;
    char *out; /* as large as the input */
    uint64_t decoded;
    uint64_t max;
    size_t overhead, extensions, trailers;
    bool in_extension, in_trailer;
    int answer; /* SLOW_OK: no error so far; SLOW_MORE; or the status of a refusal */
} slow_chunked;

static inline bool slow_is_hex(int c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static inline bool slow_is_token(int c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c > 0 && c < 0x80 && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool slow_is_text(int c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }

/* The next byte; a number that is no byte: there is none. */
static inline int slow_peek(slow_chunked *s) {
    if (s->answer != SLOW_OK) return -1;
    if (s->in_trailer && s->trailers == NB_TRAILER_BYTES_MAX && s->at < s->size) {
        s->answer = 400;
        return -1;
    }
    if (s->at < s->size) return (unsigned char)s->bytes[s->at];
    s->answer = SLOW_MORE;
    return -1;
}

static inline void slow_skip(slow_chunked *s) {
    if (s->answer != SLOW_OK) return;
    s->at++;
    if (s->in_trailer) {
        s->trailers++;
    } else {
        s->overhead++;
    }
    if (s->in_extension && ++s->extensions > NB_CHUNK_EXTENSION_BYTES_MAX) s->answer = 400;
}

static inline void slow_expect(slow_chunked *s, bool right) {
    if (s->answer != SLOW_OK) return;
    if (right) {
        slow_skip(s);
    } else {
        s->answer = 400;
    }
}

static inline void slow_tokens(slow_chunked *s) {
    slow_expect(s, slow_is_token(slow_peek(s)));
    while (slow_is_token(slow_peek(s)))
        slow_skip(s);
}

static inline void slow_quoted(slow_chunked *s) {
    slow_expect(s, slow_peek(s) == '"');
    for (int c = slow_peek(s); s->answer == SLOW_OK && c != '"'; c = slow_peek(s)) {
        slow_expect(s, slow_is_text(c));
        if (c == '\\') slow_expect(s, slow_is_text(slow_peek(s)));
    }
    slow_expect(s, slow_peek(s) == '"');
}

static inline uint64_t slow_size_line(slow_chunked *s) {
    uint64_t size = 0;
    int digits = 0;
    for (int c = slow_peek(s); slow_is_hex(c); c = slow_peek(s)) {
        if (++digits > 16) s->answer = 400;
        size = size * 16 + (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        slow_skip(s);
    }
    int c = slow_peek(s);
    if (s->answer == SLOW_OK && (digits == 0 || (c != ';' && c != '\r'))) s->answer = 400;
    if (s->answer == SLOW_OK && size > s->max - s->decoded) s->answer = 413;
    while (c == ';' && s->answer == SLOW_OK) {
        s->in_extension = true;
        slow_skip(s);
        slow_tokens(s);
        if (slow_peek(s) == '=') {
            slow_skip(s);
            if (slow_peek(s) == '"') {
                slow_quoted(s);
            } else {
                slow_tokens(s);
            }
        }
        c = slow_peek(s);
    }
    s->in_extension = false;
    slow_expect(s, slow_peek(s) == '\r');
    slow_expect(s, slow_peek(s) == '\n');
    return size;
}

static inline void slow_trailers(slow_chunked *s) {
    s->in_trailer = true;
    while (slow_peek(s) != '\r' && s->answer == SLOW_OK) {
        slow_tokens(s);
        slow_expect(s, slow_peek(s) == ':');
        while (slow_is_text(slow_peek(s)))
            slow_skip(s);
        slow_expect(s, slow_peek(s) == '\r');
        slow_expect(s, slow_peek(s) == '\n');
    }
    slow_expect(s, slow_peek(s) == '\r');
    slow_expect(s, slow_peek(s) == '\n');
}

/* Reads everything and returns the answer. In *s: decoded bytes in `out`, `at` bytes used. */
static inline int slow_chunked_read(slow_chunked *s, const char *bytes, size_t size, uint64_t max, char *out) {
    *s = (slow_chunked){.bytes = bytes, .size = size, .out = out, .max = max};
    for (;;) {
        const uint64_t left = slow_size_line(s);
        if (s->answer != SLOW_OK) return s->answer;
        if (s->overhead > NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES + NB_CHUNK_OVERHEAD_RATIO * s->decoded) return 400;
        if (left == 0) break;
        for (uint64_t i = 0; i < left; i++) {
            const int c = slow_peek(s);
            if (s->answer != SLOW_OK) return s->answer;
            s->out[s->decoded++] = (char)c;
            s->at++;
        }
        slow_expect(s, slow_peek(s) == '\r');
        slow_expect(s, slow_peek(s) == '\n');
    }
    slow_trailers(s);
    return s->answer;
}

#endif
