/*
 * head_writer.h - decides the framing of an HTTP/1 response, and writes its head (RFC 9112 sections
 * 4, 6.1 to 6.3, 9.3; RFC 9110 sections 8.6, 15). Pure functions.
 */
#ifndef NB_HTTP1_HEAD_WRITER_H
#define NB_HTTP1_HEAD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "http/head.h"
#include "http/response.h"

/* What decides the framing of a response. */
typedef struct nb_response_facts {
    nb_response response;
    uint8_t minor_version; /* of the request */
    bool keep_alive;       /* the request allows it, and the server does not drain */
} nb_response_facts;

typedef enum nb_response_body {
    NB_RESPONSE_BODY_NONE,    /* no body follows: HEAD, 204, 205, 304 */
    NB_RESPONSE_BODY_LENGTH,  /* exactly content_length bytes */
    NB_RESPONSE_BODY_CHUNKED, /* HTTP/1.1, length unknown */
    /* Ends with the connection: HTTP/1.0 with unknown length, or a handover. */
    NB_RESPONSE_BODY_CLOSE,
} nb_response_body;

typedef struct nb_response_plan {
    nb_response_body body;
    bool keep_alive; /* after this response */
    /* Never with 204 or 1xx. Always with 205, as 0. With HEAD and 304 only if announced. */
    bool send_content_length;
    /* With 101: "Upgrade". "close" if the connection ends and the request was HTTP/1.1.
     * "keep-alive" if it stays open and the request was HTTP/1.0. */
    bool send_connection;
} nb_response_plan;

nb_response_plan nb_response_plan_decide(const nb_response_facts *facts);

/* Bytes that nb_response_head_write may need beside the lines. */
#define NB_RESPONSE_HEAD_OVERHEAD_BYTES 256u

/*
 * Writes the complete head: status line, date_line, field_lines, framing fields, empty line.
 * Returns the bytes written.
 *
 * date_line: empty if the application sends its own. field_lines: complete "Name: value\r\n" lines
 * that have been checked; without Date if there is a date_line, and without Content-Length,
 * Transfer-Encoding, Connection and Keep-Alive. out: room for date_line.size + field_lines.size +
 * NB_RESPONSE_HEAD_OVERHEAD_BYTES.
 */
size_t nb_response_head_write(char *out, const nb_response_facts *facts, const nb_response_plan *plan,
                              nb_slice date_line, nb_slice field_lines);

/* Writes the status line alone, for an interim response. out: room for
 * NB_RESPONSE_HEAD_OVERHEAD_BYTES. Returns the bytes written. */
size_t nb_status_line_write(char *out, uint16_t status);

#define NB_CHUNK_HEAD_BYTES_MAX 18u /* 16 digits and CRLF */
/* Writes the chunk-size line of a chunk of `bytes` > 0. Returns the bytes written. "\r\n" follows
 * the data; the last chunk is "0\r\n\r\n". */
size_t nb_chunk_head_write(char *out, uint64_t bytes);

#endif
