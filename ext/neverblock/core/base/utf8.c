/*
 * utf8.c - see utf8.h.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool between(unsigned char byte, unsigned char low, unsigned char high) { return byte >= low && byte <= high; }

static bool second_fits(unsigned char first, unsigned char second) {
    switch (first) {
    case 0xe0:
        return between(second, 0xa0, 0xbf);
    case 0xed:
        return between(second, 0x80, 0x9f);
    case 0xf0:
        return between(second, 0x90, 0xbf);
    case 0xf4:
        return between(second, 0x80, 0x8f);
    default:
        return between(second, 0x80, 0xbf);
    }
}

/* RFC 3629, section 4. */
size_t nb_utf8_character(const char *text, size_t size) {
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];
    if (first < 0x80) return 1;
    size_t needed = between(first, 0xc2, 0xdf)   ? 2
                    : between(first, 0xe0, 0xef) ? 3
                    : between(first, 0xf0, 0xf4) ? 4
                                                 : 0;
    if (needed == 0 || needed > size || !second_fits(first, bytes[1])) return 0;
    for (size_t i = 2; i < needed; i++) {
        if (!between(bytes[i], 0x80, 0xbf)) return 0;
    }
    return needed;
}

size_t nb_utf8_visible(const char *bytes, size_t size) {
    unsigned char first = (unsigned char)bytes[0];
    if (first < ' ' || first == 0x7f) return 0;
    if (first == 0xc2 && size > 1 && (unsigned char)bytes[1] < 0xa0) return 0;
    return nb_utf8_character(bytes, size);
}

/* Length of the run of visible ASCII at the start of `bytes`. */
static size_t plain_run(const char *bytes, size_t size) {
    size_t run = 0;
    while (run < size && bytes[run] >= ' ' && bytes[run] < 0x7f)
        run++;
    return run;
}

size_t nb_utf8_as_url(char *out, size_t room, const char *bytes, size_t size) {
    static const char digits[] = "0123456789ABCDEF";
    size_t written = 0;
    for (size_t i = 0; i < size;) {
        unsigned char byte = (unsigned char)bytes[i];
        size_t run = plain_run(bytes + i, size - i < room - written - 1 ? size - i : room - written - 1);
        size_t taken = run ? run : nb_utf8_visible(bytes + i, size - i);
        size_t width = taken ? taken : 3;
        if (written + width >= room) break;
        if (taken) {
            memcpy(out + written, bytes + i, taken);
        } else {
            memcpy(out + written, (char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3);
        }
        written += width;
        i += taken ? taken : 1;
    }
    out[written] = '\0';
    return written;
}

void nb_utf8_scrub(char *out, size_t room, const char *bytes, size_t size) {
    size_t written = 0;
    for (size_t i = 0; i < size;) {
        size_t taken = nb_utf8_character(bytes + i, size - i);
        size_t width = taken ? taken : 1;
        if (written + width >= room) break;
        if (taken) {
            memcpy(out + written, bytes + i, taken);
        } else {
            out[written] = '?';
        }
        written += width;
        i += width;
    }
    out[written] = '\0';
}
