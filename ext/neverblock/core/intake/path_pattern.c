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

/* The last placeholder of each kind that could still take more: where it ends in the path, and what
   follows it in the pattern. */
typedef struct open_place {
    size_t end, next;
} open_place;

/* Matches one item of the pattern at `in` with the path at `at`, and moves both behind it. */
static bool step(nb_slice pattern, nb_slice path, size_t *in, size_t *at, open_place *part, open_place *rest) {
    char byte = pattern.data[*in];
    size_t end = *at + 1, taken = 1;
    if (byte == NB_PATTERN_DIGITS) {
        end = end_with_digits(path, *at);
        if (end == *at) return false;
    } else if (byte == NB_PATTERN_PART) {
        if (!in_part(path, *at)) return false;
        *part = (open_place){end, *in + 1};
    } else if (byte == NB_PATTERN_REST) {
        if (*at == path.size) return false;
        *rest = (open_place){end, *in + 1};
        /* What comes before this one is as short as it can be, which leaves the most. */
        part->end = NOWHERE;
    } else if (*at == path.size) {
        return false;
    } else {
        taken = nb_path_byte_is(path.data[*at], pattern.data + *in, pattern.size - *in);
        if (taken == 0) return false;
    }
    *at = end;
    *in += taken;
    return true;
}

bool nb_path_pattern_matches(nb_slice pattern, nb_slice path) {
    size_t in = 0, at = 0;
    open_place part = {NOWHERE, 0}, rest = {NOWHERE, 0};
    while (in < pattern.size || at < path.size) {
        if (in < pattern.size && step(pattern, path, &in, &at, &part, &rest)) continue;
        if (part.end != NOWHERE && in_part(path, part.end)) {
            at = ++part.end;
            in = part.next;
            continue;
        }
        if (rest.end == NOWHERE || rest.end == path.size) return false;
        at = ++rest.end;
        in = rest.next;
        part.end = NOWHERE;
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
