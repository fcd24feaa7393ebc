/*
 * chunked.h - decodes a chunked body (RFC 9112 section 7.1) in place and incrementally; no allocation.
 *
 * Strict: chunk-size is 1*HEXDIG (16 digits at most, and within uint64_t), no white space; extensions must fit the
 * grammar (token [= token / quoted-string], with no bare CR or LF) and together NB_CHUNK_EXTENSION_BYTES_MAX; line ends
 * are CRLF; data must be followed by CRLF; trailers are parsed as fields, held to NB_TRAILER_BYTES_MAX, and dropped.
 * Framing bytes may exceed data by NB_CHUNK_OVERHEAD_RATIO + allowance at most.
 */
#ifndef NB_HTTP1_CHUNKED_H
#define NB_HTTP1_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "http1/head_parser.h"

typedef struct nb_chunked {
    uint64_t body_bytes;     /* decoded so far */
    uint64_t body_bytes_max; /* more: 413 */
    uint64_t chunk_left;     /* private from here on */
    uint64_t overhead_bytes;
    uint32_t extension_bytes, trailer_bytes;
    uint32_t state;
    uint32_t digits;
} nb_chunked;

void nb_chunked_init(nb_chunked *chunked, uint64_t body_bytes_max);
/*
 * Consumes input from `bytes`, moving decoded data to the front of the same buffer.
 * NB_OK: the body is complete; *used input bytes were consumed (the rest is the next request), *decoded bytes stand at
 * bytes[0..]. NB_INCOMPLETE: all of `size` was consumed; *decoded as above; call again with the next input (in any
 * buffer). NB_INVALID, NB_TOO_LARGE: *refusal; answer and close.
 */
nb_status nb_chunked_decode(nb_chunked *chunked, char *bytes, size_t size, size_t *used, size_t *decoded,
                            nb_refusal *refusal);

#endif
