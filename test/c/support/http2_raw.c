/*
 * http2_raw.c - see http2_raw.h.
 */
#include "support/http2_raw.h"

#include <string.h>
#include <sys/socket.h>

static void put(nb_raw *raw, const void *bytes, size_t size) {
    if (size > sizeof raw->bytes - raw->size) return;
    if (size) memcpy(raw->bytes + raw->size, bytes, size);
    raw->size += size;
}

void nb_raw_add(nb_raw *raw, uint8_t type, uint8_t flags, uint32_t stream, const void *bytes, size_t size) {
    const uint8_t head[9] = {
        (uint8_t)(size >> 16),   (uint8_t)(size >> 8),    (uint8_t)size,          type,           flags,
        (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    put(raw, head, sizeof head);
    put(raw, bytes, size);
}

/* RFC 7541 section 6.2.2: a literal field without indexing, with a new name. */
void nb_raw_headers(nb_raw *raw, uint8_t flags, uint32_t stream, const char *const fields[]) {
    static nb_raw block;
    block.size = 0;
    for (size_t i = 0; fields[i]; i++) {
        uint8_t size = (uint8_t)strlen(fields[i]);
        if (i % 2 == 0) put(&block, "", 1);
        put(&block, &size, 1);
        put(&block, fields[i], size);
    }
    nb_raw_add(raw, NB_RAW_HEADERS, flags, stream, block.bytes, block.size);
}

static void begin(nb_raw *raw, const void *settings, size_t size) {
    raw->size = 0;
    put(raw, NB_RAW_PREFACE, sizeof NB_RAW_PREFACE - 1);
    nb_raw_add(raw, NB_RAW_SETTINGS, 0, 0, settings, size);
}

void nb_raw_begin(nb_raw *raw) { begin(raw, NULL, 0); }

void nb_raw_begin_wide(nb_raw *raw) {
    static const char window[] = "\0\4\x7f\xff\xff\xff", more[] = "\x7f\0\0\0";
    begin(raw, window, sizeof window - 1);
    nb_raw_add(raw, NB_RAW_WINDOW_UPDATE, 0, 0, more, sizeof more - 1);
}

static bool receive(nb_test_client *client, void *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        if (!nb_test_readable(client, NB_TEST_PATIENCE_MS)) return false;
        ssize_t got = recv(client->fd, (char *)bytes + at, size - at, 0);
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

bool nb_raw_next(nb_test_client *client, nb_raw_frame *frame) {
    uint8_t head[9];
    if (!receive(client, head, sizeof head)) return false;
    frame->size = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    frame->type = head[3];
    frame->flags = head[4];
    frame->stream = ((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) & 0x7fffffff;
    return frame->size <= sizeof frame->bytes && receive(client, frame->bytes, frame->size);
}

bool nb_raw_await(nb_test_client *client, uint8_t type, nb_raw_frame *frame) {
    do {
        if (!nb_raw_next(client, frame)) return false;
    } while (frame->type != type);
    return true;
}

uint32_t nb_raw_code(const nb_raw_frame *frame) {
    const uint8_t *at = frame->bytes + (frame->type == NB_RAW_GOAWAY ? 4 : 0);
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}
