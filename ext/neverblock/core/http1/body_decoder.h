/*
 * body_decoder.h - decodes a request body with Content-Length or in chunks (RFC 9112 section 6). No
 * allocation.
 */
#ifndef NB_HTTP1_BODY_DECODER_H
#define NB_HTTP1_BODY_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "http1/chunked.h"
#include "http1/framing.h"

typedef struct nb_body_decoder {
    nb_chunked chunked;
    uint64_t length_left; /* with Content-Length */
    bool is_chunked;
    bool complete; /* the body has ended; bytes that follow are not part of it */
} nb_body_decoder;

/* framing: not NB_BODY_NONE. body_bytes_max: limit of a chunked body; more is 413. */
void nb_body_decoder_init(nb_body_decoder *decoder, const nb_framing *framing, uint64_t body_bytes_max);
/*
 * Decodes in place, as nb_chunked_decode: *used bytes of the input are consumed, and *decoded bytes
 * are at bytes[0..].
 *
 *   NB_OK          the body is complete.
 *   NB_INCOMPLETE  more input is needed.
 *   NB_INVALID, NB_OVER_LIMIT  answer with *refusal and close.
 */
nb_status nb_body_decode(nb_body_decoder *decoder, char *bytes, size_t size, size_t *used, size_t *decoded,
                         nb_refusal *refusal);
/* The body may end within `bytes` more bytes of input. Always true in chunks, whose length is not
 * known. */
static inline bool nb_body_decoder_ends_within(const nb_body_decoder *decoder, uint64_t bytes) {
    return decoder->is_chunked || decoder->length_left <= bytes;
}

#endif
