/*
 * br.c - Brotli by libbrotlienc (RFC 7932).
 */
#include "coding/encoder.h"

#ifdef NB_HAVE_BROTLI

#include <brotli/encode.h>

#include "base/alloc.h"

#define ROOM_BYTES 256u

/* Bits of the window. The library takes more memory for a larger one. */
#define SMALL_BITS 14u
#define LARGE_BITS 18u

typedef struct br_encoder {
    nb_encoder encoder;
    BrotliEncoderState *state;
} br_encoder;

static br_encoder *own(nb_encoder *encoder) { return (br_encoder *)(void *)encoder; }

/* The library's quality for each level. */
static const uint8_t qualities[NB_LEVEL_MAX] = {1, 2, 2, 4, 4, 5, 5, 6, 7};

static nb_encoder *create(unsigned level, nb_window window) {
    br_encoder *self = nb_alloc_zero(1, sizeof(*self));
    if (!self) return NULL;
    self->state = BrotliEncoderCreateInstance(nb_encoder_alloc, nb_encoder_free, self);
    if (!self->state) {
        nb_free(self);
        return NULL;
    }
    (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_QUALITY, qualities[level - 1]);
    (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_LGWIN,
                                    window == NB_WINDOW_SMALL ? SMALL_BITS : LARGE_BITS);
    if (window == NB_WINDOW_SMALL)
        (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_SIZE_HINT, NB_WINDOW_SMALL_BYTES);
    return &self->encoder;
}

/* The library has no way to use a state again. */
static bool reset(nb_encoder *encoder) {
    (void)encoder;
    return false;
}

static nb_status encode(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out) {
    static const BrotliEncoderOperation operations[] = {[NB_ENCODE_MORE] = BROTLI_OPERATION_PROCESS,
                                                        [NB_ENCODE_FLUSH] = BROTLI_OPERATION_FLUSH,
                                                        [NB_ENCODE_END] = BROTLI_OPERATION_FINISH};
    BrotliEncoderState *state = own(encoder)->state;
    const uint8_t *next_in = (const uint8_t *)bytes.data;
    size_t left_in = bytes.size;
    do {
        if (nb_bytes_reserve(out, ROOM_BYTES) != NB_OK) return NB_NO_MEMORY;
        size_t room = out->capacity - out->size, left_out = room;
        uint8_t *next_out = (uint8_t *)out->data + out->size;
        if (!BrotliEncoderCompressStream(state, operations[then], &left_in, &next_in, &left_out, &next_out, NULL))
            return NB_NO_MEMORY;
        out->size += room - left_out;
    } while (left_in > 0 || BrotliEncoderHasMoreOutput(state));
    return NB_OK;
}

static size_t bytes_of(const nb_encoder *encoder) { return sizeof(br_encoder) + encoder->allocated; }

static void destroy(nb_encoder *encoder) {
    BrotliEncoderDestroyInstance(own(encoder)->state);
    nb_free(encoder);
}

const nb_encoder_kind nb_encoder_br = {
    .create = create,
    .reset = reset,
    .encode = encode,
    .bytes = bytes_of,
    .destroy = destroy,
    .kb_ns = {6000, 8000, 8000, 10000, 10000, 18000, 18000, 30000, 32000},
};

#else

const nb_encoder_kind nb_encoder_br = {.create = NULL};

#endif
