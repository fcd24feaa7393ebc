/*
 * head_writer.h - decides a response's framing and writes its head (RFC 9112 sections 4, 6.1-6.3, 9.3; RFC 9110
 * sections 8.6, 15).
 */
#ifndef NB_HTTP1_HEAD_WRITER_H
#define NB_HTTP1_HEAD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"

typedef struct nb_response_facts {
    uint16_t status;         /* 200-599, and 101 with handover */
    uint8_t minor_version;   /* of the request */
    bool head_request;       /* the request was HEAD */
    bool keep_alive;         /* the request allows it and the server wants it (not draining) */
    bool handover;           /* after the head the connection is the application's */
    bool application_closes; /* the application sent Connection: close */
    bool length_announced;   /* the application gave a Content-Length (matters for HEAD and 304: it is then sent) */
    uint64_t content_length; /* bytes of the body, or NB_CONTENT_LENGTH_UNKNOWN */
} nb_response_facts;

typedef enum nb_response_body {
    NB_RESPONSE_BODY_NONE,    /* no body bytes may follow: HEAD, 204, 205, 304 */
    NB_RESPONSE_BODY_LENGTH,  /* exactly content_length bytes */
    NB_RESPONSE_BODY_CHUNKED, /* HTTP/1.1, length unknown */
    NB_RESPONSE_BODY_CLOSE,   /* HTTP/1.0, length unknown: ends with the connection; also what a handover makes of it */
} nb_response_body;

typedef struct nb_response_plan {
    nb_response_body body;
    bool keep_alive;          /* after this response */
    bool send_content_length; /* never with 204 or 1xx; with 205 always, and it is 0; with HEAD and 304 only when
                                 announced */
    bool
        send_connection; /* with 101 "Upgrade", else "close" when it ends and the request was 1.1; "keep-alive" when it goes on and the request
                             was 1.0 */
} nb_response_plan;

nb_response_plan nb_response_plan_decide(const nb_response_facts *facts);

/* Room nb_response_head_write may need beside the field lines. */
#define NB_RESPONSE_HEAD_OVERHEAD_BYTES 256u

/*
 * Writes the complete head: status line, date_line (empty slice: none, the application gave its own), field_lines
 * (complete "Name: value\r\n" lines, already checked, without Date when date_line is given, and without Content-Length,
 * Transfer-Encoding, Connection, Keep-Alive), the framing fields, the empty line. out must hold date_line.size +
 * field_lines.size + NB_RESPONSE_HEAD_OVERHEAD_BYTES. Returns the bytes written.
 */
size_t nb_response_head_write(char *out, const nb_response_facts *facts, const nb_response_plan *plan,
                              nb_slice date_line, nb_slice field_lines);

/* The status line alone, for an interim response. out: NB_RESPONSE_HEAD_OVERHEAD_BYTES. Returns the bytes written. */
size_t nb_status_line_write(char *out, uint16_t status);

#define NB_CHUNK_HEAD_BYTES_MAX 18u /* 16 digits and CRLF */
/* Writes the chunk-size line of a chunk of `bytes` (> 0). Returns the bytes written. After the data comes "\r\n"; the
 * last chunk is "0\r\n\r\n". */
size_t nb_chunk_head_write(char *out, uint64_t bytes);

#endif
