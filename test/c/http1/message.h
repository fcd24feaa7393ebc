/*
 * message.h - reads one request as a server does, in pieces of any size: head, framing, body. The
 * outcome can be compared with that of other pieces. It is the oracle of the split tests, the
 * fuzzers and the comparison with other parsers.
 */
#ifndef NB_TEST_HTTP1_MESSAGE_H
#define NB_TEST_HTTP1_MESSAGE_H

#include <stdio.h>

#include "http1/chunked.h"
#include "http1/framing.h"
#include "http1/guarded.h"

typedef struct outcome {
    nb_status status; /* NB_OK: a complete request; NB_INCOMPLETE; else refused */
    nb_refusal refusal;
    size_t used;        /* bytes of the request, if complete */
    size_t refused_at;  /* bytes given when it was refused */
    size_t head_bytes;  /* bytes given when the head was complete */
    nb_framing framing; /* host points into `input` */
    uint64_t body_bytes;
    uint64_t body_hash;  /* FNV-1a of the decoded body */
    uint64_t head_hash;  /* of every slice of the head, as offset and size */
    char body_start[64]; /* the beginning, as far as it fits */
} outcome;

typedef struct message_limits {
    nb_head_limits head;
    uint64_t body_bytes_max;
} message_limits;

static const message_limits message_limits_usual = {{65536, NB_TARGET_BYTES_MAX, 100, NB_COMPLIANCE_COMMON}, 104857600};

#define MESSAGE_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t message_hash(uint64_t hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Hashes a slice by its content and its offset, so that equal hashes mean equal slices in any
 * buffer. */
static inline uint64_t message_hash_slice(uint64_t hash, nb_slice slice, const char *base, size_t size) {
    const bool inside = slice.size > 0 && slice.data >= base && slice.data + slice.size <= base + size;
    const size_t offset = inside ? (size_t)(slice.data - base) : SIZE_MAX;
    hash = message_hash(hash, &offset, sizeof offset);
    hash = message_hash(hash, &slice.size, sizeof slice.size);
    return message_hash(hash, slice.data, slice.size);
}

static inline uint64_t message_hash_head(const nb_head *head, const char *base, size_t size) {
    const unsigned numbers[] = {head->method, head->target_form, head->minor_version, head->header_count};
    uint64_t hash = message_hash(MESSAGE_HASH_START, numbers, sizeof numbers);
    const nb_slice slices[] = {head->method_text, head->target, head->authority, head->scheme, head->path, head->query};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
        hash = message_hash_slice(hash, slices[i], base, size);
    for (unsigned i = 0; i < head->header_count; i++) {
        hash = message_hash_slice(hash, head->headers[i].name, base, size);
        hash = message_hash_slice(hash, head->headers[i].value, base, size);
        hash = message_hash(hash, &head->headers[i].field, sizeof head->headers[i].field);
    }
    return hash;
}

/* A reader gets the input in pieces. Each piece ends at a guarded page, at an address of its
 * own. */
typedef struct message_reader {
    guarded memory;
    message_limits limits;
    const char *input;
    nb_head_parser parser;
    nb_head head;
    nb_chunked chunked;
    uint64_t length_left;
    bool in_body;
    size_t given; /* bytes of the input so far */
    outcome result;
} message_reader;

/* The caller may use a head for others between two calls of nb_head_parse: what an earlier call
 * wrote there must not be read. */
static inline void message_forget(nb_head *head) {
    memset(head, 0xa5, offsetof(nb_head, headers) + 8 * sizeof(*head->headers));
}

static inline void message_reader_init(message_reader *r, guarded memory, const message_limits *limits,
                                       const char *input) {
    r->memory = memory;
    r->limits = *limits;
    r->input = input;
    r->in_body = false;
    r->given = 0;
    r->result = (outcome){.status = NB_INCOMPLETE, .body_hash = MESSAGE_HASH_START};
    nb_head_parser_init(&r->parser);
}

static inline void message_body(message_reader *r, const char *bytes, size_t size) {
    if (size == 0) return;
    outcome *const o = &r->result;
    if (o->body_bytes < sizeof o->body_start) {
        const size_t left = sizeof o->body_start - (size_t)o->body_bytes;
        memcpy(o->body_start + o->body_bytes, bytes, size < left ? size : left);
    }
    o->body_hash = message_hash(o->body_hash, bytes, size);
    o->body_bytes += size;
}

/* Reads the body from input[from, to). */
static inline void message_read_body(message_reader *r, size_t from, size_t to) {
    outcome *const o = &r->result;
    if (o->framing.body == NB_BODY_NONE) {
        o->status = NB_OK;
        o->used = from;
        return;
    }
    char *const piece = guarded_place(&r->memory, r->input + from, to - from);
    if (o->framing.body == NB_BODY_LENGTH) {
        const size_t run = r->length_left < to - from ? (size_t)r->length_left : to - from;
        message_body(r, piece, run);
        r->length_left -= run;
        o->status = r->length_left == 0 ? NB_OK : NB_INCOMPLETE;
        o->used = from + run;
        return;
    }
    size_t used = SIZE_MAX, decoded = SIZE_MAX;
    o->status = nb_chunked_decode(&r->chunked, piece, to - from, &used, &decoded, &o->refusal);
    if (o->status != NB_OK && o->status != NB_INCOMPLETE) return;
    if (used > to - from || decoded > used || (o->status == NB_INCOMPLETE && used != to - from)) abort();
    message_body(r, piece, decoded);
    if (o->body_bytes != r->chunked.body_bytes) abort();
    o->used = from + used;
}

/* The input has come up to `to`. */
static inline void message_give(message_reader *r, size_t to) {
    outcome *const o = &r->result;
    if (o->status != NB_INCOMPLETE) return;
    const size_t from = r->given;
    r->given = to;
    if (r->in_body) {
        message_read_body(r, from, to);
    } else {
        size_t used = 0;
        const char *const bytes = guarded_place(&r->memory, r->input, to);
        message_forget(&r->head);
        o->status = nb_head_parse(&r->parser, bytes, to, &r->limits.head, &r->head, &used, &o->refusal);
        if (o->status == NB_OK) {
            o->head_bytes = used;
            o->head_hash = message_hash_head(&r->head, bytes, used);
            o->status = nb_framing_decide(&r->head, r->limits.body_bytes_max, r->limits.head.compliance, &o->framing,
                                          &o->refusal);
        }
        if (o->status == NB_OK) {
            if (o->framing.host.size > 0) o->framing.host.data = r->input + (o->framing.host.data - bytes);
            r->in_body = true;
            r->length_left = o->framing.content_length;
            nb_chunked_init(&r->chunked, r->limits.body_bytes_max);
            message_read_body(r, used, to);
        }
    }
    if (o->status != NB_OK && o->status != NB_INCOMPLETE) o->refused_at = to;
}

static inline outcome message_read_whole(guarded memory, const message_limits *limits, const char *input, size_t size) {
    static message_reader r;
    message_reader_init(&r, memory, limits, input);
    message_give(&r, size);
    return r.result;
}

static inline outcome message_read_bytewise(guarded memory, const message_limits *limits, const char *input,
                                            size_t size) {
    static message_reader r;
    message_reader_init(&r, memory, limits, input);
    for (size_t to = 1; to <= size; to++)
        message_give(&r, to);
    return r.result;
}

static inline outcome message_read_split(guarded memory, const message_limits *limits, const char *input, size_t size,
                                         size_t cut) {
    static message_reader r;
    message_reader_init(&r, memory, limits, input);
    message_give(&r, cut);
    message_give(&r, size);
    return r.result;
}

/* NULL: two deliveries of the same input have the same outcome. Else what differs. */
static inline const char *message_difference(const outcome *a, const outcome *b) {
    if (a->status != b->status) return "the status";
    if (a->status != NB_OK && a->status != NB_INCOMPLETE) {
        if (a->refusal.http_status != b->refusal.http_status) return "the HTTP status";
        return strcmp(a->refusal.reason, b->refusal.reason) == 0 ? NULL : "the reason";
    }
    if (a->head_bytes != b->head_bytes) return "the size of the head";
    if (a->head_hash != b->head_hash) return "the slices of the head";
    if (a->body_bytes != b->body_bytes || a->body_hash != b->body_hash) return "the body";
    if (a->status != NB_OK) return NULL;
    if (a->used != b->used) return "the size of the request";
    const nb_framing *const f = &a->framing, *const g = &b->framing;
    if (f->body != g->body || f->content_length != g->content_length || f->keep_alive != g->keep_alive ||
        f->upgrade != g->upgrade || f->expect_continue != g->expect_continue || f->host.size != g->host.size ||
        (f->host.size > 0 && f->host.data != g->host.data)) {
        return "the framing";
    }
    return NULL;
}

#endif
