/*
 * encoder.c - see encoder.h.
 */
#include "coding/encoder.h"

#include "base/alloc.h"
#include "base/assert.h"

/* In front of each block of a library: its size. Keeps the alignment of malloc. */
#define HEAD_BYTES 16u

/* What an encoder costs for content of any size: its tables are cleared, its codes are made. */
#define FIXED_NS 20000

static const nb_encoder_kind *const kinds[NB_ENCODING_COUNT] = {
    [NB_ENCODING_GZIP] = &nb_encoder_gzip,
    [NB_ENCODING_BR] = &nb_encoder_br,
    [NB_ENCODING_ZSTD] = &nb_encoder_zstd,
};

unsigned nb_encoders_built(void) {
    unsigned built = 0;
    for (unsigned coding = 0; coding < NB_ENCODING_COUNT; coding++) {
        if (kinds[coding] && kinds[coding]->create) built |= NB_ENCODING_BIT(coding);
    }
    return built;
}

nb_status nb_encoder_create(nb_encoding coding, unsigned level, nb_window window, nb_encoder **encoder) {
    NB_ASSERT(nb_encoders_built() & NB_ENCODING_BIT(coding) && level >= 1 && level <= NB_LEVEL_MAX);
    nb_encoder *made = kinds[coding]->create(level, window);
    if (!made) return NB_NO_MEMORY;
    made->kind = kinds[coding];
    made->coding = coding;
    made->window = window;
    *encoder = made;
    return NB_OK;
}

void nb_encoder_destroy(nb_encoder *encoder) {
    if (encoder) encoder->kind->destroy(encoder);
}

int64_t nb_encoder_cost_ns(nb_encoding coding, unsigned level, size_t bytes) {
    return FIXED_NS + (int64_t)((uint64_t)kinds[coding]->kb_ns[level - 1] * bytes / 1024);
}

void *nb_encoder_alloc(void *encoder, size_t bytes) {
    size_t *block = nb_alloc(HEAD_BYTES + bytes);
    if (!block) return NULL;
    *block = bytes;
    ((nb_encoder *)encoder)->allocated += bytes;
    return (char *)block + HEAD_BYTES;
}

void nb_encoder_free(void *encoder, void *block) {
    if (!block) return;
    size_t *head = (size_t *)(void *)((char *)block - HEAD_BYTES);
    ((nb_encoder *)encoder)->allocated -= *head;
    nb_free(head);
}
