/*
 * ranges.h - a Range field against a size (RFC 9110 sections 14.1, 14.2, 14.4), and Content-Range. Pure.
 */
#ifndef NB_FILES_RANGES_H
#define NB_FILES_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/slice.h"

/* Ranges of one request; more: all of the file is sent. Each part of the answer takes a block of the loop's memory. Clients that ask for
   several at once (readers of PDF, delta updates) can ask again. */
#define NB_RANGES_MAX 16u

/* Bytes that a part is taken to cost beside its data: a delimiter and two fields ("around 80", section 15.3.7.2, and our type names). */
#define NB_RANGE_PART_COST_BYTES 128u

typedef struct nb_range {
    uint64_t offset, bytes; /* bytes > 0, offset + bytes <= the size */
} nb_range;

typedef enum nb_ranges_result {
    NB_RANGES_WHOLE, /* 200 and all of it: the field is not valid, of another unit, or asks for more than it saves */
    NB_RANGES_SOME,  /* 206: one range as it is, several as multipart/byteranges */
    NB_RANGES_UNSATISFIABLE, /* 416 with nb_content_range_unsatisfied_write */
} nb_ranges_result;

/*
 * value: of a Range field (nb_conditional_range_holds said so). After NB_RANGES_SOME ranges[0 .. *count-1] do not overlap and do not touch
 * (section 14.2 lets a server coalesce), and stand in the order in which the request first named them; *count >= 1. In the other cases
 * both are undefined.
 *
 * NB_RANGES_WHOLE: the field is empty or not valid (one bad range spoils all), its unit is not "bytes" in any case, there are more than
 * NB_RANGES_MAX ranges, what was asked for with NB_RANGE_PART_COST_BYTES for each of several parts is more than the size, or the size is 0
 * (section 14.2: a Range of nothing may be ignored; there is no Content-Range for it).
 */
nb_ranges_result nb_ranges_parse(nb_slice value, uint64_t size, nb_range ranges[NB_RANGES_MAX], uint16_t *count);

#define NB_CONTENT_RANGE_BYTES_MAX (8u + 3 * NB_DECIMAL_BYTES_MAX) /* "bytes ", "-", "/", three numbers */
/* "bytes 0-499/1234", the value of Content-Range. No NUL. Returns the bytes written. */
size_t nb_content_range_write(char *out, nb_range range, uint64_t size);
/* The value of Content-Range with a 416, without NUL: "bytes", a space, a star, a slash, the size. Returns the bytes written. */
size_t nb_content_range_unsatisfied_write(char *out, uint64_t size);

#endif
