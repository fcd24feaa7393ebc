/*
 * gzip.c - gzip by zlib (RFC 1952).
 */
#include "coding/encoder.h"

#ifdef NB_HAVE_ZLIB

#include <zlib.h>

#include "base/alloc.h"

/* windowBits of deflateInit2 that make it write gzip's head and trailer. */
#define GZIP_BITS 16

/* A call of deflate has at least so much room. Its flush marker takes 6 bytes, and is written again
 * where it just fits. */
#define ROOM_BYTES 256u

typedef struct gzip_encoder {
    nb_encoder encoder;
    z_stream stream;
} gzip_encoder;

static gzip_encoder *own(nb_encoder *encoder) { return (gzip_encoder *)(void *)encoder; }

static voidpf allocate(voidpf encoder, uInt count, uInt bytes) {
    return nb_encoder_alloc(encoder, (size_t)count * bytes);
}

/* Memory in bytes is 2^(window bits + 2) + 2^(memory level + 9) (zconf.h). */
static nb_encoder *create(unsigned level, nb_window window) {
    bool small = window == NB_WINDOW_SMALL;
    gzip_encoder *self = nb_alloc_zero(1, sizeof(*self));
    if (!self) return NULL;
    self->stream = (z_stream){.zalloc = allocate, .zfree = nb_encoder_free, .opaque = self};
    if (deflateInit2(&self->stream, (int)level, Z_DEFLATED, (small ? 13 : 15) + GZIP_BITS, small ? 6 : 8,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return &self->encoder;
    nb_free(self);
    return NULL;
}

static bool reset(nb_encoder *encoder) { return deflateReset(&own(encoder)->stream) == Z_OK; }

static nb_status encode(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out) {
    static const int flushes[] = {
        [NB_ENCODE_MORE] = Z_NO_FLUSH, [NB_ENCODE_FLUSH] = Z_SYNC_FLUSH, [NB_ENCODE_END] = Z_FINISH};
    z_stream *stream = &own(encoder)->stream;
    stream->next_in = (Bytef *)(uintptr_t)bytes.data;
    stream->avail_in = (uInt)bytes.size;
    do {
        if (nb_bytes_reserve(out, ROOM_BYTES) != NB_OK) return NB_NO_MEMORY;
        size_t room = out->capacity - out->size;
        stream->next_out = (Bytef *)(out->data + out->size);
        stream->avail_out = (uInt)room;
        int result = deflate(stream, flushes[then]);
        if (result == Z_STREAM_ERROR) return NB_NO_MEMORY;
        out->size += room - stream->avail_out;
    } while (stream->avail_out == 0);
    return NB_OK;
}

static size_t bytes_of(const nb_encoder *encoder) { return sizeof(gzip_encoder) + encoder->allocated; }

static void destroy(nb_encoder *encoder) {
    (void)deflateEnd(&own(encoder)->stream);
    nb_free(encoder);
}

const nb_encoder_kind nb_encoder_gzip = {
    .create = create,
    .reset = reset,
    .encode = encode,
    .bytes = bytes_of,
    .destroy = destroy,
    .kb_ns = {8000, 9000, 11000, 14000, 18000, 25000, 30000, 60000, 60000},
};

#else

const nb_encoder_kind nb_encoder_gzip = {.create = NULL};

#endif
