/*
 * fuzz_http2_blocks.c - any bytes as field blocks (RFC 7541) of requests in good frames, on one
 * connection. Oracles as in fuzz_http2_frames.c; and after the last block the server still answers
 * a PING, or has said by GOAWAY that the connection ends.
 *
 * An input is a byte of flags (FLAG_*), then blocks: two bytes of length each, then bytes.
 */
#include "fuzz/http2_stage.h"

#ifdef NB_HAVE_HTTP2

enum {
    FLAG_PLAIN = 1,     /* each block follows the pseudo-fields of a request */
    FLAG_CONTINUED = 2, /* the second half of a block is a CONTINUATION frame */
    FLAG_TRAILERS = 4   /* each second block is the trailers of the stream before */
};

/* :method GET, :scheme http, :path /, :authority test. */
static const char plain_request[] = "\x82\x86\x84\x41\x04test";

static void add_block(nb_raw *raw, uint8_t flags, unsigned number, const uint8_t *bytes, size_t size) {
    static uint8_t block[FUZZ_SIZE_MAX + sizeof plain_request];
    const bool trailers = (flags & FLAG_TRAILERS) && number % 2 == 1;
    const bool ends = trailers || !(flags & FLAG_TRAILERS);
    const uint32_t stream = (flags & FLAG_TRAILERS ? number / 2 : number) * 2 + 1;
    size_t at = 0;
    if ((flags & FLAG_PLAIN) && !trailers) {
        at = sizeof plain_request - 1;
        memcpy(block, plain_request, at);
    }
    memcpy(block + at, bytes, size);
    at += size;
    const size_t cut = flags & FLAG_CONTINUED ? at / 2 : at;
    nb_raw_add(raw, NB_RAW_HEADERS, (uint8_t)((ends ? NB_RAW_END_STREAM : 0) | (cut == at ? NB_RAW_END_HEADERS : 0)),
               stream, block, cut);
    if (cut < at) nb_raw_add(raw, NB_RAW_CONTINUATION, NB_RAW_END_HEADERS, stream, block + cut, at - cut);
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    if (size < 1 || size > HTTP2_STAGE_BYTES_MAX) return 0;
    http2_stage *stage = http2_stage_get();
    static nb_raw raw;
    nb_raw_begin(&raw);
    unsigned number = 0;
    for (size_t at = 1; at + 2 <= size;) {
        size_t bytes = (size_t)data[at] << 8 | data[at + 1];
        at += 2;
        if (bytes > size - at) bytes = size - at;
        add_block(&raw, data[0], number++, data + at, bytes);
        at += bytes;
    }
    nb_raw_add(&raw, NB_RAW_PING, 0, 0, "fuzzing!", 8);
    http2_stage_connect(stage);
    http2_stage_send(stage, raw.bytes, raw.size);
    /* What is to be sent may wait for turns. */
    for (int i = 0; i < 50 && stage->peer.pongs == 0 && !stage->peer.goaway && !stage->peer.ended; i++)
        http2_stage_go(stage, 2, true, true);
    FUZZ_CHECK(stage->peer.pongs == 1 || stage->peer.goaway);
    http2_stage_leave(stage);
    return 0;
}

#endif
