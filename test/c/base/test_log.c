/*
 * test_log.c - lines arrive whole and in order; a reader that stops costs lines and never time.
 */
#include "support/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "os/clock.h"

static int new_file(void) {
    char name[] = "/tmp/nb-test-log-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    return fd;
}

static char *content_of(int fd) {
    off_t size = lseek(fd, 0, SEEK_END);
    char *content = calloc(1, (size_t)size + 1);
    assert_int_equal(size, pread(fd, content, (size_t)size, 0));
    return content;
}

static nb_log *new_log(int fd) {
    nb_log *log;
    assert_status(NB_OK, nb_log_create(fd, &log));
    return log;
}

static void write_text(nb_log *log, const char *text) { nb_log_write(log, text, strlen(text)); }

static void assert_content(int fd, const char *expected) {
    char *content = content_of(fd);
    assert_string_equal(expected, content);
    free(content);
}

static void flushed_lines_are_in_the_file_in_order(void **state) {
    (void)state;
    int fd = new_file();
    nb_log *log = new_log(fd);
    write_text(log, "one\n");
    write_text(log, "two\nthree\n");
    nb_log_write(log, "nothing", 0);
    nb_log_flush(log, 20000);
    assert_content(fd, "one\ntwo\nthree\n");
    nb_log_line(log, "%s %d", "four", 4);
    nb_log_flush(log, 20000);
    char *content = content_of(fd);
    int year, used = 0;
    assert_int_equal(1,
                     sscanf(content, "one\ntwo\nthree\nneverblock: %4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ warning: four%n",
                            &year, &used));
    assert_true(year >= 2024);
    assert_string_equal(" 4\n", content + used);
    free(content);
    assert_int_equal(0, nb_log_dropped(log));
    nb_log_destroy(log);
    close(fd);
}

static void destroying_writes_what_is_left(void **state) {
    (void)state;
    int fd = new_file();
    long live = nb_alloc_live();
    nb_log *log = new_log(fd);
    write_text(log, "last words\n");
    nb_log_destroy(log);
    assert_content(fd, "last words\n");
    nb_log_destroy(new_log(fd)); /* never used: no thread */
    nb_log_destroy(NULL);
    assert_int_equal(live, nb_alloc_live());
    close(fd);
}

static void a_line_is_one_line_whatever_is_in_it(void **state) {
    (void)state;
    int fd = new_file();
    nb_log *log = new_log(fd);
    nb_log_info(log, "%s", "a\nb\033[31m\177c\td");
    nb_log_destroy(log);
    char *content = content_of(fd);
    assert_string_equal("Z info: a?b?[31m?c\td\n", strchr(content, 'Z'));
    free(content);
    close(fd);
}

/* Bytes of "neverblock: 2026-11-21T18:03:26.000Z warning: "; sizes of lines around the longest. */
enum { LINE_HEAD = 46, SHORTEST = 446, LONGEST = 461 };

static void a_long_line_is_cut_to_500_bytes(void **state) {
    (void)state;
    int fd = new_file();
    nb_log *log = new_log(fd);
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int size = SHORTEST; size < LONGEST; size++)
        nb_log_line(log, "%.*s", size, text);
    nb_log_line(log, "%s", text);
    nb_log_destroy(log);
    char *content = content_of(fd), *at = content;
    for (int size = SHORTEST; size <= LONGEST; size++) {
        size_t line = strcspn(at, "\n") + 1;
        size_t whole = LINE_HEAD + (size_t)size + 1;
        assert_int_equal(size < LONGEST && whole < 500 ? whole : 500, line);
        assert_int_equal(0, strncmp("Z warning: xxx", at + LINE_HEAD - 11, 14));
        at += line;
    }
    assert_int_equal('\0', *at);
    free(content);
    close(fd);
}

enum { WRITERS = 4, LINES = 2000 };

typedef struct writer {
    nb_log *log;
    int number;
} writer;

/* As long as lines of requests are. */
enum { SHARED_LINES = 3000, SHARED_BYTES = 150 };

static void write_shared(nb_log *log, char with) {
    char line[SHARED_BYTES];
    memset(line, with, sizeof line);
    line[SHARED_BYTES - 1] = '\n';
    for (int i = 0; i < SHARED_LINES; i++)
        nb_log_write(log, line, sizeof line);
}

/* As the workers of a server do. The pipe is full most of the time. */
static void lines_of_several_logs_stay_whole_in_one_pipe(void **state) {
    (void)state;
    int fds[2];
    assert_int_equal(0, pipe(fds));
    nb_log *one = new_log(fds[1]), *other = new_log(fds[1]);
    write_shared(one, 'a');
    write_shared(other, 'b');
    char line[SHARED_BYTES], whole[2][SHARED_BYTES];
    memset(whole[0], 'a', SHARED_BYTES - 1);
    memset(whole[1], 'b', SHARED_BYTES - 1);
    whole[0][SHARED_BYTES - 1] = whole[1][SHARED_BYTES - 1] = '\n';
    for (int i = 0; i < 2 * SHARED_LINES; i++) {
        for (size_t got = 0; got < sizeof line;) {
            ssize_t more = read(fds[0], line + got, sizeof line - got);
            assert_true(more > 0);
            got += (size_t)more;
        }
        assert_memory_equal(whole[line[0] == 'b'], line, sizeof line);
    }
    nb_log_destroy(one);
    nb_log_destroy(other);
    close(fds[0]);
    close(fds[1]);
}

static void *write_lines(void *pointer) {
    const writer *w = pointer;
    for (int i = 0; i < LINES; i++)
        nb_log_line(w->log, "writer %d line %d", w->number, i);
    return NULL;
}

static void lines_of_several_threads_stay_whole_and_in_each_threads_order(void **state) {
    (void)state;
    int fd = new_file(), next[WRITERS] = {0}, number, line, used;
    nb_log *log = new_log(fd);
    pthread_t threads[WRITERS];
    writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){log, i};
        threads[i] = nb_test_thread(write_lines, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        nb_test_join(threads[i]);
    nb_log_flush(log, 20000);
    char *content = content_of(fd), *at = content;
    for (; sscanf(at, "neverblock: %*s warning: writer %d line %d%n", &number, &line, &used) == 2; at += used + 1) {
        assert_int_equal('\n', at[used]);
        assert_int_equal(next[number]++, line);
    }
    assert_int_equal('\0', *at);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(LINES, next[i]);
    free(content);
    nb_log_destroy(log);
    close(fd);
}

/* Reads a log of numbered lines and reports until every line is accounted for. */
typedef struct reader {
    int fd;
    unsigned received, reported, reports;
    int last;
    char text[8192];
    size_t size;
} reader;

static void account(reader *r, const char *line) {
    unsigned count;
    int number;
    if (sscanf(line, "neverblock: %*s warning: %u log lines dropped: the reader of this log is too slow", &count) ==
        1) {
        r->reported += count;
        r->reports++;
        /* The report lies exactly where the lines it counts would have been. */
        r->last += (int)count;
        return;
    }
    assert_int_equal(1, sscanf(line, "line %d ", &number));
    assert_int_equal(r->last + 1, number);
    assert_int_equal(100, strlen(line));
    r->last = number;
    r->received++;
}

static void read_some(reader *r) {
    ssize_t got = read(r->fd, r->text + r->size, sizeof r->text - 1 - r->size);
    assert_true(got > 0);
    r->size += (size_t)got;
    r->text[r->size] = '\0';
    char *line = r->text, *end;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        account(r, line);
    }
    r->size = strlen(line);
    memmove(r->text, line, r->size);
}

static void write_numbered(nb_log *log, unsigned from, unsigned to) {
    char line[128];
    for (unsigned i = from; i < to; i++) {
        int size = snprintf(line, sizeof line, "line %u ", i);
        memset(line + size, '.', (size_t)(100 - size));
        line[100] = '\n';
        nb_log_write(log, line, 101);
    }
}

static void overflow(int pipe_flags) {
    int ends[2];
    enum { FIRST = 30000, MORE = 40000 };
    assert_int_equal(0, pipe(ends));
    assert_true(fcntl(ends[1], F_SETFL, pipe_flags) == 0);
    nb_log *log = new_log(ends[1]);
    write_numbered(log, 0, FIRST); /* 3 MB into 1 MB; a writer that blocks would hang here */
    uint64_t dropped = nb_log_dropped(log);
    assert_true(dropped > 0 && dropped < FIRST);
    nb_log_flush(log, 20); /* ends although nothing can be written */
    reader r = {.fd = ends[0], .last = -1};
    while (r.received + r.reported < FIRST)
        read_some(&r);
    assert_int_equal(dropped, r.reported);
    assert_int_equal(dropped, nb_log_dropped(log));
    assert_true(r.reports >= 1);
    /* May overflow again, with the reader of the test not reading. */
    write_numbered(log, FIRST, MORE);
    while (r.received + r.reported < MORE)
        read_some(&r);
    assert_int_equal(nb_log_dropped(log), r.reported);
    nb_log_destroy(log);
    close(ends[0]);
    close(ends[1]);
}

static void a_full_pipe_costs_lines_which_are_counted_in_their_place(void **state) {
    (void)state;
    overflow(0);
}

static void so_does_a_full_nonblocking_pipe(void **state) {
    (void)state;
    overflow(O_NONBLOCK);
}

static void lines_written_together_are_dropped_together(void **state) {
    (void)state;
    static char huge[NB_LOG_BUFFER_BYTES + 1];
    int fd = new_file();
    nb_log *log = new_log(fd);
    memset(huge, 'x', sizeof huge);
    for (int i = 0; i < 3; i++)
        huge[i * 100] = '\n';
    write_text(log, "before\n");
    nb_log_write(log, huge, sizeof huge);
    assert_int_equal(3, nb_log_dropped(log));
    write_text(log, "after\n");
    nb_log_destroy(log);
    char *content = content_of(fd);
    assert_int_equal(0, strncmp("before\nneverblock: 20", content, 21));
    assert_string_equal("Z warning: 3 log lines dropped: the reader of this log is too slow\nafter\n",
                        strchr(content, 'Z'));
    free(content);
    close(fd);
}

static void a_descriptor_without_a_reader_costs_lines_and_no_signal(void **state) {
    (void)state;
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    assert_int_equal(0, pipe(ends));
    close(ends[0]);
    nb_log *log = new_log(ends[1]);
    write_text(log, "to nobody\n");
    nb_log_flush(log, 20000);
    assert_int_equal(1, nb_log_dropped(log));
    write_text(log, "again\n");
    nb_log_destroy(log);
    close(ends[1]);
}

static void destroying_leaves_a_stuck_thread_behind_which_frees_the_memory(void **state) {
    (void)state;
    int ends[2];
    char bytes[4096];
    long live = nb_alloc_live();
    assert_int_equal(0, pipe(ends));
    nb_log *log = new_log(ends[1]);
    write_numbered(log, 0, 5000);
    int64_t before = nb_clock_monotonic_ns();
    nb_log_destroy(log);
    assert_true(nb_clock_monotonic_ns() - before < 20 * NB_NS_PER_S);
    assert_int_equal(live + 1, nb_alloc_live());
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (nb_alloc_live() > live) {
        if (read(ends[0], bytes, sizeof bytes) < 0) sched_yield();
    }
    close(ends[0]);
    close(ends[1]);
}

static void without_memory_there_is_no_log(void **state) {
    (void)state;
    nb_log *log = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_log_create(1, &log));
    assert_null(log);
}

static void a_thread_that_did_not_start_is_tried_again_and_no_line_is_lost(void **state) {
    (void)state;
    int fd = new_file();
    nb_log *log = new_log(fd);
    nb_alloc_fail_at(1);
    write_text(log, "first\n");
    nb_log_flush(log, 20000); /* returns: nobody would write */
    write_text(log, "second\n");
    nb_log_flush(log, 20000);
    assert_content(fd, "first\nsecond\n");
    nb_log_destroy(log);
    close(fd);
}

static void a_warning_that_might_come_with_every_request_comes_once_a_minute(void **state) {
    (void)state;
    int64_t told_ns = 0, now_ns = 5;
    assert_true(nb_log_due(&told_ns, now_ns));
    assert_false(nb_log_due(&told_ns, now_ns + NB_LOG_AGAIN_NS - 1));
    assert_true(nb_log_due(&told_ns, now_ns + NB_LOG_AGAIN_NS));
    assert_false(nb_log_due(&told_ns, now_ns + NB_LOG_AGAIN_NS + 1));
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flushed_lines_are_in_the_file_in_order),
        cmocka_unit_test(destroying_writes_what_is_left),
        cmocka_unit_test(a_line_is_one_line_whatever_is_in_it),
        cmocka_unit_test(a_long_line_is_cut_to_500_bytes),
        cmocka_unit_test(lines_of_several_threads_stay_whole_and_in_each_threads_order),
        cmocka_unit_test(lines_of_several_logs_stay_whole_in_one_pipe),
        cmocka_unit_test(a_full_pipe_costs_lines_which_are_counted_in_their_place),
        cmocka_unit_test(so_does_a_full_nonblocking_pipe),
        cmocka_unit_test(lines_written_together_are_dropped_together),
        cmocka_unit_test(a_descriptor_without_a_reader_costs_lines_and_no_signal),
        cmocka_unit_test(destroying_leaves_a_stuck_thread_behind_which_frees_the_memory),
        cmocka_unit_test(a_warning_that_might_come_with_every_request_comes_once_a_minute),
        cmocka_unit_test(without_memory_there_is_no_log),
        cmocka_unit_test(a_thread_that_did_not_start_is_tried_again_and_no_line_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
