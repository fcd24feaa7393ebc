/*
 * head_parser.h - the head of an HTTP/1 request (RFC 9112 sections 2-5): bytes in, slices out. Strict, no allocation,
 * resumable.
 *
 * The caller keeps the bytes of the head in one contiguous buffer and calls nb_head_parse again with all of them
 * whenever more arrived; the parser remembers how far it looked, so that a head delivered byte by byte costs no more
 * than one delivered whole. The buffer may move between calls (offsets inside, resolved at the end). After NB_OK every
 * slice points into the buffer given to that call and is valid as long as it is.
 *
 * One or two CRLF before the request line are skipped (RFC 9112 section 2.2), no more. Line ends are CRLF alone; a bare
 * LF or CR, obs-fold, NUL and other control bytes, a space before the colon, an empty name, bytes over 0x7f in names:
 * refused. Values keep bytes 0x80-0xff (obs-text) and inner tabs; the white space (SP, HTAB) around them is cut. What a
 * target may have beyond the grammar is for the caller to say (compliance.h); control bytes, SP and DEL it never has. Names
 * with an underscore are accepted like any token; whoever maps names to keys where "_" and "-" meet (the binding) has
 * to drop them. Nothing is changed in the buffer.
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
    size_t scanned; /* bytes looked at */
    uint32_t state; /* private from here on */
    uint32_t mark;  /* where the method, target or version began */
    uint32_t headers;
    uint32_t blank_lines;
} nb_head_parser;

void nb_head_parser_init(nb_head_parser *parser);
/*
 * bytes, size: everything received of this head so far, from its first byte.
 * NB_OK: *head is filled in, *used is the size of the head with the empty line; what follows is body or the next
 * request. The parser is then as after init, ready for the next head, whose first byte is bytes[*used]. NB_INCOMPLETE:
 * so far nothing wrong; call again with more. Errors are told as soon as the offending byte is seen, limits as soon as
 *   they are passed (not only when the head is complete).
 * NB_INVALID or NB_TOO_LARGE: *refusal says why; answer it and close. `head` and `used` are then undefined.
 *   limits.head_bytes is the most a head needs room for: when so many bytes are there and the head is not complete it
 * is refused (431, in the target 414). The authority of a target is judged where the target ends. HTTP/0.9 (no
 * version): 400. Any other major version but 1, the HTTP/2 preface among them: 505.
 */
nb_status nb_head_parse(nb_head_parser *parser, const char *bytes, size_t size, const nb_head_limits *limits,
                        nb_head *head, size_t *used, nb_refusal *refusal);

#endif
