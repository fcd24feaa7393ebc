/*
 * multipart.h - the pieces of a multipart/byteranges body around its ranges (RFC 9110 section 14.6,
 * RFC 2046 section 5.1). Pure functions.
 *
 * The body is, for each range, nb_multipart_part_write and the bytes of the range, and at the end
 * nb_multipart_end_write. Its Content-Length is nb_multipart_bytes. The response has the
 * Content-Type of nb_multipart_type_write and no Content-Range.
 */
#ifndef NB_FILES_MULTIPART_H
#define NB_FILES_MULTIPART_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "files/ranges.h"

/* 64 random bits: no file contains the delimiter by chance, and nobody can put it there
 * beforehand. */
#define NB_BOUNDARY_BYTES 16u

typedef struct nb_multipart {
    char boundary[NB_BOUNDARY_BYTES]; /* hexadecimal digits, no NUL */
    nb_slice content_type;            /* of each part; size 0: none; borrowed */
    uint64_t size;                    /* bytes of the file */
} nb_multipart;

/* random: 64 bits that a client cannot foresee. */
void nb_multipart_init(nb_multipart *multipart, uint64_t random, nb_slice content_type, uint64_t size);

#define NB_MULTIPART_TYPE_BYTES (31u + NB_BOUNDARY_BYTES) /* "multipart/byteranges; boundary=" */
/* Writes the value of Content-Type: NB_MULTIPART_TYPE_BYTES, no NUL. */
void nb_multipart_type_write(char *out, const nb_multipart *multipart);

/* Bytes before a range, without those of content_type. */
#define NB_MULTIPART_PART_BYTES_MAX (2 + 2 + NB_BOUNDARY_BYTES + 2 + 16 + 15 + NB_CONTENT_RANGE_BYTES_MAX + 4)
/* Writes the delimiter and the part's fields. Returns the bytes written. */
size_t nb_multipart_part_write(char *out, const nb_multipart *multipart, nb_range range);

#define NB_MULTIPART_END_BYTES (2u + 2u + NB_BOUNDARY_BYTES + 4u)
/* Writes the closing delimiter: NB_MULTIPART_END_BYTES. */
void nb_multipart_end_write(char *out, const nb_multipart *multipart);

/* Bytes of the whole body. */
uint64_t nb_multipart_bytes(const nb_multipart *multipart, const nb_range *ranges, uint16_t count);

#endif
