/*
 * test_http2_noise.c - frames that were changed at random: whatever a client sends, the server
 * neither crashes nor leaks, and serves others. Under the sanitizers this is a small fuzzer.
 */
#include <string.h>
#include <sys/socket.h>

#include "support/http2_raw.h"
#include "support/world.h"

#ifdef NB_HAVE_HTTP2

#define ROUNDS 400
#define REQUEST(method, path) ":method", method, ":scheme", "http", ":authority", "test", ":path", path

static nb_raw raw;

/* What an ordinary client might send. */
static void make_frames(void) {
    static char body[3000];
    nb_raw_begin(&raw);
    nb_raw_headers(&raw, NB_RAW_END_HEADERS | NB_RAW_END_STREAM, 1,
                   (const char *const[]){REQUEST("GET", "/hello"), NULL});
    nb_raw_headers(&raw, NB_RAW_END_HEADERS, 3, (const char *const[]){REQUEST("POST", "/echo"), NULL});
    nb_raw_add(&raw, NB_RAW_DATA, 0, 3, body, sizeof body);
    nb_raw_headers(&raw, NB_RAW_END_HEADERS, 5, (const char *const[]){REQUEST("POST", "/count"), NULL});
    nb_raw_add(&raw, NB_RAW_WINDOW_UPDATE, 0, 0, "\0\0\x10\0", 4);
    nb_raw_add(&raw, NB_RAW_DATA, 0, 5, body, 1000);
    nb_raw_add(&raw, NB_RAW_DATA, NB_RAW_END_STREAM, 3, body, 100);
    nb_raw_headers(&raw, NB_RAW_END_HEADERS | NB_RAW_END_STREAM, 5, (const char *const[]){"x-trailer", "1", NULL});
    nb_raw_headers(&raw, NB_RAW_END_HEADERS | NB_RAW_END_STREAM, 7,
                   (const char *const[]){REQUEST("GET", "/big/90000"), "cookie", "a=1", "cookie", "b=2", NULL});
    nb_raw_add(&raw, NB_RAW_PING, 0, 0, "12345678", 8);
    nb_raw_add(&raw, NB_RAW_RST_STREAM, 0, 7, "\0\0\0\x8", 4);
    nb_raw_add(&raw, NB_RAW_SETTINGS, NB_RAW_ACK, 0, NULL, 0);
    nb_raw_headers(&raw, NB_RAW_END_HEADERS | NB_RAW_END_STREAM, 9,
                   (const char *const[]){REQUEST("HEAD", "/file/9"), NULL});
    nb_raw_add(&raw, NB_RAW_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", 8);
}

/* The offset of a frame, by its number modulo how many there are. */
static size_t frame_at(uint64_t number) {
    size_t starts[64], count = 0;
    for (size_t at = sizeof NB_RAW_PREFACE - 1; at + 18 <= raw.size && count < 64;) {
        const uint8_t *head = (const uint8_t *)raw.bytes + at;
        starts[count++] = at;
        at += 9 + ((size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2]);
    }
    return starts[number % count];
}

/* Changes a byte anywhere, or a head's type, flags, stream or length. */
static void change(nb_test_random *random) {
    if (raw.size < 60) return; /* SETTINGS and little more is left */
    size_t at = frame_at(nb_test_random_next(random));
    switch (nb_test_random_below(random, 4)) {
    case 0:
        at = nb_test_random_below(random, raw.size);
        break;
    case 1:
        at += 2 + nb_test_random_below(random, 7);
        break;
    case 2: /* the frame once more, at the end */
        nb_raw_add(&raw, (uint8_t)raw.bytes[at + 3], (uint8_t)raw.bytes[at + 4], (uint32_t)raw.bytes[at + 8] & 0xff,
                   raw.bytes + at + 9, nb_test_random_below(random, 10));
        return;
    default:
        raw.size = at + nb_test_random_below(random, 9); /* it is cut short */
        return;
    }
    raw.bytes[at] = (char)nb_test_random_next(random);
}

static void changed_frames_harm_nobody(void **state) {
    nb_test_world *w = *state;
    nb_test_random random = {20261128};
    w->config.header_timeout_ms = w->config.body_timeout_ms = w->config.idle_timeout_ms = 50;
    w->route.stream_input = true;
    nb_test_world_open_routed(w, 1, (const char *const[]){"/count", NULL});
    for (int i = 0; i < ROUNDS; i++) {
        nb_test_client client = nb_test_connect(w->port);
        make_frames();
        for (uint64_t changes = nb_test_random_below(&random, 4); changes > 0; changes--)
            change(&random);
        size_t half = nb_test_random_below(&random, raw.size);
        (void)nb_test_send(&client, raw.bytes, half);
        if (i % 4 == 0) nb_test_world_settle(w);
        (void)nb_test_send(&client, raw.bytes + half, raw.size - half);
        if (i % 3 == 0) nb_test_client_finish(&client);
        if (i % 3 == 1) nb_test_world_settle(w);
        if (i % 3 == 0) (void)nb_test_read_end(&client, NULL);
        nb_test_client_close(&client);
    }
    nb_test_world_expect_hello(w, nb_test_world_client(w));
    nb_test_world_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(changed_frames_harm_nobody, nb_test_world_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; }

#endif
