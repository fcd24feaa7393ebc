/*
 * compressible.h - which responses are compressed, by their status and fields, and how their fields
 * change by it. Pure functions.
 */
#ifndef NB_RESPONSES_COMPRESSIBLE_H
#define NB_RESPONSES_COMPRESSIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "files/accept_encoding.h"
#include "http/head.h"

/* --- media types --- */

#define NB_COMPRESS_TYPES_MAX 64u
#define NB_COMPRESS_TYPES_BYTES 2048u /* of all together */

/* The media types that are compressed. All zero: none. */
typedef struct nb_compress_types {
    uint16_t count, text_bytes;
    uint16_t starts[NB_COMPRESS_TYPES_MAX + 1];
    char text[NB_COMPRESS_TYPES_BYTES];
} nb_compress_types;

/* type: a media type without parameters, in any case of letters; a star stands for any bytes, once
 * ("text/" and a star; "application/", a star and "+json"). NB_INVALID: it is none. NB_FULL. */
nb_status nb_compress_types_add(nb_compress_types *types, nb_slice type);
/* Adds the types that text formats have. */
void nb_compress_types_add_usual(nb_compress_types *types);
/* value: of Content-Type. */
bool nb_compress_types_have(const nb_compress_types *types, nb_slice value);

/* --- the request --- */

/* True: the client shows who it is, and another site may have made it send the request, over a
 * channel that others see encrypted. Then the size of a compressed response can give away what
 * is in it (BREACH). secure: the connection is TLS. certified: the client has shown a
 * certificate. */
bool nb_compress_is_guarded(const nb_head *head, bool secure, bool certified);

/* --- the response --- */

/* What the server says of a response's fields. Slices are of the lines. */
typedef struct nb_response_fields {
    nb_slice content_type, etag; /* no data: there is none */
    nb_slice vary;               /* the value of the first Vary; no data: there is none */
    bool varies;                 /* Vary names Accept-Encoding, or is a star */
    bool fixed;                  /* it may not be encoded, or is already */
    bool open;                   /* Cache-Control: public */
} nb_response_fields;

/* lines: complete field lines. */
void nb_response_fields_read(nb_response_fields *fields, nb_slice lines);

/* True: a response with this status and these fields would be compressed for some client. */
bool nb_compress_may(const nb_compress_types *types, uint16_t status, const nb_response_fields *fields);

/* Changes to field lines. */
enum {
    NB_COMPRESS_VARY = 1,   /* Vary: Accept-Encoding */
    NB_COMPRESS_WEAKEN = 2, /* a strong ETag becomes weak (RFC 9110 section 8.8.1) */
    NB_COMPRESS_ENCODE = 4, /* Content-Encoding, and no Accept-Ranges */
    NB_COMPRESS_EMPTY = 8,  /* no Content-Type: the response is a 304 */
};

/* Room for `lines` after any changes. */
#define NB_COMPRESS_LINES_BYTES(lines) ((lines).size + 64u)

/* Writes the lines with the changes. coding: for NB_COMPRESS_ENCODE. Returns the bytes. */
size_t nb_compress_lines_write(char *out, nb_slice lines, const nb_response_fields *fields, unsigned changes,
                               nb_encoding coding);

static inline bool nb_compress_is_strong(nb_slice etag) { return etag.size >= 2 && etag.data[0] == '"'; }

#endif
