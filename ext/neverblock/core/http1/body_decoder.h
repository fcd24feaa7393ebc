/*
 * body_decoder.h - the bytes of a request body, framed by Content-Length or in chunks (RFC 9112 section 6).
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
    bool complete; /* the body has ended; what follows is not its */
} nb_body_decoder;

/* framing: one with a body. body_bytes_max: chunks together may hold no more (413). */
void nb_body_decoder_init(nb_body_decoder *decoder, const nb_framing *framing, uint64_t body_bytes_max);
/*
 * Decodes in place, as nb_chunked_decode: *used bytes of the input were consumed, *decoded bytes stand at bytes[0..].
 * NB_OK: the body is complete. NB_INCOMPLETE: more is needed. NB_INVALID, NB_TOO_LARGE: *refusal; answer and close.
 */
nb_status nb_body_decode(nb_body_decoder *decoder, char *bytes, size_t size, size_t *used, size_t *decoded,
                         nb_refusal *refusal);
/* The body may end within `bytes` more of input, as far as is known. In chunks nobody knows. */
static inline bool nb_body_decoder_ends_within(const nb_body_decoder *decoder, uint64_t bytes) {
    return decoder->is_chunked || decoder->length_left <= bytes;
}

#endif
