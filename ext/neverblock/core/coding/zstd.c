/*
 * zstd.c - Zstandard by libzstd (RFC 8878). The window stays far below the 8 MB that clients must
 * take (RFC 9659).
 */
#include "coding/encoder.h"

#ifdef NB_HAVE_ZSTD

#include <zstd.h>

#include "base/alloc.h"

#define ROOM_BYTES 256u

/* Bits of the window. The library makes its tables by it. */
#define SMALL_BITS 13
#define LARGE_BITS 17

typedef struct zstd_encoder {
    nb_encoder encoder;
    ZSTD_CCtx *context;
} zstd_encoder;

static zstd_encoder *own(nb_encoder *encoder) { return (zstd_encoder *)(void *)encoder; }

/* The library's level for each level. */
static const uint8_t levels[NB_LEVEL_MAX] = {1, 1, 1, 3, 3, 5, 6, 7, 8};

/* The library allocates by malloc: a way to give it another is not part of its stable API. */
static nb_encoder *create(unsigned level, nb_window window) {
    zstd_encoder *self = nb_alloc_zero(1, sizeof(*self));
    if (!self) return NULL;
    self->context = ZSTD_createCCtx();
    if (!self->context) {
        nb_free(self);
        return NULL;
    }
    (void)ZSTD_CCtx_setParameter(self->context, ZSTD_c_compressionLevel, levels[level - 1]);
    (void)ZSTD_CCtx_setParameter(self->context, ZSTD_c_windowLog, window == NB_WINDOW_SMALL ? SMALL_BITS : LARGE_BITS);
    return &self->encoder;
}

static bool reset(nb_encoder *encoder) {
    return !ZSTD_isError(ZSTD_CCtx_reset(own(encoder)->context, ZSTD_reset_session_only));
}

static nb_status encode(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out) {
    static const ZSTD_EndDirective directives[] = {
        [NB_ENCODE_MORE] = ZSTD_e_continue, [NB_ENCODE_FLUSH] = ZSTD_e_flush, [NB_ENCODE_END] = ZSTD_e_end};
    ZSTD_CCtx *context = own(encoder)->context;
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    size_t inside;
    do {
        if (nb_bytes_reserve(out, ROOM_BYTES) != NB_OK) return NB_NO_MEMORY;
        ZSTD_outBuffer room = {out->data + out->size, out->capacity - out->size, 0};
        inside = ZSTD_compressStream2(context, &room, &in, directives[then]);
        if (ZSTD_isError(inside)) return NB_NO_MEMORY;
        out->size += room.pos;
    } while (in.pos < in.size || (inside > 0 && then != NB_ENCODE_MORE));
    return NB_OK;
}

static size_t bytes_of(const nb_encoder *encoder) {
    const zstd_encoder *self = (const zstd_encoder *)(const void *)encoder;
    return sizeof(*self) + ZSTD_sizeof_CCtx(self->context);
}

static void destroy(nb_encoder *encoder) {
    (void)ZSTD_freeCCtx(own(encoder)->context);
    nb_free(encoder);
}

const nb_encoder_kind nb_encoder_zstd = {
    .create = create,
    .reset = reset,
    .encode = encode,
    .bytes = bytes_of,
    .destroy = destroy,
    .kb_ns = {4000, 4000, 4000, 5000, 5000, 10000, 15000, 17000, 20000},
};

#else

const nb_encoder_kind nb_encoder_zstd = {.create = NULL};

#endif
