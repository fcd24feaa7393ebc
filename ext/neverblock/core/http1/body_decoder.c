/*
 * body_decoder.c - see body_decoder.h.
 */
#include "http1/body_decoder.h"

void nb_body_decoder_init(nb_body_decoder *decoder, const nb_framing *framing, uint64_t body_bytes_max) {
    *decoder = (nb_body_decoder){.length_left = framing->content_length,
                                 .is_chunked = framing->body == NB_BODY_CHUNKED};
    if (decoder->is_chunked) nb_chunked_init(&decoder->chunked, body_bytes_max);
}

static nb_status take_length(nb_body_decoder *decoder, size_t size, size_t *used, size_t *decoded) {
    *used = *decoded = size < decoder->length_left ? size : (size_t)decoder->length_left;
    decoder->length_left -= *used;
    return decoder->length_left == 0 ? NB_OK : NB_INCOMPLETE;
}

nb_status nb_body_decode(nb_body_decoder *decoder, char *bytes, size_t size, size_t *used, size_t *decoded,
                         nb_refusal *refusal) {
    nb_status status = decoder->is_chunked ? nb_chunked_decode(&decoder->chunked, bytes, size, used, decoded, refusal)
                                           : take_length(decoder, size, used, decoded);
    decoder->complete = status == NB_OK;
    return status;
}
