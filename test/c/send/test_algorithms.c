/*
 * test_algorithms.c - the contract of every algorithm, with and without workers, over a transport
 * that takes k bytes at a time. Then what is special to each: the threads it sends from, and what
 * it waits for.
 *
 * The test replaces the page cache: os/page_cache.c is included over a preadv2 whose answers the
 * case sets. It also replaces the clock of `auto`.
 */
#include "send/sending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/file.h"
#include "support/test.h"
#include "support/world.h"

/* --- the page cache --- */

typedef enum page_cache { WARM, COLD, ALWAYS_COLD, UNTOLD } page_cache;

static _Atomic page_cache pages;
static _Atomic uint64_t read_until; /* with COLD: what has been read so far */
static _Atomic unsigned probes;

static ssize_t fake_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    (void)flags;
    atomic_fetch_add(&probes, 1);
    page_cache now = atomic_load(&pages);
    errno = now == UNTOLD ? EOPNOTSUPP : EAGAIN;
    if (now == UNTOLD || now == ALWAYS_COLD) return -1;
    if (now == COLD && (uint64_t)offset >= atomic_load(&read_until)) return -1;
    return preadv(fd, parts, count, offset);
}

static ssize_t noted_preadv(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t got = preadv(fd, parts, count, offset);
    if (got > 0 && (uint64_t)(offset + got) > atomic_load(&read_until))
        atomic_store(&read_until, (uint64_t)(offset + got));
    return got;
}

#define preadv2 fake_preadv2
#define preadv noted_preadv
#include "os/page_cache.c"
#undef preadv2
#undef preadv

static _Atomic int64_t clock_ns;

static int64_t fake_clock(void) { return atomic_load(&clock_ns); }

#define nb_clock_monotonic_ns fake_clock
#include "send/sender_auto.c"
#undef nb_clock_monotonic_ns

/* --- the client --- */

typedef struct sink {
    nb_transport transport;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t step;                /* bytes that a call takes at most */
    unsigned calls, calls_left; /* calls until it is full */
    /* Says that it is full when it takes fewer bytes of a file than it is given, as sendfile(2)
     * does. */
    bool tells;
    bool stalled; /* then it takes no more, and waiting does not help */
    bool aborted;
    nb_status failing; /* NB_OK: it works */
    char *taken;
    size_t size, capacity;
    unsigned writes, files, waits, long_waits, more;
    unsigned in_vain;     /* calls while it is full */
    pthread_t threads[8]; /* threads that sent or waited, each once */
    unsigned thread_count;
    /* Called without the lock after each call that took something; may be NULL. */
    void (*sent)(struct sink *);
    void *argument;
} sink;

static sink *of(nb_transport *transport) { return (sink *)(void *)transport; }

static void note_thread(sink *s) {
    for (unsigned i = 0; i < s->thread_count; i++) {
        if (pthread_equal(s->threads[i], pthread_self())) return;
    }
    if (s->thread_count < 8) s->threads[s->thread_count++] = pthread_self();
}

static nb_status take(sink *s, const char *bytes, size_t size, size_t *moved) {
    if (s->aborted || s->failing != NB_OK) {
        errno = ECONNRESET;
        return NB_SYSTEM;
    }
    if (s->calls_left == 0) {
        s->in_vain++;
        if (!s->stalled) s->calls_left = s->calls;
        return NB_AGAIN;
    }
    s->calls_left--;
    if (s->size + size > s->capacity) fail_msg("more was sent than was put in");
    memcpy(s->taken + s->size, bytes, size);
    s->size += size;
    *moved = size;
    return NB_OK;
}

static nb_status take_locked(sink *s, const char *bytes, size_t size, size_t *moved, unsigned *counter) {
    pthread_mutex_lock(&s->lock);
    note_thread(s);
    ++*counter;
    nb_status status = take(s, bytes, size, moved);
    pthread_mutex_unlock(&s->lock);
    if (status == NB_OK && s->sent) s->sent(s);
    return status;
}

static nb_status sink_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    sink *s = of(transport);
    char *joined = malloc(s->step);
    size_t size = 0;
    for (int i = 0; i < count && size < s->step; i++) {
        size_t step = parts[i].iov_len < s->step - size ? parts[i].iov_len : s->step - size;
        memcpy(joined + size, parts[i].iov_base, step);
        size += step;
    }
    if (more) s->more++;
    nb_status status = take_locked(s, joined, size, moved, &s->writes);
    free(joined);
    return status;
}

static nb_status sink_sendfile(nb_transport *transport, int fd, uint64_t offset, size_t bytes, size_t *moved) {
    sink *s = of(transport);
    size_t most = bytes < s->step ? bytes : s->step;
    char *read_bytes = malloc(most);
    ssize_t got = pread(fd, read_bytes, most, (off_t)offset);
    nb_status status = got > 0    ? take_locked(s, read_bytes, (size_t)got, moved, &s->files)
                       : got == 0 ? NB_EOF
                                  : NB_SYSTEM;
    free(read_bytes);
    if (status != NB_OK || !s->tells || most == bytes) return status;
    s->calls_left = 0;
    return NB_AGAIN;
}

/* A client that reads makes room at once. For one that does not, only the end is waited for. */
static nb_status sink_wait(nb_transport *transport, int timeout_ms) {
    sink *s = of(transport);
    nb_status status = NB_OK;
    pthread_mutex_lock(&s->lock);
    note_thread(s);
    s->waits++;
    if (timeout_ms < 0) s->long_waits++;
    pthread_cond_broadcast(&s->changed);
    while (s->stalled && !s->aborted && timeout_ms < 0)
        pthread_cond_wait(&s->changed, &s->lock);
    if (s->stalled && !s->aborted) status = NB_TIMEOUT;
    if (!s->stalled) s->calls_left = s->calls;
    pthread_mutex_unlock(&s->lock);
    return status;
}

static void sink_abort(nb_transport *transport, int reset) {
    (void)reset;
    sink *s = of(transport);
    pthread_mutex_lock(&s->lock);
    s->aborted = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static const nb_transport_kind sink_kind = {
    .name = "sink", .writev = sink_writev, .sendfile = sink_sendfile, .wait = sink_wait, .abort = sink_abort};

static sink *new_sink(size_t step, unsigned calls, size_t capacity) {
    sink *s = calloc(1, sizeof *s);
    s->transport = (nb_transport){&sink_kind, -1};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->step = step;
    s->calls = s->calls_left = calls;
    s->capacity = capacity;
    s->taken = malloc(capacity + 1);
    return s;
}

static void free_sink(sink *s) {
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s->taken);
    free(s);
}

static void assert_pattern(const sink *s, size_t bytes) {
    assert_int_equal(bytes, s->size);
    assert_true(nb_test_pattern_equal(s->taken, 0, bytes));
}

/* --- the loop --- */

typedef struct fixture {
    uint16_t algorithm;
    unsigned workers;
    nb_pool pool;
    nb_senders senders;
    nb_send_queue send_queue;
    uint64_t sent; /* as the loop has counted it */
    long live;
    unsigned descriptors;
} fixture;

static fixture the;

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inbox_changed = PTHREAD_COND_INITIALIZER;
static nb_sending *inbox;

static void returned(nb_sending *sending) {
    pthread_mutex_lock(&inbox_lock);
    sending->next = inbox;
    inbox = sending;
    pthread_cond_broadcast(&inbox_changed);
    pthread_mutex_unlock(&inbox_lock);
}

static void await_returned(nb_sending *wanted) {
    pthread_mutex_lock(&inbox_lock);
    nb_sending **place = &inbox;
    while (*place != wanted) {
        if (*place) {
            place = &(*place)->next;
        } else {
            pthread_cond_wait(&inbox_changed, &inbox_lock);
            place = &inbox;
        }
    }
    *place = wanted->next;
    pthread_mutex_unlock(&inbox_lock);
}

enum { BUFFER = 64, QUEUE = 100 };

static int open_senders(unsigned workers) {
    the.live = nb_alloc_live();
    the.descriptors = nb_test_descriptors();
    the.sent = 0;
    atomic_store(&pages, WARM);
    atomic_store(&read_until, 0);
    atomic_store(&probes, 0);
    nb_pool_init(&the.pool);
    nb_send_queue_init(&the.send_queue);
    assert_status(NB_OK, nb_senders_init(&the.senders, the.algorithm, workers, BUFFER, QUEUE, &the.pool, returned));
    return 0;
}

static int setup(void **state) {
    (void)state;
    return open_senders(the.workers);
}

static int teardown(void **state) {
    (void)state;
    nb_send_queue_clear(&the.send_queue, &the.pool);
    nb_senders_stop(&the.senders);
    nb_senders_deinit(&the.senders);
    assert_int_equal(0, the.pool.sending);
    nb_pool_deinit(&the.pool);
    if (the.live == nb_alloc_live() && the.descriptors == nb_test_descriptors()) return 0;
    print_error("%ld blocks and %d descriptors are left\n", nb_alloc_live() - the.live,
                (int)(nb_test_descriptors() - the.descriptors));
    return -1;
}

static nb_sending *begin(sink *s) {
    nb_sending *sending = nb_sending_begin(&the.senders, &the.send_queue, &s->transport, s);
    assert_non_null(sending);
    return sending;
}

/* One step, on the thread where it is due. */
static nb_step one_step(nb_sending *sending, uint64_t most) {
    uint64_t left = sending->left, sent;
    nb_step step = nb_sending_step(sending, most, &sent);
    if (step == NB_STEP_WORKER) {
        await_returned(sending);
        step = nb_sending_take_back(sending);
        sent += nb_sending_progress(sending);
    }
    the.sent += sent;
    assert_int_equal(left - sent, sending->left);
    return step;
}

/* Steps to the end: NB_STEP_DONE or NB_STEP_FAILED. A client that the loop waits for has room in
 * the next step. */
static nb_step drive(nb_sending *sending, sink *s, uint64_t most) {
    nb_step step = NB_STEP_OTHERS;
    for (unsigned turns = 0; step != NB_STEP_DONE && step != NB_STEP_FAILED; turns++) {
        step = one_step(sending, most);
        if (step == NB_STEP_WRITABLE) s->calls_left = s->calls;
        assert_true(turns < 1000000);
    }
    return step;
}

/* --- what is sent --- */

static nb_file *pattern_file(size_t bytes) {
    int fd;
    nb_file *file;
    char *all = malloc(bytes + 1);
    nb_test_pattern_copy(all, 0, bytes);
    assert_status(NB_OK, nb_file_temporary("/tmp", &fd));
    assert_status(NB_OK, nb_file_write_all(fd, all, bytes));
    free(all);
    assert_status(NB_OK, nb_file_wrap(fd, &file));
    return file;
}

static const nb_send_by by_default = {0};

static void add_memory(size_t from, size_t bytes) {
    char *all = malloc(bytes + 1);
    nb_test_pattern_copy(all, from, bytes);
    assert_status(NB_OK, nb_send_queue_add(&the.send_queue, &the.pool, (nb_slice){all, bytes}));
    free(all);
}

static void add_file(nb_file *file, size_t offset, size_t bytes) {
    assert_status(NB_OK, nb_send_queue_add_file(&the.send_queue, file, offset, bytes, by_default));
}

/* Fills the queue with the pattern: a head, three files (one with several ranges), and memory
 * between and behind them. The files are longer than their ranges. */
static size_t fill(void) {
    nb_file *file = pattern_file(3000);
    size_t at = 0;
    add_memory(at, 70), at += 70;
    add_file(nb_file_hold(file), at, 500), at += 500;
    add_memory(at, 17), at += 17;
    add_file(nb_file_hold(file), at, 90), at += 90;
    add_file(file, at, 1), at += 1;
    add_file(pattern_file(at + 5000), at, 300), at += 300;
    add_memory(at, 40), at += 40;
    assert_int_equal(at, the.send_queue.bytes);
    return at;
}

/* --- the contract --- */

static void every_short_write_keeps_bytes_and_order(void **state) {
    (void)state;
    for (size_t step = 1; step <= 1100; step += step < 8 ? 1 : 91) {
        for (unsigned calls = 1; calls < 4; calls++) {
            size_t total = fill();
            sink *s = new_sink(step, calls, total);
            nb_sending *sending = begin(s);
            assert_true(nb_send_queue_empty(&the.send_queue));
            the.sent = 0;
            assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
            assert_int_equal(total, the.sent);
            assert_int_equal(0, sending->left);
            nb_sending_end(sending);
            assert_pattern(s, total);
            free_sink(s);
        }
    }
}

static void who_is_told_that_the_client_is_full_waits_for_it(void **state) {
    (void)state;
    for (size_t step = 1; step < 70; step += 23) {
        size_t total = 1000;
        add_file(pattern_file(total), 0, total);
        sink *s = new_sink(step, 1000000, total);
        s->tells = true;
        nb_sending *sending = begin(s);
        assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
        nb_sending_end(sending);
        assert_int_equal(0, s->in_vain);
        assert_pattern(s, total);
        free_sink(s);
    }
}

static void no_page_cache_changes_what_is_sent(void **state) {
    (void)state;
    static const page_cache kinds[] = {WARM, COLD, ALWAYS_COLD, UNTOLD};
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(&pages, kinds[i]);
        atomic_store(&read_until, 0);
        size_t head = 30, bytes = 1300000;
        add_memory(0, head);
        add_file(pattern_file(head + bytes), head, bytes);
        sink *s = new_sink(70000, 5, head + bytes);
        nb_sending *sending = begin(s);
        sending->download.buffer_bytes = 81920;
        assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
        nb_sending_end(sending);
        assert_pattern(s, head + bytes);
        free_sink(s);
    }
}

static void a_step_sends_what_it_is_allowed_and_not_much_more(void **state) {
    (void)state;
    size_t total = 30000;
    add_file(pattern_file(total), 0, total);
    sink *s = new_sink(total, 1000000, total);
    nb_sending *sending = begin(s);
    sending->paced = true;
    nb_step step = NB_STEP_OTHERS;
    while (step != NB_STEP_DONE) {
        uint64_t before = the.sent;
        step = one_step(sending, 25);
        assert_in_range(the.sent - before, 1, 25);
    }
    nb_sending_end(sending);
    assert_pattern(s, total);
    free_sink(s);
}

static void a_file_that_shrank_fails_with_what_there_was(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 400};
    for (unsigned i = 0; i < 6; i++) {
        nb_file *file = pattern_file(1000);
        add_file(file, 0, 1000);
        add_memory(1000, 10);
        assert_int_equal(0, ftruncate(file->fd, (off_t)sizes[i]));
        sink *s = new_sink(37, 1000000, 2000);
        nb_sending *sending = begin(s);
        assert_int_equal(NB_STEP_FAILED, drive(sending, s, UINT64_MAX));
        assert_status(NB_EOF, sending->status);
        nb_sending_end(sending);
        assert_pattern(s, sizes[i]);
        free_sink(s);
    }
}

static void a_client_that_has_gone_fails_with_its_errno(void **state) {
    (void)state;
    (void)fill();
    sink *s = new_sink(64, 3, 2000);
    s->failing = NB_SYSTEM;
    nb_sending *sending = begin(s);
    assert_int_equal(NB_STEP_FAILED, drive(sending, s, UINT64_MAX));
    assert_status(NB_SYSTEM, sending->status);
    assert_int_equal(ECONNRESET, sending->error);
    nb_sending_end(sending);
    assert_int_equal(0, s->size);
    free_sink(s);
}

/* Steps until the sending waits for its client: on the loop (true), or in a worker. */
static bool step_until_stalled(nb_sending *sending, sink *s) {
    nb_step step = NB_STEP_OTHERS;
    while (step != NB_STEP_WRITABLE) {
        uint64_t sent;
        step = nb_sending_step(sending, UINT64_MAX, &sent);
        if (step != NB_STEP_WORKER) continue;
        pthread_mutex_lock(&s->lock);
        while (s->long_waits == 0 && s->calls_left > 0)
            pthread_cond_wait(&s->changed, &s->lock);
        bool waits = s->long_waits > 0;
        pthread_mutex_unlock(&s->lock);
        if (waits || !strcmp(sending->algorithm->name, "sba")) return false;
        await_returned(sending);
        step = nb_sending_take_back(sending);
        (void)nb_sending_progress(sending);
    }
    return true;
}

static void wake_on_progress(sink *s) {
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void a_client_that_stops_reading_can_be_given_up(void **state) {
    (void)state;
    size_t total = fill();
    sink *s = new_sink(50, 9, total);
    s->stalled = true;
    s->sent = wake_on_progress;
    nb_sending *sending = begin(s);
    if (!step_until_stalled(sending, s)) {
        nb_sending_cancel(sending, true);
        await_returned(sending);
        assert_int_equal(NB_STEP_FAILED, nb_sending_take_back(sending));
        assert_status(NB_SYSTEM, sending->status);
    }
    nb_sending_end(sending);
    assert_pattern(s, s->size);
    assert_true(s->size < total);
    free_sink(s);
}

static void many_at_a_time_do_not_mix(void **state) {
    (void)state;
    enum { MANY = 12 };
    nb_sending *sendings[MANY];
    sink *sinks[MANY];
    size_t total = 0;
    nb_step steps[MANY];
    for (int i = 0; i < MANY; i++) {
        total = fill();
        sinks[i] = new_sink((size_t)(11 + i), 4, total);
        sendings[i] = begin(sinks[i]);
        steps[i] = NB_STEP_OTHERS;
    }
    for (int left = MANY; left > 0;) {
        for (int i = 0; i < MANY; i++) { /* all of them are begun before one is waited for */
            uint64_t sent;
            if (steps[i] != NB_STEP_DONE) steps[i] = nb_sending_step(sendings[i], UINT64_MAX, &sent);
        }
        left = 0;
        for (int i = 0; i < MANY; i++) {
            if (sendings[i]->with_worker) {
                await_returned(sendings[i]);
                steps[i] = nb_sending_take_back(sendings[i]);
                (void)nb_sending_progress(sendings[i]);
            }
            assert_int_not_equal(NB_STEP_FAILED, steps[i]);
            if (steps[i] != NB_STEP_DONE) left++;
        }
    }
    for (int i = 0; i < MANY; i++) {
        nb_sending_end(sendings[i]);
        assert_pattern(sinks[i], total);
        free_sink(sinks[i]);
    }
}

static void without_memory_nothing_begins_and_nothing_is_lost(void **state) {
    (void)state;
    size_t total = fill();
    sink *s = new_sink(1, 1, total);
    nb_alloc_fail_at(1);
    assert_null(nb_sending_begin(&the.senders, &the.send_queue, &s->transport, s));
    nb_alloc_fail_at(0);
    assert_int_equal(total, the.send_queue.bytes);
    assert_int_equal(4, the.send_queue.files);
    free_sink(s);
}

/* --- what makes each one what it is --- */

static uint16_t number_of(const char *name) {
    uint16_t number = nb_algorithms_find(name);
    assert_int_not_equal(NB_ALGORITHM_DEFAULT, number);
    return number;
}

static void open_for(const char *name, unsigned workers) {
    the.algorithm = number_of(name);
    (void)open_senders(workers);
}

static void add_plain_file(size_t bytes) { add_file(pattern_file(bytes), 0, bytes); }

static bool on_this_thread(const sink *s) {
    return s->thread_count == 1 && pthread_equal(s->threads[0], pthread_self());
}

static void sba_keeps_one_worker_to_the_end_and_waits_in_it(void **state) {
    (void)state;
    open_for("sba", 4);
    add_plain_file(5000);
    sink *s = new_sink(100, 3, 5000);
    nb_sending *sending = begin(s);
    assert_int_equal(NB_STEP_DONE, one_step(sending, UINT64_MAX)); /* given to a worker once */
    nb_sending_end(sending);
    assert_int_equal(1, s->thread_count);
    assert_false(on_this_thread(s));
    assert_int_equal(16, s->waits); /* each time it was full */
    assert_int_equal(16, s->long_waits);
    assert_int_equal(1, atomic_load(&the.senders.figures[the.algorithm - 1].bursts));
    assert_pattern(s, 5000);
    free_sink(s);
    (void)teardown(state);
}

/* Another job occupies the worker between the first part of a download and the second, so another
 * worker must send the second. */
typedef struct handing_over {
    nb_job first, second; /* occupy the other worker, then the first one */
    nb_test_gate begun, go, seen;
    pthread_t threads[2];
    unsigned parts;
} handing_over;

static handing_over parts;

static void keep_other(nb_job *job) {
    (void)job;
    nb_test_gate_open(&parts.begun);
    nb_test_gate_wait(&parts.go, 1);
}

static void keep_first(nb_job *job) {
    (void)job;
    nb_test_gate_open(&parts.go);
    nb_test_gate_wait(&parts.seen, 1);
}

static void nothing(nb_job *job) { (void)job; }

static void between_parts(sink *s) {
    (void)s;
    if (parts.parts < 2) parts.threads[parts.parts] = pthread_self();
    if (parts.parts++ == 1) nb_test_gate_open(&parts.seen);
    if (parts.parts > 1) return;
    assert_status(NB_OK, nb_workers_submit(the.senders.workers, &parts.first));
    nb_test_gate_wait(&parts.begun, 1);
    assert_status(NB_OK, nb_workers_submit(the.senders.workers, &parts.second));
}

static void the_next_part_is_any_workers(const char *name) {
    open_for(name, 2);
    add_plain_file(BUFFER * 10);
    parts = (handing_over){
        {keep_other, nothing, NULL}, {keep_first, nothing, NULL}, NB_TEST_GATE, NB_TEST_GATE, NB_TEST_GATE, {0}, 0};
    sink *s = new_sink(BUFFER, 1000, BUFFER * 10);
    s->sent = between_parts;
    nb_sending *sending = begin(s);
    /* Given to a worker once: workers hand it on. */
    assert_int_equal(NB_STEP_DONE, one_step(sending, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(10, parts.parts);
    assert_false(pthread_equal(parts.threads[0], parts.threads[1]));
    assert_int_equal(10, atomic_load(&the.senders.figures[the.algorithm - 1].bursts));
    assert_int_equal(BUFFER * 10, atomic_load(&the.senders.figures[the.algorithm - 1].bytes));
    assert_int_equal(0, s->waits);
    free_sink(s);
}

static void of_eba_any_worker_takes_the_next_part(void **state) {
    the_next_part_is_any_workers("eba");
    (void)teardown(state);
}

static void of_enba_any_worker_takes_the_next_part(void **state) {
    the_next_part_is_any_workers("enba");
    (void)teardown(state);
}

static void eba_blocks_in_its_writes_but_not_for_long(void **state) {
    (void)state;
    open_for("eba", 2);
    add_plain_file(BUFFER * 4);
    sink *s = new_sink(16, 2, BUFFER * 4);
    nb_sending *sending = begin(s);
    /* The client reads: the loop is not asked. */
    assert_int_equal(NB_STEP_DONE, one_step(sending, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(7, s->waits);
    assert_int_equal(0, s->long_waits);
    free_sink(s);
    add_plain_file(BUFFER * 4);
    s = new_sink(16, 2, BUFFER * 4);
    s->stalled = true;
    sending = begin(s);
    /* The client does not read: a worker waits for a moment. */
    assert_int_equal(NB_STEP_WRITABLE, one_step(sending, UINT64_MAX));
    assert_int_equal(1, s->waits);
    assert_int_equal(0, s->long_waits);
    nb_sending_end(sending);
    free_sink(s);
    (void)teardown(state);
}

static void enba_never_blocks(void **state) {
    (void)state;
    for (unsigned workers = 0; workers < 3; workers += 2) {
        open_for("enba", workers);
        add_plain_file(BUFFER * 4);
        sink *s = new_sink(16, 2, BUFFER * 4);
        nb_sending *sending = begin(s);
        nb_step step;
        unsigned writable = 0;
        while ((step = one_step(sending, UINT64_MAX)) != NB_STEP_DONE) {
            if (step == NB_STEP_WRITABLE) writable++;
        }
        nb_sending_end(sending);
        assert_int_equal(7, writable);
        assert_int_equal(0, s->waits);
        if (workers == 0) assert_true(on_this_thread(s));
        if (workers > 0) assert_false(on_this_thread(s));
        free_sink(s);
        (void)teardown(state);
    }
}

static void auto_sends_from_the_loop_what_is_in_memory(void **state) {
    (void)state;
    open_for("auto", 4);
    add_memory(0, 100);
    add_file(pattern_file(5500000), 100, 5000000);
    sink *s = new_sink(300000, 1000, 5000100);
    nb_sending *sending = begin(s);
    unsigned turns = 1;
    while (one_step(sending, UINT64_MAX) == NB_STEP_OTHERS)
        turns++;
    nb_sending_end(sending);
    assert_true(on_this_thread(s));
    assert_int_equal(3, turns); /* two megabytes each */
    assert_int_equal(1, s->more);
    assert_int_equal(0, s->waits);
    assert_int_equal(0, atomic_load(&the.senders.read_ahead));
    assert_pattern(s, 5000100);
    free_sink(s);
    (void)teardown(state);
}

static void auto_has_workers_read_what_is_not_and_sends_from_the_loop(void **state) {
    (void)state;
    static const page_cache kinds[] = {COLD, UNTOLD};
    for (unsigned i = 0; i < 2; i++) {
        open_for("auto", 4);
        atomic_store(&pages, kinds[i]);
        add_memory(0, 100);
        add_file(pattern_file(3000000), 100, 2500000);
        sink *s = new_sink(300000, 1000, 2500100);
        nb_sending *sending = begin(s);
        uint64_t sent;
        assert_int_equal(NB_STEP_WORKER, nb_sending_step(sending, UINT64_MAX, &sent));
        await_returned(sending);
        assert_int_equal(NB_STEP_LOOP, nb_sending_take_back(sending));
        assert_int_equal(0, s->size); /* the head waits for the file, and both leave together */
        assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
        nb_sending_end(sending);
        assert_true(on_this_thread(s));
        assert_int_equal(2500000, atomic_load(&the.senders.read_ahead));
        assert_int_equal(0, atomic_load(&the.senders.pages_lost));
        assert_pattern(s, 2500100);
        free_sink(s);
        (void)teardown(state);
    }
}

static void auto_sends_what_there_is_and_has_workers_read_the_rest(void **state) {
    (void)state;
    enum { THERE = 11 * 131072, BYTES = 2500000 };
    open_for("auto", 4);
    atomic_store(&pages, COLD);
    /* No page is probed between there and the next 128 KB. */
    atomic_store(&read_until, THERE + 1000);
    add_file(pattern_file(BYTES), 0, BYTES);
    sink *s = new_sink(BYTES, 1000, BYTES);
    nb_sending *sending = begin(s);
    uint64_t sent;
    assert_int_equal(NB_STEP_WORKER, nb_sending_step(sending, UINT64_MAX, &sent));
    assert_int_equal(THERE, sent);
    await_returned(sending);
    assert_int_equal(NB_STEP_LOOP, nb_sending_take_back(sending));
    the.sent += sent;
    assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
    nb_sending_end(sending);
    assert_true(on_this_thread(s));
    assert_int_equal(BYTES - THERE, atomic_load(&the.senders.read_ahead));
    assert_pattern(s, BYTES);
    free_sink(s);
    (void)teardown(state);
}

static void auto_counts_pages_that_do_not_stay_and_lets_a_worker_send_them(void **state) {
    (void)state;
    open_for("auto", 4);
    atomic_store(&pages, ALWAYS_COLD);
    add_plain_file(1 << 20);
    sink *s = new_sink(300000, 1000, 1 << 20);
    nb_sending *sending = begin(s);
    assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(1, atomic_load(&the.senders.pages_lost));
    assert_false(on_this_thread(s));
    assert_pattern(s, 1 << 20);
    free_sink(s);
    (void)teardown(state);
}

/* @return looks at the page cache */
static unsigned send_range(nb_file *file, size_t offset, size_t bytes) {
    unsigned before = atomic_load(&probes);
    size_t size = 0;
    sink *s = new_sink(1 << 20, 1000, bytes);
    add_file(nb_file_hold(file), offset, bytes);
    nb_sending *sending = begin(s);
    assert_int_equal(NB_STEP_DONE, drive(sending, s, UINT64_MAX));
    nb_sending_end(sending);
    for (; size < s->size; size++)
        if (s->taken[size] != nb_test_pattern(offset + size)) fail_msg("byte %zu", offset + size);
    assert_int_equal(bytes, size);
    free_sink(s);
    return atomic_load(&probes) - before;
}

static void auto_does_not_look_again_for_what_any_download_has_just_found(void **state) {
    (void)state;
    enum { PART = 1 << 20, BYTES = 2 * PART + 300000 };
    open_for("auto", 4);
    nb_file *file = pattern_file(BYTES);
    file->facts.size = BYTES;
    atomic_store(&clock_ns, INT64_C(5) << 32);
    assert_int_equal(2 * 9 + 4, send_range(file, 0, BYTES));
    assert_int_equal(0, send_range(file, 0, BYTES));
    assert_int_equal(0, send_range(file, 100000, BYTES - 200000));
    atomic_fetch_add(&clock_ns, SEEN_NS - 1);
    assert_int_equal(0, send_range(file, PART, 20000));
    atomic_fetch_add(&clock_ns, 1);
    assert_int_equal(2, send_range(file, PART + 1, 20000)); /* a part of a part: not noted */
    assert_int_equal(9, send_range(file, PART, PART));
    assert_int_equal(0, send_range(file, PART, PART));
    assert_int_equal(9 + 4, send_range(file, 0, BYTES));
    atomic_fetch_add(&clock_ns, SEEN_NS);
    atomic_store(&pages, COLD);
    assert_int_not_equal(0, send_range(file, 0, BYTES));
    assert_int_equal(BYTES, atomic_load(&the.senders.read_ahead));
    nb_file_release(file);
    (void)teardown(state);
}

static void auto_sends_a_small_file_in_one_call_with_its_head(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 1000, 15800, 16384};
    for (unsigned i = 0; i < 4; i++) {
        open_for("auto", 4);
        add_memory(0, 200);
        add_file(pattern_file(20000), 200, sizes[i]);
        sink *s = new_sink(100000, 1000, 200 + sizes[i]);
        nb_sending *sending = begin(s);
        assert_int_equal(NB_STEP_DONE, one_step(sending, UINT64_MAX));
        nb_sending_end(sending);
        assert_int_equal(1, s->writes);
        assert_int_equal(0, s->files);
        assert_int_equal(0, s->more);
        assert_pattern(s, 200 + sizes[i]);
        free_sink(s);
        (void)teardown(state);
    }
}

static void a_larger_one_follows_its_head_at_once(void **state) {
    (void)state;
    static const char *const names[] = {"auto", "eba", "enba", "sba"};
    for (unsigned i = 0; i < 4; i++) {
        open_for(names[i], 1);
        add_memory(0, 200);
        add_file(pattern_file(20000), 200, 17000);
        sink *s = new_sink(100000, 1000, 17200);
        nb_sending *sending = begin(s);
        sending->download.buffer_bytes = 81920;
        assert_int_equal(NB_STEP_DONE, one_step(sending, UINT64_MAX));
        nb_sending_end(sending);
        assert_int_equal(1, s->writes);
        assert_int_equal(1, s->more);
        assert_int_equal(1, s->files);
        free_sink(s);
        (void)teardown(state);
    }
}

/* --- the table of them --- */

static nb_step no_step(nb_download *download, uint64_t budget) {
    (void)download, (void)budget;
    return NB_STEP_FAILED;
}

static void only_an_algorithm_that_can_be_is_added_and_once(void **state) {
    (void)state;
    static const nb_algorithm fine = {
        .abi = NB_ALGORITHM_ABI, .bytes = sizeof(nb_algorithm), .name = "of_a_test", .step = no_step};
    uint16_t number = 0, before = nb_algorithms_count();
    nb_algorithm wrong[9];
    for (int i = 0; i < 9; i++)
        wrong[i] = fine;
    wrong[0].abi = NB_ALGORITHM_ABI + 1;
    wrong[1].bytes = sizeof(nb_algorithm) - 1;
    wrong[2].name = "Upper";
    wrong[3].name = "";
    wrong[4].name = "a_name_too_long_";
    wrong[5].step = NULL;
    wrong[6].state_bytes = NB_ALGORITHM_STATE_BYTES_MAX + 1;
    wrong[7].runs = NB_RUNS_ON_WORKERS + 1;
    wrong[8].name = "1st";
    for (int i = 0; i < 9; i++)
        assert_status(NB_INVALID, nb_algorithms_add(&wrong[i], &number));
    assert_status(NB_OK, nb_algorithms_add(&fine, &number));
    assert_int_equal(before + 1, number);
    assert_int_equal(number, nb_algorithms_find("of_a_test"));
    assert_ptr_equal(&fine, nb_algorithms_get(number));
    assert_status(NB_EXISTS, nb_algorithms_add(&fine, &number));
    assert_int_equal(NB_ALGORITHM_DEFAULT, nb_algorithms_find("of_nobody"));
    assert_null(nb_algorithms_get(NB_ALGORITHM_DEFAULT));
    assert_null(nb_algorithms_get((uint16_t)(number + 1)));
}

static void the_table_is_bounded(void **state) {
    (void)state;
    static nb_algorithm many[NB_ALGORITHMS_MAX];
    static char names[NB_ALGORITHMS_MAX][4];
    uint16_t number;
    for (unsigned i = 0; i < NB_ALGORITHMS_MAX; i++) {
        names[i][0] = 'x';
        names[i][1] = (char)('a' + i);
        many[i] = (nb_algorithm){
            .abi = NB_ALGORITHM_ABI, .bytes = sizeof(nb_algorithm), .name = names[i], .step = no_step};
        nb_status status = nb_algorithms_add(&many[i], &number);
        assert_status(i + 1 < NB_ALGORITHMS_MAX && nb_algorithms_find(names[i]) ? NB_OK : NB_FULL, status);
    }
    assert_int_equal(NB_ALGORITHMS_MAX, nb_algorithms_count());
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run_contract(const char *name, unsigned workers) {
    const struct CMUnitTest contract[] = {
        CASE(every_short_write_keeps_bytes_and_order),
        CASE(who_is_told_that_the_client_is_full_waits_for_it),
        CASE(no_page_cache_changes_what_is_sent),
        CASE(a_step_sends_what_it_is_allowed_and_not_much_more),
        CASE(a_file_that_shrank_fails_with_what_there_was),
        CASE(a_client_that_has_gone_fails_with_its_errno),
        CASE(a_client_that_stops_reading_can_be_given_up),
        CASE(many_at_a_time_do_not_mix),
        CASE(without_memory_nothing_begins_and_nothing_is_lost),
    };
    char title[40];
    the.algorithm = nb_algorithms_find(name);
    the.workers = workers;
    (void)snprintf(title, sizeof(title), "%s, %u workers", name, workers);
    return _cmocka_run_group_tests(title, contract, sizeof(contract) / sizeof(*contract), NULL, NULL);
}

int main(void) {
    nb_test_alarm(120);
    static const char *const names[] = {"auto", "eba", "enba", "sba"};
    int failed = 0;
    for (unsigned i = 0; i < 4; i++) {
        failed += run_contract(names[i], 0);
        failed += run_contract(names[i], 3);
    }
    const struct CMUnitTest each[] = {
        cmocka_unit_test(sba_keeps_one_worker_to_the_end_and_waits_in_it),
        cmocka_unit_test(of_eba_any_worker_takes_the_next_part),
        cmocka_unit_test(of_enba_any_worker_takes_the_next_part),
        cmocka_unit_test(eba_blocks_in_its_writes_but_not_for_long),
        cmocka_unit_test(enba_never_blocks),
        cmocka_unit_test(auto_sends_from_the_loop_what_is_in_memory),
        cmocka_unit_test(auto_has_workers_read_what_is_not_and_sends_from_the_loop),
        cmocka_unit_test(auto_sends_what_there_is_and_has_workers_read_the_rest),
        cmocka_unit_test(auto_counts_pages_that_do_not_stay_and_lets_a_worker_send_them),
        cmocka_unit_test(auto_does_not_look_again_for_what_any_download_has_just_found),
        cmocka_unit_test(auto_sends_a_small_file_in_one_call_with_its_head),
        cmocka_unit_test(a_larger_one_follows_its_head_at_once),
        cmocka_unit_test(only_an_algorithm_that_can_be_is_added_and_once),
        cmocka_unit_test(the_table_is_bounded),
    };
    return failed + cmocka_run_group_tests_name("each", each, NULL, NULL);
}
