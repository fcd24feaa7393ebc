/*
 * sink.c - see sink.h.
 */
#include "support/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/pattern.h"

static nb_test_sink *of(nb_transport *transport) { return (nb_test_sink *)(void *)transport; }

static void note_thread(nb_test_sink *s) {
    for (unsigned i = 0; i < s->thread_count; i++) {
        if (pthread_equal(s->threads[i], pthread_self())) return;
    }
    if (s->thread_count < NB_TEST_SINK_THREADS_MAX) s->threads[s->thread_count++] = pthread_self();
}

static nb_status take(nb_test_sink *s, const char *bytes, size_t size, size_t *moved) {
    if (s->aborted || s->failing != NB_OK) {
        errno = ECONNRESET;
        return s->aborted ? NB_SYSTEM : s->failing;
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

static nb_status take_locked(nb_test_sink *s, const char *bytes, size_t size, size_t *moved, unsigned *counter) {
    pthread_mutex_lock(&s->lock);
    note_thread(s);
    ++*counter;
    nb_status status = take(s, bytes, size, moved);
    pthread_mutex_unlock(&s->lock);
    if (status == NB_OK && s->sent) s->sent(s);
    return status;
}

static nb_status sink_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    nb_test_sink *s = of(transport);
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
    nb_test_sink *s = of(transport);
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
    nb_test_sink *s = of(transport);
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
    nb_test_sink *s = of(transport);
    pthread_mutex_lock(&s->lock);
    s->aborted = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static const nb_transport_kind sink_kind = {
    .name = "sink", .writev = sink_writev, .sendfile = sink_sendfile, .wait = sink_wait, .abort = sink_abort};

nb_test_sink *nb_test_sink_create(size_t step, unsigned calls, size_t capacity) {
    nb_test_sink *s = calloc(1, sizeof *s);
    s->transport = (nb_transport){.kind = &sink_kind, .fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->step = step;
    s->calls = s->calls_left = calls;
    s->capacity = capacity;
    s->taken = malloc(capacity + 1);
    return s;
}

void nb_test_sink_free(nb_test_sink *s) {
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s->taken);
    free(s);
}

bool nb_test_sink_used_here(const nb_test_sink *s) {
    return s->thread_count == 1 && pthread_equal(s->threads[0], pthread_self());
}

void nb_test_sink_expect_pattern(const nb_test_sink *s, size_t bytes) {
    assert_int_equal(bytes, s->size);
    if (nb_test_pattern_equal(s->taken, 0, bytes)) return;
    size_t at = 0;
    while (s->taken[at] == nb_test_pattern(at))
        at++;
    fail_msg("byte %zu of %zu is another", at, bytes);
}
