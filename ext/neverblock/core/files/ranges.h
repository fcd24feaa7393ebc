/*
 * ranges.h - evaluates a Range field against a size (RFC 9110 sections 14.1, 14.2, 14.4), and
 * writes Content-Range. Pure functions.
 */
#ifndef NB_FILES_RANGES_H
#define NB_FILES_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/slice.h"

/* Ranges of one request; with more, all of the file is sent. Each part of the response takes a
 * block of memory. Clients that ask for several ranges at once can ask again. */
#define NB_RANGES_MAX 16u

/* Bytes that a part is assumed to cost beside its data: a delimiter and two fields ("around 80" in
 * section 15.3.7.2, and long type names). */
#define NB_RANGE_PART_COST_BYTES 128u

typedef struct nb_range {
    uint64_t offset, bytes; /* bytes > 0, offset + bytes <= the size */
} nb_range;

typedef enum nb_ranges_result {
    /* 200: the field is invalid, has another unit, or asks for more than it saves. */
    NB_RANGES_WHOLE,
    NB_RANGES_SOME,          /* 206: one range alone, several as multipart/byteranges */
    NB_RANGES_UNSATISFIABLE, /* 416 with nb_content_range_unsatisfied_write */
} nb_ranges_result;

/*
 * value: of a Range field, if nb_conditional_range_holds.
 *
 * NB_RANGES_SOME: *count >= 1 ranges. They neither overlap nor touch (section 14.2 lets a server
 * coalesce them), and are in the order in which the request names them. In the other cases ranges
 * and *count are undefined.
 *
 * NB_RANGES_WHOLE: the value is empty or invalid (one invalid range is enough), its unit is not
 * "bytes", or there are more than NB_RANGES_MAX ranges. Also if several ranges, with
 * NB_RANGE_PART_COST_BYTES for each, have more bytes than the file. Also if the size is 0, for
 * which there is no Content-Range (section 14.2).
 */
nb_ranges_result nb_ranges_parse(nb_slice value, uint64_t size, nb_range ranges[NB_RANGES_MAX], uint16_t *count);

/* "bytes ", "-", "/", three numbers. */
#define NB_CONTENT_RANGE_BYTES_MAX (8u + 3 * NB_DECIMAL_BYTES_MAX)
/* Writes "bytes 0-499/1234", the value of Content-Range, without NUL. Returns the bytes written. */
size_t nb_content_range_write(char *out, nb_range range, uint64_t size);
/* Writes the value of Content-Range for a 416, without NUL: "bytes", a space, a star, a slash, the
 * size. Returns the bytes written. */
size_t nb_content_range_unsatisfied_write(char *out, uint64_t size);

#endif
