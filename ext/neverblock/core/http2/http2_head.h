/*
 * http2_head.h - collects the fields of one request as HTTP/2 brings them, decoded and one at a
 * time, and makes a head of them (http/head.h; RFC 9113 sections 8.2, 8.3). It does no I/O and
 * does not know frames.
 *
 * Life: zeroed; nb_http2_head_add for each field; nb_http2_head_end; nb_http2_head_clear. The
 * caller has checked that the request is not malformed (http2_message.h). This module answers what
 * remains, with an HTTP status: limits, and values that HTTP/1.1 refuses as well.
 *
 * The block: the request line ("GET /path HTTP/2", LF), the authority and the scheme, then names
 * and values, all without gaps. It is the one block of bytes that intake/request.h asks for.
 */
#ifndef NB_HTTP2_HTTP2_HEAD_H
#define NB_HTTP2_HTTP2_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/pool.h"
#include "base/slice.h"
#include "base/status.h"
#include "http/head.h"

/* A place in the block. */
typedef struct nb_http2_span {
    uint32_t offset, size;
} nb_http2_span;

typedef struct nb_http2_field {
    uint32_t name_bytes, value_bytes; /* each field begins where the one before ends */
} nb_http2_field;

typedef struct nb_http2_head {
    nb_buffer block;
    nb_http2_span method, scheme, authority, path; /* of the pseudo-fields; in the line at last */
    uint32_t raw;                                  /* where the line begins */
    uint32_t fields_at;                            /* where the first field begins */
    uint32_t bytes;                                /* counted for the limit */
    uint16_t count;
    bool line_written, cookie_last; /* cookie_last: the last field is Cookie */
    nb_refusal refusal;             /* http_status 0: none so far */
    nb_http2_field fields[NB_HEADERS_MAX];
} nb_http2_head;

/* What the head says beside its fields. */
typedef struct nb_http2_facts {
    nb_slice raw;  /* the block */
    nb_slice host; /* the authority, from :authority or else from Host */
    bool expect_continue;
} nb_http2_facts;

/* Copies one field. Fields beyond the limits are dropped, and the request is refused at the end.
 * NB_NO_MEMORY. */
nb_status nb_http2_head_add(nb_http2_head *head, nb_pool *pool, const nb_head_limits *limits, nb_slice name,
                            nb_slice value);
/*
 * All fields have come. NB_OK: *request and *facts, whose slices point into the block until
 * nb_http2_head_clear. NB_INVALID: answer with *refusal; request->method, method_text and
 * facts->raw are set, for the log. NB_NO_MEMORY.
 */
nb_status nb_http2_head_end(nb_http2_head *head, nb_pool *pool, const nb_head_limits *limits, nb_head *request,
                            nb_http2_facts *facts, nb_refusal *refusal);
/* Frees the block. The head can be used again. */
void nb_http2_head_clear(nb_http2_head *head, nb_pool *pool);

#endif
