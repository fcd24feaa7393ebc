/*
 * head_parser.h - parses the head of an HTTP/1 request (RFC 9112 sections 2 to 5) into slices.
 * Strict, resumable, no allocation. The input is not changed.
 *
 * The caller keeps all bytes of the head in one contiguous buffer, and calls nb_head_parse with all
 * of them whenever more have come. The parser remembers how far it has looked, so a head that comes
 * byte by byte is read at most twice. The buffer may move between calls. After NB_OK the slices
 * point into the buffer of that call.
 *
 * One or two CRLF before the request line are skipped (RFC 9112 section 2.2). Refused are: a bare
 * CR or LF as a line end, obs-fold, NUL and other control bytes, a space before the colon, an empty
 * name, bytes over 0x7f in a name. Values may contain obs-text (0x80 to 0xff) and inner tabs, and
 * are trimmed of SP and HTAB. The compliance (http/compliance.h) says what a target may have beyond
 * the grammar, but never control bytes, SP or DEL.
 *
 * Names may contain an underscore. Code that maps names to keys in which "_" and "-" are the same
 * must drop such names, as the binding does.
 */
#ifndef NB_HTTP1_HEAD_PARSER_H
#define NB_HTTP1_HEAD_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/slice.h"
#include "base/status.h"
#include "http/head.h"

typedef struct nb_head_parser {
    size_t scanned; /* bytes parsed so far */
    uint32_t state; /* private from here on */
    uint32_t mark;  /* where the method, target or version began */
    uint32_t headers;
    uint32_t blank_lines;
} nb_head_parser;

void nb_head_parser_init(nb_head_parser *parser);
/* Bytes of empty lines at the beginning, also of one that has begun. The caller may take them out
 * of the buffer before nb_head_parse: the parser counts them. */
size_t nb_head_skip_empty_lines(nb_head_parser *parser, const char *bytes, size_t size);
/* Some were skipped before the head that is parsed next. */
static inline bool nb_head_skipped_empty_lines(const nb_head_parser *parser) { return parser->blank_lines > 0; }
/*
 * bytes, size: everything received of this head, from its first byte.
 *
 *   NB_OK          *head is set. *used is the size of the head with its empty line; a body or the
 *                  next request follows. The parser is ready for the next head.
 *   NB_INCOMPLETE  no error so far. Call again with more bytes.
 *   NB_INVALID, NB_OVER_LIMIT  answer with *refusal and close. `head` and `used` are undefined.
 *
 * An error is reported as soon as its byte is seen, and a limit as soon as it is exceeded. A head
 * that is not complete within limits.head_bytes is refused (431; 414 in the target). The authority
 * of a target is checked where the target ends. Without a version (HTTP/0.9): 400. Another major
 * version than 1, as in the HTTP/2 preface: 505.
 */
nb_status nb_head_parse(nb_head_parser *parser, const char *bytes, size_t size, const nb_head_limits *limits,
                        nb_head *head, size_t *used, nb_refusal *refusal);

#endif
