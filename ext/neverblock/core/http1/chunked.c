/*
 * chunked.c - see chunked.h. A state machine over the framing bytes. Runs of data are moved as
 * blocks; they stay in place if no framing came before them.
 */
#include "http1/chunked.h"

#include <string.h>

#include "http/byte_class.h"

#define SIZE_DIGITS_MAX 16u /* 64 bits */

enum state {
    SIZE_START, /* expects the first digit */
    SIZE,
    EXT_NAME_START, /* behind ";" */
    EXT_NAME,
    EXT_VALUE_START, /* behind "=" */
    EXT_VALUE,
    EXT_QUOTED,
    EXT_QUOTED_PAIR, /* behind "\" */
    EXT_END,         /* expects ";" or CR */
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    DONE
};

typedef struct walk {
    nb_chunked *chunked;
    const char *base, *at, *end;
    char *out;
    nb_refusal *refusal;
} walk;

static __attribute__((cold)) nb_status refuse(walk *w, nb_status status, uint16_t http_status, const char *reason) {
    *w->refusal = (nb_refusal){http_status, reason};
    return status;
}

static nb_status invalid(walk *w, const char *reason) { return refuse(w, NB_INVALID, 400, reason); }

static unsigned hex_value(char digit) {
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)((digit | 0x20) - 'a' + 10);
}

static nb_status walk_size(walk *w) {
    nb_chunked *c = w->chunked;
    for (; w->at < w->end; w->at++, c->overhead_bytes++) {
        if (!nb_byte_is(*w->at, NB_BYTE_HEX)) break;
        if (c->digits == SIZE_DIGITS_MAX) return invalid(w, "a chunk size of more than 16 digits");
        c->chunk_left = c->chunk_left << 4 | hex_value(*w->at);
        c->digits++;
        c->state = SIZE;
    }
    if (w->at == w->end) return NB_OK;
    if (c->state == SIZE_START) return invalid(w, "a chunk size that is no hexadecimal number");
    const char stop = *w->at;
    if (stop != '\r' && stop != ';') return invalid(w, "a byte that may not follow a chunk size");
    if (c->chunk_left > c->body_bytes_max - c->body_bytes) {
        return refuse(w, NB_OVER_LIMIT, 413, NB_BODY_TOO_LARGE);
    }
    c->state = EXT_END;
    return NB_OK;
}

/* One byte of an extension: *( ";" token [ "=" ( token / quoted-string ) ] ), without white space
 * (RFC 9112 section 7.1.1). */
static bool extension_step(nb_chunked *c, char byte) {
    switch (c->state) {
    case EXT_NAME_START:
    case EXT_VALUE_START:
        if (c->state == EXT_VALUE_START && byte == '"') {
            c->state = EXT_QUOTED;
            return true;
        }
        c->state = c->state == EXT_NAME_START ? EXT_NAME : EXT_VALUE;
        return nb_byte_is(byte, NB_BYTE_TOKEN);
    case EXT_NAME:
        if (byte == '=') c->state = EXT_VALUE_START;
        if (byte == '=' || nb_byte_is(byte, NB_BYTE_TOKEN)) return true;
        break;
    case EXT_VALUE:
        if (nb_byte_is(byte, NB_BYTE_TOKEN)) return true;
        break;
    case EXT_QUOTED:
        if (byte == '"') c->state = EXT_END;
        if (byte == '\\') c->state = EXT_QUOTED_PAIR;
        return byte == '"' || byte == '\\' || nb_byte_is(byte, NB_BYTE_QUOTED);
    case EXT_QUOTED_PAIR:
        c->state = EXT_QUOTED;
        return nb_byte_is(byte, NB_BYTE_VALUE);
    default:
        break;
    }
    c->state = byte == ';' ? EXT_NAME_START : SIZE_LF;
    return byte == ';' || byte == '\r';
}

static nb_status walk_extension(walk *w) {
    nb_chunked *c = w->chunked;
    while (w->at < w->end && c->state != SIZE_LF) {
        if (!extension_step(c, *w->at)) return invalid(w, "a malformed chunk extension");
        w->at++;
        c->overhead_bytes++;
        if (c->state != SIZE_LF && ++c->extension_bytes > NB_CHUNK_EXTENSION_BYTES_MAX) {
            return refuse(w, NB_OVER_LIMIT, 400, "more chunk extensions than the limit");
        }
    }
    return NB_OK;
}

static nb_status walk_size_lf(walk *w) {
    nb_chunked *c = w->chunked;
    if (*w->at != '\n') return invalid(w, "a CR without LF after a chunk size");
    w->at++;
    c->overhead_bytes++;
    if (c->overhead_bytes > NB_CHUNK_OVERHEAD_ALLOWANCE_BYTES + NB_CHUNK_OVERHEAD_RATIO * c->body_bytes) {
        return invalid(w, "chunks that are mostly framing");
    }
    c->state = c->chunk_left == 0 ? TRAILER_START : DATA;
    return NB_OK;
}

static nb_status walk_data(walk *w) {
    nb_chunked *c = w->chunked;
    const size_t there = (size_t)(w->end - w->at);
    const size_t run = c->chunk_left < there ? (size_t)c->chunk_left : there;
    if (w->out != w->at) memmove(w->out, w->at, run);
    w->out += run;
    w->at += run;
    c->chunk_left -= run;
    c->body_bytes += run;
    if (c->chunk_left == 0) c->state = DATA_CR;
    return NB_OK;
}

static nb_status walk_data_end(walk *w) {
    nb_chunked *c = w->chunked;
    if (*w->at != (c->state == DATA_CR ? '\r' : '\n')) return invalid(w, "chunk data that is not followed by CRLF");
    w->at++;
    c->overhead_bytes++;
    if (c->state == DATA_CR) {
        c->state = DATA_LF;
        return NB_OK;
    }
    c->state = SIZE_START;
    c->digits = 0;
    return NB_OK;
}

static nb_status walk_trailer_start(walk *w) {
    if (*w->at == '\r') {
        w->chunked->state = LAST_LF;
        w->at++;
        return NB_OK;
    }
    if (!nb_byte_is(*w->at, NB_BYTE_TOKEN)) return invalid(w, "a malformed trailer field");
    w->chunked->state = TRAILER_NAME;
    return NB_OK;
}

static nb_status walk_trailer_name(walk *w, const char *limit) {
    w->at = nb_scan_token(w->base, w->at, limit);
    if (w->at == limit) return NB_OK;
    if (*w->at != ':') return invalid(w, "a malformed trailer field");
    w->chunked->state = TRAILER_VALUE;
    w->at++;
    return NB_OK;
}

static nb_status walk_trailer_value(walk *w, const char *limit) {
    w->at = nb_scan_value(w->base, w->at, limit);
    if (w->at == limit) return NB_OK;
    if (*w->at != '\r') return invalid(w, "a malformed trailer field");
    w->chunked->state = TRAILER_LF;
    w->at++;
    return NB_OK;
}

static nb_status walk_trailer_lf(walk *w) {
    if (*w->at != '\n') return invalid(w, "a CR without LF in the trailers");
    w->chunked->state = w->chunked->state == LAST_LF ? DONE : TRAILER_START;
    w->at++;
    return NB_OK;
}

/* Trailer fields (RFC 9112 section 7.1.2) are checked like header fields and dropped. */
static nb_status walk_trailers(walk *w) {
    nb_chunked *c = w->chunked;
    const size_t left = NB_TRAILER_BYTES_MAX - c->trailer_bytes;
    const char *const limit = (size_t)(w->end - w->at) > left ? w->at + left : w->end;
    const char *const start = w->at;
    nb_status status = NB_OK;
    if (w->at == limit) return refuse(w, NB_OVER_LIMIT, 400, "more trailers than the limit");
    switch (c->state) {
    case TRAILER_START:
        status = walk_trailer_start(w);
        break;
    case TRAILER_NAME:
        status = walk_trailer_name(w, limit);
        break;
    case TRAILER_VALUE:
        status = walk_trailer_value(w, limit);
        break;
    default:
        status = walk_trailer_lf(w);
        break;
    }
    c->trailer_bytes += (uint32_t)(w->at - start);
    return status;
}

static nb_status walk_some(walk *w) {
    switch (w->chunked->state) {
    case SIZE_START:
    case SIZE:
        return walk_size(w);
    case SIZE_LF:
        return walk_size_lf(w);
    case DATA:
        return walk_data(w);
    case DATA_CR:
    case DATA_LF:
        return walk_data_end(w);
    case EXT_NAME_START:
    case EXT_NAME:
    case EXT_VALUE_START:
    case EXT_VALUE:
    case EXT_QUOTED:
    case EXT_QUOTED_PAIR:
    case EXT_END:
        return walk_extension(w);
    default:
        return walk_trailers(w);
    }
}

void nb_chunked_init(nb_chunked *chunked, uint64_t body_bytes_max) {
    *chunked = (nb_chunked){.body_bytes_max = body_bytes_max, .state = SIZE_START};
}

nb_status nb_chunked_decode(nb_chunked *chunked, char *bytes, size_t size, size_t *used, size_t *decoded,
                            nb_refusal *refusal) {
    walk w = {.chunked = chunked, .base = bytes, .at = bytes, .end = bytes + size, .out = bytes, .refusal = refusal};
    while (w.at < w.end && chunked->state != DONE) {
        const nb_status status = walk_some(&w);
        if (status != NB_OK) return status;
    }
    *used = (size_t)(w.at - bytes);
    *decoded = (size_t)(w.out - bytes);
    return chunked->state == DONE ? NB_OK : NB_INCOMPLETE;
}

/* A later chunk follows one that had data: one without is the last. */
bool nb_chunked_is_begun(const nb_chunked *chunked) { return chunked->body_bytes > 0 || chunked->state > SIZE_LF; }
