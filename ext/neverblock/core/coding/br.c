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
    BrotliEncoderState *state; /* NULL: left in the middle, only its blocks may be freed */
    block *blocks;             /* of the library */
    block *spare;              /* given back by it: the next content needs mostly the same */
    jmp_buf *out_of_memory;    /* NULL: the library is not inside, or may be told by NULL */
    unsigned level;
} br_encoder;

static br_encoder *own(nb_encoder *encoder) { return (br_encoder *)(void *)encoder; }

static void put(block **list, block *added) {
    added->next = *list;
    added->place = list;
    if (added->next) added->next->place = &added->next;
    *list = added;
}

static void take_out(block *taken) {
    *taken->place = taken->next;
    if (taken->next) taken->next->place = taken->place;
}

/* NULL: out of memory. */
static block *new_block(br_encoder *self, size_t bytes) {
    block *made = nb_alloc(sizeof(*made) + bytes);
    if (!made) return NULL;
    made->bytes = bytes;
    self->encoder.allocated += bytes;
    return made;
}

static void *allocate(void *encoder, size_t bytes) {
    br_encoder *self = encoder;
    block *found = self->spare;
    while (found && found->bytes != bytes)
        found = found->next;
    if (found) {
        take_out(found);
    } else {
        found = new_block(self, bytes);
    }
    if (!found && self->out_of_memory) longjmp(*self->out_of_memory, 1);
    if (!found) return NULL;
    put(&self->blocks, found);
    return found + 1;
}

static void release(void *encoder, void *bytes) {
    br_encoder *self = encoder;
    if (!bytes) return;
    block *freed = (block *)bytes - 1;
    take_out(freed);
    put(&self->spare, freed);
}

static void free_all(br_encoder *self, block **list) {
    while (*list) {
        block *freed = *list;
        take_out(freed);
        self->encoder.allocated -= freed->bytes;
        nb_free(freed);
    }
}

/* The library's quality for each level. */
static const uint8_t qualities[NB_LEVEL_MAX] = {1, 2, 2, 3, 4, 5, 5, 6, 6};

static bool begin(br_encoder *self) {
    bool small = self->encoder.window == NB_WINDOW_SMALL;
    self->state = BrotliEncoderCreateInstance(allocate, release, self);
    if (!self->state) return false;
    (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_QUALITY, qualities[self->level - 1]);
    (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_LGWIN, small ? SMALL_BITS : LARGE_BITS);
    if (small) (void)BrotliEncoderSetParameter(self->state, BROTLI_PARAM_SIZE_HINT, NB_WINDOW_SMALL_BYTES);
    return true;
}

static nb_encoder *create(unsigned level, nb_window window) {
    br_encoder *self = nb_alloc_zero(1, sizeof(*self));
    if (!self) return NULL;
    self->level = level;
    self->encoder.window = window;
    if (begin(self)) return &self->encoder;
    nb_free(self);
    return NULL;
}

/* The library has no way to use a state again: a new one takes the blocks of the old one. What the
 * old one has not used is freed. */
static bool reset(nb_encoder *encoder) {
    br_encoder *self = own(encoder);
    if (!self->state) return false;
    free_all(self, &self->spare);
    BrotliEncoderDestroyInstance(self->state);
    return begin(self);
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
        self->state = NULL;
        return NB_NO_MEMORY;
    }
    nb_status status = stream(self->state, operations[then], bytes, out);
    self->out_of_memory = NULL;
    return status;
}

static size_t bytes_of(const nb_encoder *encoder) { return sizeof(br_encoder) + encoder->allocated; }

static void destroy(nb_encoder *encoder) {
    br_encoder *self = own(encoder);
    if (self->state) BrotliEncoderDestroyInstance(self->state);
    free_all(self, &self->blocks);
    free_all(self, &self->spare);
    nb_free(self);
}

const nb_encoder_kind nb_encoder_br = {
    .create = create,
    .reset = reset,
    .encode = encode,
    .bytes = bytes_of,
    .destroy = destroy,
    .kb_ns = {6000, 8000, 8000, 8000, 12000, 24000, 24000, 36000, 36000},
};

#else

const nb_encoder_kind nb_encoder_br = {.create = NULL};

#endif
