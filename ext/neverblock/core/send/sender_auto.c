/*
 * sender_auto.c - the default algorithm. The loop sends what is in the page cache, a bounded part
 * in each turn. A worker first reads what is not. So a page on disk never blocks the loop, and a
 * slow client never occupies a worker. A small file leaves in one call with its head.
 */
#include "os/clock.h"
#include "os/page_cache.h"
#include "send/sending.h"

/* Bytes that are probed, or read ahead, at once. The first read is smaller, so that a slow disk
 * does not delay the head. */
#define WINDOW_BYTES (UINT64_C(1) << 20)
#define FIRST_READ_BYTES (UINT64_C(1) << 17)

/* Bytes sent in one turn: what a socket buffer takes. With half of it fast clients sleep between
 * turns and are woken for each packet (decision 0005). */
#define TURN_BYTES (2 * WINDOW_BYTES)

/* Room for a head beyond TURN_BYTES, so that windows stay whole. */
#define HEAD_BYTES 65536u

/* A part of a file (WINDOW_BYTES) that was found in the page cache is not probed again for so long,
 * by any download: a probe costs CPU, and pages just read are the last to be evicted. Only the
 * first SEEN_PARTS parts of a file are remembered. */
#define SEEN_NS (100 * NB_NS_PER_MS)
#define SEEN_PARTS 64u

/* What a worker does next. */
typedef enum auto_work { WORK_NONE, WORK_READ, WORK_SEND } auto_work;

/* What is known of the file that is sent next. Bytes [from, until) are assumed to be in the page
 * cache. */
typedef struct auto_state {
    int file;
    uint64_t from, until;
    uint64_t read_bytes; /* of the last read; 0: there was none */
    auto_work work;
    /* Some bytes were not in the page cache: the rest is read, not probed. A probe of a missing
     * page makes the kernel read it and a few behind it, and then the file looks as if all of it
     * were there. */
    bool cold;
    bool look; /* probe whether the bytes read are still in the page cache */
} auto_state;

static void add(_Atomic uint64_t *figure, uint64_t by) { atomic_fetch_add_explicit(figure, by, memory_order_relaxed); }

static nb_download_next next_of_file(nb_download *download) {
    nb_download_next next;
    nb_send_queue_peek_file(&nb_sending_of(download)->send_queue, &next);
    return next;
}

static uint64_t window_of(const nb_download_next *next) {
    return next->bytes < WINDOW_BYTES ? next->bytes : WINDOW_BYTES;
}

static bool holds(const auto_state *state, const nb_download_next *next) {
    return state->file == next->file && next->offset >= state->from && next->offset < state->until;
}

static void take_for_ready(auto_state *state, const nb_download_next *next, uint64_t bytes) {
    state->from = next->offset;
    state->until = next->offset + bytes;
}

static nb_sent send_step(nb_download *download, uint64_t most, uint64_t *total) {
    uint64_t sent;
    nb_sent result = nb_download_send(download, most, &sent);
    *total += sent;
    return result;
}

/* Errors of reading are ignored: the loop meets them again. */
static nb_step step_on_worker(nb_download *download, auto_state *state) {
    nb_senders *senders = nb_sending_of(download)->senders;
    nb_download_next next = next_of_file(download);
    uint64_t window = window_of(&next), total = 0;
    auto_work work = state->work;
    nb_sent result = NB_SENT_SOME;
    state->work = WORK_NONE;
    if (work == WORK_READ && next.bytes) {
        state->read_bytes = state->read_bytes ? state->read_bytes * 2 : FIRST_READ_BYTES;
        if (state->read_bytes > WINDOW_BYTES) state->read_bytes = WINDOW_BYTES;
        if (window > state->read_bytes) window = state->read_bytes;
        nb_status status = nb_page_cache_fill(next.file, next.offset, window);
        if (status == NB_OK) add(&senders->read_ahead, window);
        state->file = next.file;
        take_for_ready(state, &next, window);
        state->look = true;
    }
    while (work == WORK_SEND && total < window && result == NB_SENT_SOME && nb_download_peek(download).bytes) {
        result = send_step(download, window - total, &total);
    }
    if (result == NB_SENT_FULL) return NB_STEP_WRITABLE;
    return result == NB_SENT_SOME ? NB_STEP_LOOP : NB_STEP_FAILED;
}

/* The bytes that a worker has read are still in the page cache, or that cannot be told. */
static bool stayed(nb_download *download, auto_state *state, const nb_download_next *next) {
    uint64_t there = 0;
    state->look = false;
    if (nb_page_cache_probe(next->file, next->offset, state->until - next->offset, &there) != NB_AGAIN) return true;
    add(&nb_sending_of(download)->senders->pages_lost, 1);
    state->until = state->from;
    state->work = WORK_SEND;
    return false;
}

static bool seen_lately(const nb_file *file, uint64_t offset, int64_t now_ns) {
    uint64_t part = offset / WINDOW_BYTES;
    return part < SEEN_PARTS && now_ns - file->seen.since_ns < SEEN_NS && (file->seen.parts >> part & 1);
}

/* Notes whole parts only. */
static void note_seen(nb_file *file, uint64_t offset, uint64_t bytes, int64_t now_ns) {
    uint64_t part = offset / WINDOW_BYTES;
    bool whole = bytes == WINDOW_BYTES || (offset % WINDOW_BYTES == 0 && offset + bytes == file->facts.size);
    if (!whole || part >= SEEN_PARTS) return;
    if (now_ns - file->seen.since_ns >= SEEN_NS) file->seen = (nb_file_seen){.since_ns = now_ns};
    file->seen.parts |= UINT64_C(1) << part;
}

/* True: the next *bytes bytes, at most to the end of their part, may be sent: they are in the page
 * cache, or have an error that sending will report. False: only *bytes of them are there. */
static bool is_warm(nb_download *download, const nb_download_next *next, uint64_t *bytes) {
    nb_file *file = nb_send_queue_file(&nb_sending_of(download)->send_queue);
    int64_t now_ns = nb_clock_monotonic_ns();
    uint64_t part = WINDOW_BYTES - next->offset % WINDOW_BYTES, there = 0;
    *bytes = next->bytes < part ? next->bytes : part;
    if (seen_lately(file, next->offset, now_ns)) return true;
    nb_status status = nb_page_cache_probe(next->file, next->offset, *bytes, &there);
    if (status == NB_OK) note_seen(file, next->offset, *bytes, now_ns);
    if (status != NB_AGAIN && status != NB_UNSUPPORTED) return true;
    *bytes = there;
    return false;
}

/* The loop may send the next bytes of the file. False: a worker has to work first. */
static bool ready(nb_download *download, auto_state *state, const nb_download_next *next) {
    if (state->file != next->file) *state = (auto_state){.file = next->file};
    if (state->work != WORK_NONE) { /* no worker took the step: there are none */
        state->work = WORK_NONE;
        take_for_ready(state, next, window_of(next));
    }
    if (holds(state, next)) return !state->look || stayed(download, state, next);
    state->look = false;
    if (!state->cold) {
        uint64_t bytes;
        state->cold = !is_warm(download, next, &bytes);
        take_for_ready(state, next, bytes);
        if (holds(state, next)) return true;
    }
    state->work = WORK_READ;
    return false;
}

static nb_step step_on_loop(nb_download *download, auto_state *state, uint64_t budget) {
    nb_sending *sending = nb_sending_of(download);
    nb_sent result = NB_SENT_SOME;
    uint64_t total = 0;
    while (result == NB_SENT_SOME && nb_download_peek(download).bytes) {
        if (total >= budget || total >= TURN_BYTES) return NB_STEP_OTHERS;
        uint64_t most = budget - total;
        nb_download_next next = next_of_file(download);
        if (next.bytes && !(next.bytes <= NB_SEND_QUEUE_GATHER_MAX && !state->look &&
                            nb_send_queue_gather(&sending->send_queue, sending->senders->pool, true) == NB_OK)) {
            if (!ready(download, state, &next)) return NB_STEP_WORKER;
            if (state->until - next.offset < most) most = state->until - next.offset;
        }
        result = send_step(download, most, &total);
    }
    if (result == NB_SENT_FULL) return NB_STEP_WRITABLE;
    return result == NB_SENT_SOME ? NB_STEP_DONE : NB_STEP_FAILED;
}

static nb_step step(nb_download *download, uint64_t budget) {
    auto_state *state = download->state;
    return download->on_worker ? step_on_worker(download, state) : step_on_loop(download, state, budget);
}

const nb_algorithm nb_algorithm_auto = {
    .abi = NB_ALGORITHM_ABI,
    .bytes = sizeof(nb_algorithm),
    .name = "auto",
    .state_bytes = sizeof(auto_state),
    .runs = NB_RUNS_ON_LOOP,
    .step_bytes = TURN_BYTES + HEAD_BYTES,
    .step = step,
};
