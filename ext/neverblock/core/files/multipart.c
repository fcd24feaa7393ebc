/*
 * multipart.c - see multipart.h.
 */
#include "files/multipart.h"

#include <string.h>

#include "base/decimal.h"

static char *put(char *out, nb_slice text) {
    if (text.size > 0) memcpy(out, text.data, text.size);
    return out + text.size;
}

static nb_slice boundary_of(const nb_multipart *multipart) {
    return nb_slice_of(multipart->boundary, NB_BOUNDARY_BYTES);
}

void nb_multipart_init(nb_multipart *multipart, uint64_t random, nb_slice content_type, uint64_t size) {
    for (size_t i = 0; i < NB_BOUNDARY_BYTES; i++, random >>= 4) {
        multipart->boundary[i] = "0123456789abcdef"[random & 15];
    }
    multipart->content_type = content_type;
    multipart->size = size;
}

void nb_multipart_type_write(char *out, const nb_multipart *multipart) {
    char *const at = put(out, NB_SLICE("multipart/byteranges; boundary="));
    put(at, boundary_of(multipart));
}

/* Every part begins with CRLF, the first too (RFC 9110 section 14.6 allows it). */
static char *put_delimiter(char *out, const nb_multipart *multipart) {
    return put(put(out, NB_SLICE("\r\n--")), boundary_of(multipart));
}

size_t nb_multipart_part_write(char *out, const nb_multipart *multipart, nb_range range) {
    char *at = put(put_delimiter(out, multipart), NB_SLICE("\r\n"));
    if (multipart->content_type.size > 0) {
        at = put(at, NB_SLICE("Content-Type: "));
        at = put(at, multipart->content_type);
        at = put(at, NB_SLICE("\r\n"));
    }
    at = put(at, NB_SLICE("Content-Range: "));
    at += nb_content_range_write(at, range, multipart->size);
    at = put(at, NB_SLICE("\r\n\r\n"));
    return (size_t)(at - out);
}

void nb_multipart_end_write(char *out, const nb_multipart *multipart) {
    put(put_delimiter(out, multipart), NB_SLICE("--\r\n"));
}

/* Counted by writing, so that the size is defined in one place. */
static size_t part_bytes(const nb_multipart *multipart, nb_range range) {
    nb_multipart bare = *multipart;
    char out[NB_MULTIPART_PART_BYTES_MAX];
    bare.content_type.size = 0;
    const size_t type = multipart->content_type.size;
    return nb_multipart_part_write(out, &bare, range) + (type > 0 ? type + 16 : 0);
}

uint64_t nb_multipart_bytes(const nb_multipart *multipart, const nb_range *ranges, uint16_t count) {
    uint64_t bytes = NB_MULTIPART_END_BYTES;
    for (uint16_t i = 0; i < count; i++) {
        bytes += part_bytes(multipart, ranges[i]) + ranges[i].bytes;
    }
    return bytes;
}
