/*
 * byte_class.h - which bytes are allowed where in a message (RFC 9110 section 5.6, RFC 9112 section
 * 3, RFC 3986 section 3.2.2): a table, and scans for the first byte outside a class.
 *
 * A scan looks at 16 bytes at a time with SSE2 (every x86-64). It reads nothing outside [base,
 * end). Pure functions, for http/ and http1/.
 */
#ifndef NB_HTTP_BYTE_CLASS_H
#define NB_HTTP_BYTE_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    NB_BYTE_TOKEN = 1,           /* tchar */
    NB_BYTE_TARGET = 2,          /* visible ASCII except " # < >, and obs-text (decision 0002) */
    NB_BYTE_VALUE = 4,           /* field-vchar, SP, HTAB */
    NB_BYTE_HOST = 8,            /* unreserved and sub-delims of RFC 3986, without the comma */
    NB_BYTE_HEX = 16,            /* HEXDIG */
    NB_BYTE_DIGIT = 32,          /* DIGIT */
    NB_BYTE_QUOTED = 64,         /* qdtext */
    NB_BYTE_STRICT_TARGET = 128, /* NB_BYTE_TARGET without obs-text and backslash */
};

extern const uint8_t nb_byte_classes[256] __attribute__((visibility("hidden")));

static inline bool nb_byte_is(char byte, unsigned classes) {
    return (nb_byte_classes[(unsigned char)byte] & classes) != 0;
}

static inline const char *nb_scan_bytewise(const char *at, const char *end, unsigned classes) {
    while (at < end && nb_byte_is(*at, classes))
        at++;
    return at;
}

#if defined(__SSE2__)

/* Returns a bit for each byte of the block at which a scan must stop and look. */
typedef unsigned nb_block_stops(__m128i block);

static inline unsigned nb_block_stops_value(__m128i block) {
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
    const __m128i tab = _mm_cmpeq_epi8(block, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tab, control), del));
}

static inline unsigned nb_block_stops_target(__m128i block) {
    const __m128i outside = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(' ')), block);
    const __m128i del = _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7f));
    const __m128i quote_hash = _mm_cmpeq_epi8(_mm_and_si128(block, _mm_set1_epi8((char)0xfe)), _mm_set1_epi8('"'));
    const __m128i angles = _mm_cmpeq_epi8(_mm_and_si128(block, _mm_set1_epi8((char)0xfd)), _mm_set1_epi8('<'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(outside, del), _mm_or_si128(quote_hash, angles)));
}

/* Stops at all bytes but letters, digits and "-", of which names are made. Other tchars are looked
 * up. */
static inline unsigned nb_block_stops_token(__m128i block) {
    const __m128i lower = _mm_or_si128(block, _mm_set1_epi8(0x20));
    const __m128i letter = _mm_cmplt_epi8(_mm_add_epi8(lower, _mm_set1_epi8((char)(0x80 - 'a'))),
                                          _mm_set1_epi8(-128 + 26));
    const __m128i digit = _mm_cmplt_epi8(_mm_add_epi8(block, _mm_set1_epi8((char)(0x80 - '0'))),
                                         _mm_set1_epi8(-128 + 10));
    const __m128i dash = _mm_cmpeq_epi8(block, _mm_set1_epi8('-'));
    return ~(unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letter, digit), dash)) & 0xffffu;
}

static inline __attribute__((always_inline)) const char *
nb_scan_blocks(const char *base, const char *at, const char *end, unsigned classes, nb_block_stops *stops) {
    for (; end - at >= 16; at += 16) {
        const unsigned found = stops(_mm_loadu_si128((const __m128i *)(const void *)at));
        if (found) return at + __builtin_ctz(found);
    }
    if (at == end) return end;
    if (end - base < 16) return nb_scan_bytewise(at, end, classes);
    /* The tail is the end of the last 16 bytes of the input; bytes before `at` are shifted out. */
    const unsigned found = stops(_mm_loadu_si128((const __m128i *)(const void *)(end - 16))) >> (16 - (end - at));
    return found ? at + __builtin_ctz(found) : end;
}

#define NB_SCAN_BLOCKS(base, at, end, classes, stops) nb_scan_blocks(base, at, end, classes, stops)

#else

#define NB_SCAN_BLOCKS(base, at, end, classes, stops) ((void)(base), nb_scan_bytewise(at, end, classes))

#endif

/* Each returns the first byte of [at, end) outside its class, or end. [base, end) is readable and
 * contains `at`. */
static inline const char *nb_scan_token(const char *base, const char *at, const char *end) {
    at = NB_SCAN_BLOCKS(base, at, end, NB_BYTE_TOKEN, nb_block_stops_token);
    while (at < end && nb_byte_is(*at, NB_BYTE_TOKEN)) {
        at = NB_SCAN_BLOCKS(base, at + 1, end, NB_BYTE_TOKEN, nb_block_stops_token);
    }
    return at;
}

static inline const char *nb_scan_target(const char *base, const char *at, const char *end) {
    return NB_SCAN_BLOCKS(base, at, end, NB_BYTE_TARGET, nb_block_stops_target);
}

static inline const char *nb_scan_value(const char *base, const char *at, const char *end) {
    return NB_SCAN_BLOCKS(base, at, end, NB_BYTE_VALUE, nb_block_stops_value);
}

#endif
