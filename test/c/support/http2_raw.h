/*
 * http2_raw.h - frames of HTTP/2 made and read by hand (RFC 9113 section 4.1), for what nghttp2
 * would not send. Field blocks are written without compression, and those that come are not read,
 * except for their status.
 */
#ifndef NB_TEST_HTTP2_RAW_H
#define NB_TEST_HTTP2_RAW_H

#include "support/client.h"

enum {
    NB_RAW_DATA,
    NB_RAW_HEADERS,
    NB_RAW_PRIORITY,
    NB_RAW_RST_STREAM,
    NB_RAW_SETTINGS,
    NB_RAW_PUSH,
    NB_RAW_PING,
    NB_RAW_GOAWAY,
    NB_RAW_WINDOW_UPDATE,
    NB_RAW_CONTINUATION
};
enum { NB_RAW_END_STREAM = 1, NB_RAW_ACK = 1, NB_RAW_END_HEADERS = 4 };

enum { NB_RAW_WHOLE = NB_RAW_END_HEADERS | NB_RAW_END_STREAM };

/* The fields of a GET, for nb_raw_headers. */
#define NB_RAW_GET(path) ":method", "GET", ":scheme", "http", ":authority", "test", ":path", path

#define NB_RAW_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

typedef struct nb_raw_frame {
    uint32_t size, stream;
    uint8_t type, flags;
    uint8_t bytes[16384];
} nb_raw_frame;

typedef struct nb_raw {
    char bytes[1u << 18];
    size_t size;
} nb_raw;

/* Appends to `raw`. */
void nb_raw_add(nb_raw *raw, uint8_t type, uint8_t flags, uint32_t stream, const void *bytes, size_t size);
/* name, value, name, value ..., NULL; each at most 126 bytes. */
void nb_raw_headers(nb_raw *raw, uint8_t flags, uint32_t stream, const char *const fields[]);
void nb_raw_begin(nb_raw *raw); /* the preface and SETTINGS */
/* The same with the widest windows, of the connection and of each stream. */
void nb_raw_begin_wide(nb_raw *raw);
/* Takes the next frame. False: the connection has ended, or nothing came in time. */
bool nb_raw_next(nb_test_client *client, nb_raw_frame *frame);
/* The next frame of that type; others are passed over. */
bool nb_raw_await(nb_test_client *client, uint8_t type, nb_raw_frame *frame);
/* Of RST_STREAM and GOAWAY. */
uint32_t nb_raw_code(const nb_raw_frame *frame);

#endif
