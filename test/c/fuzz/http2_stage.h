/*
 * http2_stage.h - a whole server on the calling thread, for the targets of HTTP/2: its loop is
 * turned by hand, the C executor (support/c_executor.h) is stepped between turns, and the client is
 * the other end of a pair of sockets. What the server sends is checked as frames (RFC 9113).
 *
 * Includes server/server.c and support/c_executor.c: for one file of a program. Declares the entry
 * of that target, which does nothing in a build without HTTP/2.
 */
#ifndef NB_TEST_FUZZ_HTTP2_STAGE_H
#define NB_TEST_FUZZ_HTTP2_STAGE_H

#include <stddef.h>
#include <stdint.h>

#ifndef NB_FUZZ_ENTRY
#define NB_FUZZ_ENTRY LLVMFuzzerTestOneInput
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif

#ifndef NB_HAVE_HTTP2

int NB_FUZZ_ENTRY(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#else

/* In this order: names of the later ones shadow nothing of the earlier ones. */
#define run http2_stage_executor_thread
#include "support/c_executor.c"
#undef run

#include "server/server.c"

#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "support/http2_raw.h"

#define HTTP2_STAGE_BYTES_MAX 16384u

/* Turns of the loop until all that a client left has gone. More is a request or a connection that
   never ends. */
#define HTTP2_STAGE_TURNS_MAX 20000

/* Bytes and hints that a path may ask the application for: hints have to fit into a ring. */
#define HTTP2_STAGE_NUMBER_MAX 2000

/* What the server has sent to the client. */
typedef struct http2_stage_peer {
    int fd;
    uint8_t head[9];
    size_t head_bytes, left; /* of the frame at hand */
    uint8_t type, flags;
    uint32_t heading; /* the stream whose field block goes on; 0: none */
    unsigned frames, pongs;
    bool goaway, ended;
} http2_stage_peer;

typedef struct http2_stage {
    nb_server *server;
    nb_loop *loop;
    nb_test_executor *executor;
    http2_stage_peer peer;
} http2_stage;

static inline void http2_stage_routes(nb_server *server) {
    static const char *const streamed[] = {"/count", "/slow", "/duplex", "/headfirst", "/silent"};
    uint16_t number;
    for (size_t i = 0; i < sizeof streamed / sizeof *streamed; i++) {
        const nb_route route = {.stream_input = true};
        const nb_slice pattern = nb_slice_of(streamed[i], strlen(streamed[i]));
        FUZZ_CHECK(nb_server_route_add(server, pattern, route, &number) == NB_OK);
    }
}

/* Made once, by the first input. */
static inline http2_stage *http2_stage_get(void) {
    static http2_stage stage;
    if (stage.server) return &stage;
    nb_server_config config;
    nb_channel *channel;
    nb_server_config_default(&config);
    config.spool_directory = "/tmp";
    config.header_timeout_ms = config.body_timeout_ms = config.idle_timeout_ms = 600000;
    FUZZ_CHECK(nb_server_create(&config, &stage.server) == NB_OK);
    http2_stage_routes(stage.server);
    FUZZ_CHECK(nb_server_channel_add(stage.server, &channel) == NB_OK);
    fill_boards(stage.server, channel->link, true);
    stage.loop = nb_server_first(stage.server);
    nb_test_task_number_max = HTTP2_STAGE_NUMBER_MAX;
    stage.executor = create(stage.server, channel, NULL);
    ask_for_more(stage.executor);
    return &stage;
}

/* --- what the server sends --- */

static inline void http2_stage_begin_frame(http2_stage_peer *peer) {
    const uint8_t *head = peer->head;
    const uint32_t stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
    peer->left = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    peer->type = head[3];
    peer->flags = head[4];
    FUZZ_CHECK(peer->left <= 16384 && stream <= INT32_MAX);
    FUZZ_CHECK(peer->frames++ > 0 || (peer->type == NB_RAW_SETTINGS && peer->flags == 0));
    FUZZ_CHECK(peer->type <= NB_RAW_CONTINUATION && peer->type != NB_RAW_PUSH && peer->type != NB_RAW_PRIORITY);
    FUZZ_CHECK((peer->heading > 0) == (peer->type == NB_RAW_CONTINUATION));
    FUZZ_CHECK(peer->heading == 0 || peer->heading == stream);
    const bool of_connection = peer->type == NB_RAW_SETTINGS || peer->type == NB_RAW_PING ||
                               peer->type == NB_RAW_GOAWAY;
    FUZZ_CHECK(of_connection ? stream == 0 : stream % 2 == 1 || (peer->type == NB_RAW_WINDOW_UPDATE && stream == 0));
    const bool head_frame = peer->type == NB_RAW_HEADERS || peer->type == NB_RAW_CONTINUATION;
    peer->heading = head_frame && !(peer->flags & NB_RAW_END_HEADERS) ? stream : 0;
    if (peer->type == NB_RAW_GOAWAY) peer->goaway = true;
    if (peer->type == NB_RAW_PING && (peer->flags & NB_RAW_ACK)) peer->pongs++;
}

static inline void http2_stage_check(http2_stage_peer *peer, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        if (peer->left > 0) {
            const size_t step = peer->left < size ? peer->left : size;
            peer->left -= step;
            bytes += step;
            size -= step;
            continue;
        }
        peer->head[peer->head_bytes++] = *bytes++;
        size--;
        if (peer->head_bytes < sizeof peer->head) continue;
        peer->head_bytes = 0;
        http2_stage_begin_frame(peer);
    }
}

/* Takes what has come. */
static inline void http2_stage_read(http2_stage *stage) {
    static uint8_t bytes[65536];
    while (!stage->peer.ended) {
        const ssize_t got = recv(stage->peer.fd, bytes, sizeof bytes, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) stage->peer.ended = true;
        if (got > 0) http2_stage_check(&stage->peer, bytes, (size_t)got);
    }
}

/* --- turns --- */

static inline void http2_stage_turn(http2_stage *stage, int64_t until_ns) {
    stage->loop->guest = &stage->executor->ports->requests; /* the turn does not sleep longer */
    stage->loop->guest_until_ns = until_ns;
    FUZZ_CHECK(nb_loop_turn(stage->loop));
    stage->loop->guest = NULL;
}

/* The application goes on as far as it can. */
static inline void http2_stage_execute(http2_stage *stage) {
    nb_test_executor *executor = stage->executor;
    nb_test_executor_unblock(executor); /* a request for /block finds its gate open */
    (void)take_messages(executor);
    take_releases(executor);
    (void)run_tasks(executor);
    ask_for_more(executor);
    atomic_fetch_add_explicit(&executor->link->board->pulse.turns, 1, memory_order_release);
    FUZZ_CHECK(nb_test_executor_faults(executor) == 0);
}

/* A few turns, with the application in between, and a client that reads. */
static inline void http2_stage_go(http2_stage *stage, unsigned turns, bool executes, bool reads) {
    for (unsigned i = 0; i < turns; i++) {
        http2_stage_turn(stage, 0);
        if (executes) http2_stage_execute(stage);
        if (reads) http2_stage_read(stage);
    }
    http2_stage_turn(stage, 0);
}

/* --- the client --- */

static inline void http2_stage_connect(http2_stage *stage) {
    int pair[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    const nb_accepted accepted = {.fd = pair[0], .peer = {"127.0.0.1", 1}};
    stage->peer = (http2_stage_peer){.fd = pair[1]};
    nb_count(&stage->loop->connections.opened, 1);
    nb_connection_open(&stage->loop->connections, &accepted);
}

/* As much as the server takes. Turns of the loop make room. */
static inline void http2_stage_send(http2_stage *stage, const void *bytes, size_t size) {
    const char *at = bytes;
    for (int i = 0; size > 0 && i < 100; i++) {
        const ssize_t sent = send(stage->peer.fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return;
        if (sent > 0) at += sent, size -= (size_t)sent;
        if (size > 0) http2_stage_go(stage, 1, true, true);
    }
}

static inline bool http2_stage_busy(const http2_stage *stage) {
    const nb_connections *all = &stage->loop->connections;
    return nb_connections_count(all) > 0 || all->exchanges.live > 0 || all->with_workers || all->spool.writes ||
           all->dirty || all->graveyard || stage->executor->tasks || stage->loop->dispatch.waiting.count > 0;
}

/* Requests go on without their client: none may wait for its leaving, or for a later request. */
static inline void http2_stage_let_end(http2_stage *stage) {
    for (nb_test_task *task = stage->executor->tasks; task; task = task->next)
        if (task->kind == NB_TEST_TASK_NEVER || task->kind == NB_TEST_TASK_LATE) task->kind = NB_TEST_TASK_HOLD;
}

/* The client leaves, and the server has nothing of it any more. */
static inline void http2_stage_leave(http2_stage *stage) {
    close(stage->peer.fd);
    for (int i = 0; http2_stage_busy(stage) || i < 2; i++) {
        FUZZ_CHECK(i < HTTP2_STAGE_TURNS_MAX);
        /* Bodies are written by a thread. */
        http2_stage_turn(stage, i < 20 ? 0 : nb_clock_monotonic_ns() + NB_NS_PER_MS);
        http2_stage_let_end(stage);
        nb_test_executor_release(stage->executor);
        http2_stage_execute(stage);
    }
    FUZZ_CHECK(stage->loop->connections.spool.bytes == 0);
    FUZZ_CHECK(nb_timeouts_next_ns(&stage->loop->connections.timeouts) == INT64_MAX);
    for (uint32_t i = 0; i < stage->loop->connections.exchanges.count; i++)
        FUZZ_CHECK(nb_send_queue_empty(&stage->loop->connections.exchanges.slots[i]->send_queue));
}

#endif

#endif
