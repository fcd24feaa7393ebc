/*
 * br.c - Brotli by libbrotlienc (RFC 7932).
 *
 * The library, as systems build it, ends the process where memory is out (exit(3) in its memory.c).
 * So an allocation that fails does not return to it: it leaves the library by longjmp, and the
 * encoder's blocks, which are all in a list, are freed without it. The library holds nothing else.
 */
#include "coding/encoder.h"

#ifdef NB_HAVE_BROTLI

#include <brotli/encode.h>
#include <setjmp.h>

#include "base/alloc.h"

#define ROOM_BYTES 256u

/* Bits of the window. The library takes more memory for a larger one. */
#define SMALL_BITS 14u
#define LARGE_BITS 18u

/* In front of each block of the library. Keeps the alignment of malloc. */
typedef struct block {
    struct block *next, **place; /* in the encoder's list; what points to it */
    size_t bytes;
    size_t pad;
} block;

typedef struct br_encoder {
    nb_encoder encoder;
    BrotliEncoderState *state;
    block *blocks;
    jmp_buf *out_of_memory; /* NULL: the library is not inside, or may be told by NULL */
    bool failed;            /* it was left in the middle: only its blocks may be freed */
} br_encoder;

static br_encoder *own(nb_encoder *encoder) { return (br_encoder *)(void *)encoder; }

static void *allocate(void *encoder, size_t bytes) {
    br_encoder *self = encoder;
    block *made = nb_alloc(sizeof(*made) + bytes);
    if (!made && self->out_of_memory) longjmp(*self->out_of_memory, 1);
    if (!made) return NULL;
    *made = (block){.next = self->blocks, .place = &self->blocks, .bytes = bytes};
    if (made->next) made->next->place = &made->next;
    self->blocks = made;
    self->encoder.allocated += bytes;
    return made + 1;
}

static void release(void *encoder, void *bytes) {
    br_encoder *self = encoder;
    if (!bytes) return;
    block *freed = (block *)bytes - 1;
    *freed->place = freed->next;
    if (freed->next) freed->next->place = freed->place;
    self->encoder.allocated -= freed->bytes;
    nb_free(freed);
}

/* The library's quality for each level. */
static const uint8_t qualities[NB_LEVEL_MAX] = {1, 2, 2, 4, 4, 5, 5, 6, 7};

static nb_encoder *create(unsigned level, nb_window window) {
    br_encoder *self = nb_alloc_zero(1, sizeof(*self));
    if (!self) return NULL;
    self->state = BrotliEncoderCreateInstance(allocate, release, self);
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

static nb_status stream(BrotliEncoderState *state, BrotliEncoderOperation operation, nb_slice bytes, nb_bytes *out) {
    const uint8_t *next_in = (const uint8_t *)bytes.data;
    size_t left_in = bytes.size;
    do {
        if (nb_bytes_reserve(out, ROOM_BYTES) != NB_OK) return NB_NO_MEMORY;
        size_t room = out->capacity - out->size, left_out = room;
        uint8_t *next_out = (uint8_t *)out->data + out->size;
        if (!BrotliEncoderCompressStream(state, operation, &left_in, &next_in, &left_out, &next_out, NULL))
            return NB_NO_MEMORY;
        out->size += room - left_out;
    } while (left_in > 0 || BrotliEncoderHasMoreOutput(state));
    return NB_OK;
}

static nb_status encode(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out) {
    static const BrotliEncoderOperation operations[] = {[NB_ENCODE_MORE] = BROTLI_OPERATION_PROCESS,
                                                        [NB_ENCODE_FLUSH] = BROTLI_OPERATION_FLUSH,
                                                        [NB_ENCODE_END] = BROTLI_OPERATION_FINISH};
    br_encoder *self = own(encoder);
    jmp_buf here;
    self->out_of_memory = &here;
    if (setjmp(here)) {
        self->out_of_memory = NULL;
        self->failed = true;
        return NB_NO_MEMORY;
    }
    nb_status status = stream(self->state, operations[then], bytes, out);
    self->out_of_memory = NULL;
    return status;
}

static size_t bytes_of(const nb_encoder *encoder) { return sizeof(br_encoder) + encoder->allocated; }

static void destroy(nb_encoder *encoder) {
    br_encoder *self = own(encoder);
    if (!self->failed) BrotliEncoderDestroyInstance(self->state);
    while (self->blocks)
        release(self, self->blocks + 1);
    nb_free(self);
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
