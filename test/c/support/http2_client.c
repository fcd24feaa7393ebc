/*
 * http2_client.c - see http2_client.h.
 */
#include "support/http2_client.h"

#ifdef NB_HAVE_HTTP2

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "support/pattern.h"
#include "support/test.h"

nb_test_h2_answer *nb_test_h2_of(nb_test_h2 *h2, int32_t id) {
    assert_true(id > 0 && id < NB_TEST_H2_STREAMS);
    return &h2->answers[id];
}

static void end_of(nb_test_h2 *h2, int32_t id) { h2->order[h2->ends++] = id; }

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes,
                     const uint8_t *value, size_t value_bytes, uint8_t flags, void *argument) {
    (void)session, (void)flags;
    nb_test_h2_answer *answer = nb_test_h2_of(argument, frame->hd.stream_id);
    size_t at = strlen(answer->fields);
    if (name_bytes == 7 && memcmp(name, ":status", 7) == 0) {
        unsigned status = (unsigned)atoi((const char *)value);
        if (status < 200) answer->interim++;
        if (status >= 200) answer->status = status;
        return 0;
    }
    (void)snprintf(answer->fields + at, sizeof answer->fields - at, "%.*s: %.*s\n", (int)name_bytes, (const char *)name,
                   (int)value_bytes, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes, size_t size,
                   void *argument) {
    (void)session, (void)flags;
    nb_test_h2_answer *answer = nb_test_h2_of(argument, id);
    if (answer->bytes + size > answer->capacity) {
        answer->capacity = (answer->bytes + size) * 2;
        answer->body = realloc(answer->body, answer->capacity);
    }
    memcpy(answer->body + answer->bytes, bytes, size);
    answer->bytes += size;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *argument) {
    (void)session;
    nb_test_h2 *h2 = argument;
    h2->frames++;
    if (frame->hd.type == NGHTTP2_PING) h2->pongs++;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        h2->goaway_last[h2->goaways++ % 8] = frame->goaway.last_stream_id;
        h2->goaway_code = frame->goaway.error_code;
    }
    bool may_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (may_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
        nb_test_h2_of(h2, frame->hd.stream_id)->ended = true;
        end_of(h2, frame->hd.stream_id);
    }
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        nb_test_h2_answer *answer = nb_test_h2_of(h2, frame->hd.stream_id);
        answer->reset = true;
        answer->error_code = frame->rst_stream.error_code;
        if (!answer->ended) end_of(h2, frame->hd.stream_id);
    }
    return 0;
}

void nb_test_h2_begin(nb_test_h2 *h2, nb_test_client *client, bool by_hand) {
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    memset(h2, 0, sizeof *h2);
    h2->client = client;
    assert_int_equal(0, nghttp2_session_callbacks_new(&callbacks));
    assert_int_equal(0, nghttp2_option_new(&options));
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_option_set_no_auto_window_update(options, by_hand);
    assert_int_equal(0, nghttp2_session_client_new2(&h2->session, callbacks, h2, options));
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(0, nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, NULL, 0));
}

void nb_test_h2_end(nb_test_h2 *h2) {
    for (int i = 0; i < NB_TEST_H2_STREAMS; i++)
        free(h2->answers[i].body);
    nghttp2_session_del(h2->session);
    h2->session = NULL;
}

/* --- requests --- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t most, uint32_t *flags,
                         nghttp2_data_source *source, void *argument) {
    (void)session, (void)source;
    nb_test_h2_answer *answer = nb_test_h2_of(argument, id);
    uint64_t size = answer->left;
    if (answer->paused && answer->sent + size > answer->pause_at) size = answer->pause_at - answer->sent;
    if (size > most) size = most;
    if (size == 0 && answer->left) return NGHTTP2_ERR_DEFERRED;
    nb_test_pattern_copy((char *)bytes, answer->sent, (size_t)size);
    answer->sent += size;
    answer->left -= size;
    if (answer->left == 0) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)size;
}

static nghttp2_nv field(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0};
}

static int32_t submit(nb_test_h2 *h2, const char *method, const char *path, const char *const fields[],
                      const nghttp2_data_provider *body) {
    nghttp2_nv list[300] = {field(":method", method), field(":scheme", "http"), field(":authority", "test"),
                            field(":path", path)};
    size_t count = 4;
    for (size_t i = 0; fields && fields[i]; i += 2)
        list[count++] = field(fields[i], fields[i + 1]);
    int32_t id = nghttp2_submit_request(h2->session, NULL, list, count, body, NULL);
    assert_true(id > 0);
    return id;
}

int32_t nb_test_h2_request(nb_test_h2 *h2, const char *method, const char *path, const char *const fields[]) {
    return submit(h2, method, path, fields, NULL);
}

int32_t nb_test_h2_get(nb_test_h2 *h2, const char *path) { return submit(h2, "GET", path, NULL, NULL); }

int32_t nb_test_h2_post(nb_test_h2 *h2, const char *path, uint64_t bytes, const char *const fields[]) {
    nghttp2_data_provider body = {.read_callback = read_body};
    int32_t id = submit(h2, "POST", path, fields, &body);
    nb_test_h2_of(h2, id)->left = bytes;
    return id;
}

void nb_test_h2_pause(nb_test_h2 *h2, int32_t id, uint64_t at) {
    nb_test_h2_of(h2, id)->paused = true;
    nb_test_h2_of(h2, id)->pause_at = at;
}

void nb_test_h2_go_on(nb_test_h2 *h2, int32_t id) {
    nb_test_h2_of(h2, id)->paused = false;
    (void)nghttp2_session_resume_data(h2->session, id);
}

void nb_test_h2_reset(nb_test_h2 *h2, int32_t id) {
    assert_int_equal(0, nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL));
}

void nb_test_h2_open_window(nb_test_h2 *h2, int32_t id, size_t bytes) {
    assert_int_equal(0, nghttp2_session_consume(h2->session, id, bytes));
}

void nb_test_h2_widen(nb_test_h2 *h2, int32_t id, int32_t bytes) {
    assert_int_equal(0, nghttp2_submit_window_update(h2->session, NGHTTP2_FLAG_NONE, id, bytes));
}

void nb_test_h2_ping(nb_test_h2 *h2) {
    unsigned pongs = h2->pongs;
    assert_int_equal(0, nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL));
    while (h2->pongs == pongs)
        assert_true(nb_test_h2_step(h2));
}

/* --- bytes --- */

void nb_test_h2_raw(nb_test_h2 *h2, const void *bytes, size_t size) {
    nb_test_h2_send(h2);
    assert_true(nb_test_send(h2->client, bytes, size));
}

void nb_test_h2_send(nb_test_h2 *h2) {
    const uint8_t *bytes;
    ssize_t size;
    while ((size = nghttp2_session_mem_send(h2->session, &bytes)) > 0) {
        if (!nb_test_send(h2->client, (const char *)bytes, (size_t)size)) h2->over = true;
    }
    assert_int_equal(0, size);
}

bool nb_test_h2_step(nb_test_h2 *h2) {
    static uint8_t bytes[65536];
    nb_test_h2_send(h2);
    assert_true(nb_test_readable(h2->client, NB_TEST_PATIENCE_MS));
    ssize_t size = recv(h2->client->fd, bytes, sizeof bytes, 0);
    if (size <= 0) {
        h2->over = true;
        return false;
    }
    assert_int_equal(size, nghttp2_session_mem_recv(h2->session, bytes, (size_t)size));
    return true;
}

nb_test_h2_answer *nb_test_h2_await(nb_test_h2 *h2, int32_t id) {
    nb_test_h2_answer *answer = nb_test_h2_of(h2, id);
    while (!answer->ended && !answer->reset)
        if (!nb_test_h2_step(h2)) break;
    return answer;
}

void nb_test_h2_expect(nb_test_h2 *h2, int32_t id, unsigned status, const char *body) {
    nb_test_h2_answer *answer = nb_test_h2_await(h2, id);
    assert_int_equal(status, answer->status);
    assert_true(answer->ended);
    if (!body) return;
    assert_int_equal(strlen(body), answer->bytes);
    if (answer->bytes) assert_memory_equal(body, answer->body, answer->bytes);
}

void nb_test_h2_expect_pattern(nb_test_h2 *h2, int32_t id, size_t bytes) {
    nb_test_h2_answer *answer = nb_test_h2_await(h2, id);
    assert_int_equal(200, answer->status);
    assert_true(answer->ended);
    assert_int_equal(bytes, answer->bytes);
    for (size_t i = 0; i < bytes; i++)
        if (answer->body[i] != nb_test_pattern(i)) fail_msg("byte %zu of stream %d", i, (int)id);
}

void nb_test_h2_expect_reset(nb_test_h2 *h2, int32_t id, uint32_t error_code) {
    nb_test_h2_answer *answer = nb_test_h2_await(h2, id);
    assert_true(answer->reset);
    assert_int_equal(error_code, answer->error_code);
}

#else

typedef int nb_test_http2_client_is_empty;

#endif
