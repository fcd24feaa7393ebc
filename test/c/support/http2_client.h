/*
 * http2_client.h - a client of HTTP/2 for tests, on nghttp2's client session: requests side by
 * side, bodies of the pattern, windows that open by themselves or by hand. Failures are cmocka's:
 * for a test's own thread only. Frames that nghttp2 would not send go by nb_test_h2_raw.
 */
#ifndef NB_TEST_HTTP2_CLIENT_H
#define NB_TEST_HTTP2_CLIENT_H

#ifdef NB_HAVE_HTTP2

#include <nghttp2/nghttp2.h>

#include "support/client.h"

#define NB_TEST_H2_STREAMS 512

typedef struct nb_test_h2_answer {
    unsigned status, interim;
    char *body;
    size_t bytes, capacity;
    char fields[1024]; /* "name: value\n" each, cut */
    bool ended, reset; /* reset: with error_code; `ended` too if the answer was whole */
    uint32_t error_code;
    bool paused; /* nothing of the request's body is sent from pause_at on */
    uint64_t left, sent, pause_at;
} nb_test_h2_answer;

typedef struct nb_test_h2 {
    nb_test_client *client;
    nghttp2_session *session;
    nb_test_h2_answer answers[NB_TEST_H2_STREAMS]; /* by number of the stream */
    int32_t order[NB_TEST_H2_STREAMS];             /* streams, in the order of their ends */
    unsigned ends, goaways, frames, pongs;
    int32_t goaway_last[8];
    uint32_t goaway_code;
    bool over; /* the connection has ended */
} nb_test_h2;

/* by_hand: windows open only by nb_test_h2_open_window. */
void nb_test_h2_begin(nb_test_h2 *h2, nb_test_client *client, bool by_hand);
void nb_test_h2_end(nb_test_h2 *h2);
/* The stream's number. fields: name, value, name, value ..., NULL; NULL: none. */
int32_t nb_test_h2_request(nb_test_h2 *h2, const char *method, const char *path, const char *const fields[]);
int32_t nb_test_h2_get(nb_test_h2 *h2, const char *path);
/* A body of the pattern. It is sent as windows allow, in nb_test_h2_step. */
int32_t nb_test_h2_post(nb_test_h2 *h2, const char *path, uint64_t bytes, const char *const fields[]);
/* The body stops there until nb_test_h2_go_on; before the first step. */
void nb_test_h2_pause(nb_test_h2 *h2, int32_t id, uint64_t at);
void nb_test_h2_go_on(nb_test_h2 *h2, int32_t id);
void nb_test_h2_reset(nb_test_h2 *h2, int32_t id);
void nb_test_h2_open_window(nb_test_h2 *h2, int32_t id, size_t bytes);
/* The client's window of the stream, or of the connection (0), takes so many bytes more. */
void nb_test_h2_widen(nb_test_h2 *h2, int32_t id, int32_t bytes);
/* Until the server has answered a PING: what was sent before has then been handled. */
void nb_test_h2_ping(nb_test_h2 *h2);
void nb_test_h2_raw(nb_test_h2 *h2, const void *bytes, size_t size);
/* Sends what there is. */
void nb_test_h2_send(nb_test_h2 *h2);
/* The same, and takes what the server sends next. False: the connection has ended. */
bool nb_test_h2_step(nb_test_h2 *h2);
nb_test_h2_answer *nb_test_h2_of(nb_test_h2 *h2, int32_t id);
/* Until the answer has ended, or was reset. */
nb_test_h2_answer *nb_test_h2_await(nb_test_h2 *h2, int32_t id);
void nb_test_h2_expect(nb_test_h2 *h2, int32_t id, unsigned status, const char *body);
void nb_test_h2_expect_pattern(nb_test_h2 *h2, int32_t id, size_t bytes);
void nb_test_h2_expect_reset(nb_test_h2 *h2, int32_t id, uint32_t error_code);

#endif

#endif
