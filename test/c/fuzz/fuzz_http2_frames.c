/*
 * fuzz_http2_frames.c - any bytes as what a client of HTTP/2 sends behind its preface, against a
 * whole server. Oracles: all that the server sends is frames, in an order that is allowed; when the
 * client has gone nothing of it is left; the application gets no message that breaks the contract.
 *
 * An input is three cuts, flags (FLAG_*), the number of the allocation that fails (0: none), then
 * the bytes.
 */
#include "fuzz/http2_stage.h"

#ifdef NB_HAVE_HTTP2

#define HTTP2_FRAMES_CONTROL_BYTES 5u

enum {
    FLAG_SLOW_READER = 1, /* the client reads nothing before the end */
    FLAG_LATE = 2,        /* the application runs only then */
    FLAG_HALF_CLOSE = 4,  /* the client finishes sending, and reads on */
    FLAG_RELEASE = 8,     /* requests that are held are answered, else their client leaves before */
    FLAG_BARE = 16,       /* without preface and SETTINGS: they are among the bytes, or not */
    FLAG_FILES = 32       /* more turns, so that workers may come in between */
};

static void send_cut(http2_stage *stage, const uint8_t *data, const uint8_t *bytes, size_t size) {
    const uint8_t flags = data[3];
    size_t at = 0;
    for (size_t i = 0; i <= FUZZ_CUTS; i++) {
        const size_t end = i == FUZZ_CUTS ? size : at + (size - at) * data[i] / 255;
        http2_stage_send(stage, bytes + at, end - at);
        http2_stage_go(stage, flags & FLAG_FILES ? 6 : 2, !(flags & FLAG_LATE), !(flags & FLAG_SLOW_READER));
        at = end;
    }
}

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    if (size < HTTP2_FRAMES_CONTROL_BYTES || size > FUZZ_SIZE_MAX) return 0;
    http2_stage *stage = http2_stage_get();
    const uint8_t flags = data[3];
    static nb_raw begin;
    nb_raw_begin(&begin);
    nb_alloc_fail_at(data[4]);
    http2_stage_connect(stage);
    if (!(flags & FLAG_BARE)) http2_stage_send(stage, begin.bytes, begin.size);
    /* What another protocol answers is no frames. */
    if (flags & FLAG_BARE) stage->peer.ended = true;
    send_cut(stage, data, data + HTTP2_FRAMES_CONTROL_BYTES, size - HTTP2_FRAMES_CONTROL_BYTES);
    if (flags & FLAG_HALF_CLOSE) (void)shutdown(stage->peer.fd, SHUT_WR);
    if (flags & FLAG_RELEASE) nb_test_executor_release(stage->executor);
    http2_stage_go(stage, 3, true, true);
    nb_alloc_fail_at(0);
    http2_stage_leave(stage);
    return 0;
}

#endif
