/*
 * chunked.h - decodes a chunked body (RFC 9112 section 7.1) in place, in any number of calls. No
 * allocation.
 *
 * Strict:
 *
 *   - chunk-size is 1*HEXDIG, at most 16 digits, without white space
 *   - extensions follow the grammar (token [= token / quoted-string], no bare CR or LF), and have
 *     at most NB_CHUNK_EXTENSION_BYTES_MAX together
 *   - lines end with CRLF, and so does the data of a chunk
 *   - trailers are parsed as fields, have at most NB_TRAILER_BYTES_MAX, and are dropped
 *   - framing bytes are at most NB_CHUNK_OVERHEAD_RATIO times the data, and
 *     NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES more
 */
#ifndef NB_HTTP1_CHUNKED_H
#define NB_HTTP1_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http1/head_parser.h"

typedef struct nb_chunked {
    uint64_t body_bytes;     /* decoded so far */
    uint64_t body_bytes_max; /* limit; more is 413 */
    uint64_t chunk_left;     /* private from here on */
    uint64_t overhead_bytes;
    uint32_t extension_bytes, trailer_bytes;
    uint32_t state;
    uint32_t digits;
} nb_chunked;

void nb_chunked_init(nb_chunked *chunked, uint64_t body_bytes_max);
/*
 * Consumes input from `bytes`, and moves decoded data to the front of the same buffer: *decoded
 * bytes at bytes[0..].
 *
 *   NB_OK          the body is complete; *used bytes of the input are consumed, and the rest is the
 *                  next request.
 *   NB_INCOMPLETE  all of `size` is consumed. Call again with the next input, in any buffer.
 *   NB_INVALID, NB_OVER_LIMIT  answer with *refusal and close.
 */
nb_status nb_chunked_decode(nb_chunked *chunked, char *bytes, size_t size, size_t *used, size_t *decoded,
                            nb_refusal *refusal);
/* Has the head of the first chunk been read, with its CRLF? Before that, no call has moved a
   byte. */
bool nb_chunked_is_begun(const nb_chunked *chunked);

#endif
