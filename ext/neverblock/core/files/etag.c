/*
 * etag.c - see etag.h.
 */
#include "files/etag.h"

#include <stdbool.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

static char *put_hexadecimal(char *out, uint64_t number) {
    char digits[16];
    size_t first = sizeof digits;
    do {
        digits[--first] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number > 0);
    memcpy(out, digits + first, sizeof digits - first);
    return out + (sizeof digits - first);
}

static bool may_change_unseen(int64_t modified_ns, int64_t now_ns) {
    return modified_ns % SECOND_NS == 0 && modified_ns > now_ns - NB_ETAG_COARSE_NS;
}

size_t nb_etag_write(char *out, const nb_file_facts *file, nb_encoding encoding, int64_t now_ns) {
    char *at = out;
    if (may_change_unseen(file->modified_ns, now_ns)) {
        *at++ = 'W';
        *at++ = '/';
    }
    *at++ = '"';
    at = put_hexadecimal(at, (uint64_t)file->modified_ns);
    *at++ = '-';
    at = put_hexadecimal(at, file->size);
    if (encoding != NB_ENCODING_IDENTITY) {
        const nb_slice name = nb_encoding_name(encoding);
        *at++ = '-';
        memcpy(at, name.data, name.size);
        at += name.size;
    }
    *at++ = '"';
    return (size_t)(at - out);
}
