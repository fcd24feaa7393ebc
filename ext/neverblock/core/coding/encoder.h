/*
 * encoder.h - encodes content as a stream in gzip, br or zstd (RFC 1952, 7932, 8878), by the
 * libraries that the build has. Bytes go in piece by piece; after each the client can decode all
 * that went in, where it is asked for.
 *
 * Memory: an encoder allocates when it is created, and with br and zstd also when it is first used.
 * nb_encoder_bytes says how much it holds. Threads: one at a time uses an encoder; it may go from
 * one to another.
 */
#ifndef NB_CODING_ENCODER_H
#define NB_CODING_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "coding/bytes.h"
#include "files/accept_encoding.h"

/* 1: fast, to 9: small. The levels of gzip; br and zstd take their own of about the same time. */
#define NB_LEVEL_MAX 9u

/* How far back an encoder looks for what repeats, and by that how much memory it takes. */
typedef enum nb_window {
    NB_WINDOW_SMALL, /* bodies up to NB_WINDOW_SMALL_BYTES, and streams that stay open for long */
    NB_WINDOW_LARGE,
    NB_WINDOWS,
} nb_window;

#define NB_WINDOW_SMALL_BYTES 8192u

/* What follows the bytes of a call. */
typedef enum nb_encode_then {
    NB_ENCODE_MORE,  /* more bytes, at once: some may stay inside */
    NB_ENCODE_FLUSH, /* perhaps nothing for a while: all that went in can be decoded */
    NB_ENCODE_END,   /* nothing: the stream is complete */
} nb_encode_then;

typedef struct nb_encoder nb_encoder;

/* A library, as a table of functions. All NULL: the build does not have it. */
typedef struct nb_encoder_kind {
    /* Sets the kind's own fields. level: 1 to NB_LEVEL_MAX. NULL: out of memory. */
    nb_encoder *(*create)(unsigned level, nb_window window);
    /* Makes it ready for other content. False: it cannot be used again. */
    bool (*reset)(nb_encoder *encoder);
    nb_status (*encode)(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out);
    size_t (*bytes)(const nb_encoder *encoder);
    void (*destroy)(nb_encoder *encoder);
    /* Nanoseconds that a KB of text takes at each level, roughly, on a slow machine. */
    uint32_t kb_ns[NB_LEVEL_MAX];
} nb_encoder_kind;

/* The first member of the kind's own struct. */
struct nb_encoder {
    const nb_encoder_kind *kind;
    nb_encoder *next; /* its user's */
    size_t allocated; /* bytes that its library holds (nb_encoder_alloc) */
    nb_encoding coding;
    nb_window window;
};

/* NB_ENCODING_BITs of what the build has. */
unsigned nb_encoders_built(void);
/* coding: one of nb_encoders_built. NB_NO_MEMORY. */
nb_status nb_encoder_create(nb_encoding coding, unsigned level, nb_window window, nb_encoder **encoder);
/* NULL: nothing. */
void nb_encoder_destroy(nb_encoder *encoder);
static inline bool nb_encoder_reset(nb_encoder *encoder) { return encoder->kind->reset(encoder); }
/* Appends to `out`. NB_NO_MEMORY: the encoder can only be destroyed. */
static inline nb_status nb_encoder_encode(nb_encoder *encoder, nb_slice bytes, nb_encode_then then, nb_bytes *out) {
    return encoder->kind->encode(encoder, bytes, then, out);
}
/* Bytes of memory that it holds. */
static inline size_t nb_encoder_bytes(const nb_encoder *encoder) { return encoder->kind->bytes(encoder); }
/* About how long it takes to encode so many bytes, in nanoseconds. */
int64_t nb_encoder_cost_ns(nb_encoding coding, unsigned level, size_t bytes);

/* --- for kinds --- */

extern const nb_encoder_kind nb_encoder_gzip, nb_encoder_br, nb_encoder_zstd;

/* malloc and free for a library, which count in encoder->allocated. */
void *nb_encoder_alloc(void *encoder, size_t bytes);
void nb_encoder_free(void *encoder, void *block);

#endif
