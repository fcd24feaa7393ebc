/*
 * path_pattern.c - see path_pattern.h.
 */
#include "intake/path_pattern.h"

#include <stdint.h>
#include <string.h>

#define NOWHERE SIZE_MAX

static bool is_place(char byte) {
    return byte == NB_PATTERN_PART || byte == NB_PATTERN_REST || byte == NB_PATTERN_DIGITS;
}

bool nb_path_pattern_is(nb_slice pattern) {
    if (pattern.size == 0 || pattern.data[0] != '/') return false;
    for (size_t i = 0; i < pattern.size; i++) {
        unsigned char byte = (unsigned char)pattern.data[i];
        bool sent = byte > ' ' && byte != 0x7f && byte != '?' && byte != '#';
        if (!sent && !is_place((char)byte)) return false;
    }
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte over 0x7f that is encoded here; 0: none. */
static unsigned encoded_byte(const char *text, size_t size) {
    if (size < 3 || text[0] != '%') return 0;
    int high = hex_digit(text[1]), low = hex_digit(text[2]);
    return high < 8 || low < 0 ? 0 : (unsigned)(high << 4 | low);
}

size_t nb_path_byte_is(char byte, const char *text, size_t size) {
    if (size > 0 && *text == byte) return 1;
    unsigned wanted = (unsigned char)byte;
    return wanted >= 0x80 && encoded_byte(text, size) == wanted ? 3 : 0;
}

/* Where the segment that begins here ends; `at` if it has no digit. */
static size_t end_with_digits(nb_slice path, size_t at) {
    size_t end = at;
    bool digit = false;
    while (end < path.size && path.data[end] != '/') {
        digit = digit || (path.data[end] >= '0' && path.data[end] <= '9');
        end++;
    }
    return digit ? end : at;
}

static bool in_part(nb_slice path, size_t at) { return at < path.size && path.data[at] != '/' && path.data[at] != '.'; }

/*
 * Matching takes the first text that fits, and goes back where what follows does not.
 *
 * Behind a NB_PATTERN_REST it never goes back before it: the earliest end leaves the most. Behind a
 * NB_PATTERN_PART it lets the last one take more. A text between two places has a fixed number of
 * slashes and points, so of all starts within one run without them a part begins in the same run:
 * the earliest reaches what any later one does. Of all starts within one segment a
 * NB_PATTERN_DIGITS ends at the same slash. A search that has come so far and failed therefore goes
 * on behind that run or segment.
 */
typedef struct search {
    size_t in, at;               /* the next item of the pattern, the next byte of the path */
    size_t part_in, part_at;     /* behind the last part; NOWHERE: none can take more */
    size_t rest_in, rest_at;     /* behind the last rest; NOWHERE: there is none */
    bool part_seen, digits_seen; /* behind the last rest */
} search;

static void take_rest(search *s) {
    s->rest_at = s->at;
    s->rest_in = s->in;
    s->part_at = NOWHERE;
    s->part_seen = s->digits_seen = false;
}

/* Matches one item of the pattern with the path, and moves behind both. */
static bool step(nb_slice pattern, nb_slice path, search *s) {
    char byte = pattern.data[s->in];
    if (byte == NB_PATTERN_DIGITS) {
        size_t end = end_with_digits(path, s->at);
        s->part_at = NOWHERE; /* more of it leaves fewer digits, and the same end */
        s->digits_seen = true;
        if (end == s->at) return false;
        s->at = end;
        s->in++;
        return true;
    }
    if (s->at == path.size) return false;
    if (byte == NB_PATTERN_PART) {
        if (!in_part(path, s->at)) return false;
        s->part_at = ++s->at;
        s->part_in = ++s->in;
        s->part_seen = true;
        return true;
    }
    if (byte == NB_PATTERN_REST) {
        s->at++;
        s->in++;
        take_rest(s);
        return true;
    }
    size_t taken = nb_path_byte_is(path.data[s->at], pattern.data + s->in, pattern.size - s->in);
    s->at++;
    s->in += taken;
    return taken > 0;
}

/* Where the last rest ends next; NOWHERE: nowhere. */
static size_t next_rest(nb_slice path, const search *s) {
    size_t at = s->rest_at;
    if (at == NOWHERE) return NOWHERE;
    if (s->digits_seen) {
        while (at < path.size && path.data[at] != '/')
            at++;
    } else if (s->part_seen) {
        while (in_part(path, at))
            at++;
    }
    return at < path.size ? at + 1 : NOWHERE;
}

bool nb_path_pattern_matches(nb_slice pattern, nb_slice path) {
    search s = {.part_at = NOWHERE, .rest_at = NOWHERE};
    while (s.in < pattern.size || s.at < path.size) {
        if (s.in < pattern.size && step(pattern, path, &s)) continue;
        if (s.part_at != NOWHERE && in_part(path, s.part_at)) {
            s.at = ++s.part_at;
            s.in = s.part_in;
            continue;
        }
        s.at = next_rest(path, &s);
        if (s.at == NOWHERE) return false;
        s.in = s.rest_in;
        take_rest(&s);
    }
    return true;
}

size_t nb_path_pattern_of(nb_slice path, char *out, size_t room) {
    size_t size = 0, at = 0;
    while (at < path.size) {
        size_t end = at > 0 && path.data[at - 1] == '/' ? end_with_digits(path, at) : at;
        if (size == room) return 0;
        out[size++] = end > at ? NB_PATTERN_DIGITS : path.data[at];
        at = end > at ? end : at + 1;
    }
    return size;
}

void nb_path_pattern_show(nb_slice pattern, char *out, size_t room) {
    static const char digits[] = "0123456789ABCDEF";
    size_t size = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        unsigned char byte = (unsigned char)pattern.data[i];
        size_t width = byte >= 0x80 ? 3 : 1;
        if (size + width >= room) break;
        out[size] = width == 3 ? '%' : is_place((char)byte) ? ":*0"[byte - NB_PATTERN_PART] : (char)byte;
        if (width == 3) {
            out[size + 1] = digits[byte >> 4];
            out[size + 2] = digits[byte & 15];
        }
        size += width;
    }
    out[size] = '\0';
}
