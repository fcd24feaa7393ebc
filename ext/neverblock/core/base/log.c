/*
 * log.c - a bounded circular buffer under a mutex, emptied by one thread, the only one that calls
 * write(2). It writes a copy without the lock; the bytes stay in the buffer until they are written.
 * A thread that is stuck in write(2) when the log is destroyed owns the memory and frees it when it
 * returns.
 *
 * The workers of a server write to one pipe. Up to PIPE_BUF bytes go there in one piece (pipe(7)),
 * so each write(2) has whole lines of at most so many bytes. A longer line may be cut by others.
 */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/thread.h"

enum {
    LINE_BYTES = 500,
    WRITE_BYTES = PIPE_BUF,
    FULL_PIPE_WAIT_MS = 100,
    DESTROY_WAIT_MS = 1000,
};

struct nb_log {
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* for the thread; for callers of nb_log_flush */
    pthread_t thread;
    int fd;
    bool started, closing, orphan; /* orphan: destroyed, the thread frees the memory */
    bool writing;
    size_t head, used;   /* head: the oldest byte */
    uint64_t unreported; /* lines dropped since the last report */
    _Atomic uint64_t dropped;
    char bytes[NB_LOG_BUFFER_BYTES];
};

nb_status nb_log_create(int fd, nb_log **log) {
    nb_log *self = nb_alloc(sizeof *self);
    if (self == NULL) return NB_NO_MEMORY;
    memset(self, 0, offsetof(nb_log, bytes));
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->work, NULL);
    nb_thread_cond_init(&self->done);
    self->fd = fd;
    *log = self;
    return NB_OK;
}

static void release(nb_log *self) {
    pthread_cond_destroy(&self->done);
    pthread_cond_destroy(&self->work);
    pthread_mutex_destroy(&self->lock);
    nb_free(self);
}

static _Atomic uint64_t dropped_by_all;

static void append(nb_log *self, const char *bytes, size_t size) {
    size_t tail = (self->head + self->used) % NB_LOG_BUFFER_BYTES;
    size_t to_end = NB_LOG_BUFFER_BYTES - tail, first = size < to_end ? size : to_end;
    memcpy(self->bytes + tail, bytes, first);
    memcpy(self->bytes, bytes + first, size - first);
    self->used += size;
}

static uint64_t count_lines(const char *bytes, size_t size) {
    uint64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines > 0 ? lines : 1;
}

static void count_dropped(nb_log *self, uint64_t lines) {
    atomic_fetch_add_explicit(&self->dropped, lines, memory_order_relaxed);
    atomic_fetch_add_explicit(&dropped_by_all, lines, memory_order_relaxed);
}

static void drop(nb_log *self, const char *bytes, size_t size) {
    uint64_t lines = count_lines(bytes, size);
    self->unreported += lines;
    count_dropped(self, lines);
}

void nb_log_time(char out[NB_LOG_TIME_BYTES], int64_t wall_ns) {
    time_t seconds = (time_t)(wall_ns / NB_NS_PER_S);
    struct tm parts;
    char text[sizeof "2026-11-21T18:03:26"];
    if (!gmtime_r(&seconds, &parts) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)) text[0] = '\0';
    snprintf(out, NB_LOG_TIME_BYTES, "%s.%03dZ", text, (int)(wall_ns % NB_NS_PER_S / NB_NS_PER_MS));
}

size_t nb_log_begin_line(char *line, size_t room, const char *level) {
    char text[NB_LOG_TIME_BYTES];
    nb_log_time(text, nb_clock_wall_ns());
    int size = snprintf(line, room, "neverblock: %s %s: ", text, level);
    return size < 0 ? 0 : (size_t)size;
}

/* Adds the report of dropped lines before anything newer, in their place. False: the report or the
   new lines do not fit. */
static bool report_drops(nb_log *self, size_t room_after) {
    char report[160];
    if (self->unreported == 0) return true;
    size_t size = nb_log_begin_line(report, sizeof report, "warning");
    int added = snprintf(report + size, sizeof report - size,
                         "%llu log lines dropped: the reader of this log is too slow\n",
                         (unsigned long long)self->unreported);
    size += added < 0 ? 0 : (size_t)added;
    if (size + room_after > NB_LOG_BUFFER_BYTES - self->used) return false;
    append(self, report, size);
    self->unreported = 0;
    return true;
}

static void wait_until_writable(int fd) {
    struct pollfd waited = {.fd = fd, .events = POLLOUT};
    (void)poll(&waited, 1, FULL_PIPE_WAIT_MS);
}

/* Call without the lock. Returns the bytes that are done, by being written or because the
   descriptor has failed. */
static size_t write_some(nb_log *self, const char *bytes, size_t size) {
    ssize_t written = write(self->fd, bytes, size);
    if (written >= 0) return (size_t)written;
    if (errno == EINTR) return 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        wait_until_writable(self->fd);
        return 0;
    }
    count_dropped(self, count_lines(bytes, size));
    return size;
}

/* The oldest bytes, up to the end of a line if there is one. */
static size_t copy_piece(const nb_log *self, char piece[WRITE_BYTES]) {
    size_t size = self->used < WRITE_BYTES ? self->used : WRITE_BYTES;
    size_t to_end = NB_LOG_BUFFER_BYTES - self->head, first = size < to_end ? size : to_end;
    memcpy(piece, self->bytes + self->head, first);
    memcpy(piece + first, self->bytes, size - first);
    size_t whole = size;
    while (whole > 0 && piece[whole - 1] != '\n')
        whole--;
    return whole > 0 ? whole : size;
}

/* Call with the lock held; it is held again on return. */
static void write_piece(nb_log *self) {
    char piece[WRITE_BYTES];
    size_t size = copy_piece(self, piece);
    self->writing = true;
    pthread_mutex_unlock(&self->lock);
    size_t gone = write_some(self, piece, size);
    pthread_mutex_lock(&self->lock);
    self->writing = false;
    self->head = (self->head + gone) % NB_LOG_BUFFER_BYTES;
    self->used -= gone;
    if (gone > 0) (void)report_drops(self, 0);
}

static void *write_all(void *pointer) {
    nb_log *self = pointer;
    pthread_mutex_lock(&self->lock);
    while (!self->orphan) {
        if (self->used > 0) {
            write_piece(self);
        } else {
            pthread_cond_broadcast(&self->done);
            if (self->closing) break;
            pthread_cond_wait(&self->work, &self->lock);
        }
    }
    bool orphan = self->orphan;
    pthread_mutex_unlock(&self->lock);
    if (orphan) release(self);
    return NULL;
}

static void ensure_thread(nb_log *self) {
    if (!self->started) self->started = nb_thread_start("nb-log", write_all, self, &self->thread) == NB_OK;
}

void nb_log_write(nb_log *log, const char *bytes, size_t size) {
    if (!log || size == 0) return;
    pthread_mutex_lock(&log->lock);
    if (report_drops(log, size) && size <= NB_LOG_BUFFER_BYTES - log->used) {
        append(log, bytes, size);
        ensure_thread(log);
        pthread_cond_signal(&log->work);
    } else {
        drop(log, bytes, size);
    }
    pthread_mutex_unlock(&log->lock);
}

static void write_line(nb_log *log, const char *level, const char *format, va_list arguments) {
    char line[LINE_BYTES + 1];
    size_t head = nb_log_begin_line(line, LINE_BYTES, level), size = head;
    int printed = vsnprintf(line + size, LINE_BYTES - size, format, arguments);
    if (printed < 0) return;
    size += (size_t)printed < LINE_BYTES - size ? (size_t)printed : LINE_BYTES - size - 1;
    for (size_t i = head, width; i < size; i += width) {
        width = line[i] == '\t' ? 1 : nb_utf8_visible(line + i, size - i);
        if (width > 0) continue;
        line[i] = '?';
        width = 1;
    }
    line[size++] = '\n';
    nb_log_write(log, line, size);
}

uint64_t nb_log_dropped_by_all(void) { return atomic_load_explicit(&dropped_by_all, memory_order_relaxed); }

void nb_log_line(nb_log *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(log, "warning", format, arguments);
    va_end(arguments);
}

void nb_log_info(nb_log *log, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_line(log, "info", format, arguments);
    va_end(arguments);
}

bool nb_log_due(int64_t *told_ns, int64_t now_ns) {
    if (*told_ns && now_ns - *told_ns < NB_LOG_AGAIN_NS) return false;
    *told_ns = now_ns;
    return true;
}

void nb_log_name(char out[NB_LOG_NAME_BYTES], nb_slice bytes) {
    static const char digits[] = "0123456789abcdef", cut[] = "...";
    size_t size = 0, i = 0;
    for (; i < bytes.size && size + 4 + sizeof(cut) <= NB_LOG_NAME_BYTES; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        bool plain = c >= ' ' && c <= '~' && c != '\\';
        if (plain) {
            out[size++] = (char)c;
            continue;
        }
        const char escaped[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
        memcpy(out + size, escaped, sizeof(escaped));
        size += sizeof(escaped);
    }
    memcpy(out + size, i < bytes.size ? cut : "", i < bytes.size ? sizeof(cut) : 1);
}

uint64_t nb_log_dropped(const nb_log *log) { return atomic_load_explicit(&log->dropped, memory_order_relaxed); }

/* Call with the lock held. */
static void wait_until_written(nb_log *self, unsigned timeout_ms) {
    int64_t deadline_ns = nb_clock_monotonic_ns() + (int64_t)timeout_ms * NB_NS_PER_MS;
    while (self->used > 0 && self->started) {
        if (!nb_thread_cond_wait_until(&self->done, &self->lock, deadline_ns)) return;
    }
}

void nb_log_flush(nb_log *log, unsigned timeout_ms) {
    pthread_mutex_lock(&log->lock);
    wait_until_written(log, timeout_ms);
    pthread_mutex_unlock(&log->lock);
}

void nb_log_destroy(nb_log *log) {
    if (log == NULL) return;
    pthread_mutex_lock(&log->lock);
    bool started = log->started;
    pthread_t thread = log->thread;
    wait_until_written(log, DESTROY_WAIT_MS);
    log->closing = true;
    log->orphan = started && log->used > 0;
    bool orphan = log->orphan;
    if (orphan) pthread_detach(thread);
    pthread_cond_signal(&log->work);
    pthread_mutex_unlock(&log->lock);
    if (orphan) return;
    if (started) pthread_join(thread, NULL);
    release(log);
}
