/*
 * test_page_cache.c - os/page_cache.c over a preadv2 that says which bytes are in memory.
 */
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static uint64_t in_memory; /* that many of the first bytes */
static int refuses;        /* errno; 0: it does not */
static unsigned interruptions, reads;

static ssize_t fake_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    assert_int_equal(RWF_NOWAIT, flags);
    reads++;
    errno = refuses ? refuses : interruptions ? EINTR : EAGAIN;
    if (interruptions) interruptions--;
    if (errno != EAGAIN || (uint64_t)offset >= in_memory) return -1;
    return preadv(fd, parts, count, offset);
}

#define preadv2 fake_preadv2
#include "os/page_cache.c"
#undef preadv2

enum { FILE_BYTES = 1000000 };

static int file;

static int setup(void **state) {
    (void)state;
    char name[] = "/tmp/nb-test-page-cache-XXXXXX";
    char *content = malloc(FILE_BYTES);
    for (size_t i = 0; i < FILE_BYTES; i++)
        content[i] = (char)(i * 7);
    file = mkstemp(name);
    bool fine = file >= 0 && unlink(name) == 0 && pwrite(file, content, FILE_BYTES, 0) == FILE_BYTES;
    free(content);
    in_memory = FILE_BYTES;
    refuses = 0;
    interruptions = reads = 0;
    return fine ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    return close(file);
}

static nb_status read_at(uint64_t offset, size_t bytes, bool ready_only, char *into, size_t *got) {
    struct iovec parts[2] = {{into, bytes / 2}, {into + bytes / 2, bytes - bytes / 2}};
    return nb_page_cache_read(file, parts, 2, offset, ready_only, got);
}

static void what_is_in_memory_is_read_and_else_nothing(void **state) {
    (void)state;
    char bytes[100];
    size_t got = 0;
    in_memory = 5000;
    assert_status(NB_OK, read_at(4000, 100, true, bytes, &got));
    assert_int_equal(100, got);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal((char)((4000 + i) * 7), bytes[i]);
    got = 77;
    assert_status(NB_AGAIN, read_at(5000, 100, true, bytes, &got));
    assert_status(NB_OK, read_at(5000, 100, false, bytes, &got));
    assert_int_equal(100, got);
}

static void the_end_of_the_file_is_told(void **state) {
    (void)state;
    char bytes[100];
    size_t got = 77;
    uint64_t ready;
    assert_status(NB_OK, read_at(FILE_BYTES - 40, 100, false, bytes, &got));
    assert_int_equal(40, got);
    in_memory = FILE_BYTES * 2;
    assert_status(NB_EOF, read_at(FILE_BYTES, 100, true, bytes, &got));
    assert_status(NB_EOF, read_at(UINT64_MAX, 100, true, bytes, &got));
    assert_status(NB_EOF, nb_page_cache_probe(file, 900000, 200000, &ready));
    assert_status(NB_EOF, nb_page_cache_fill(file, 900000, 200000));
}

/* A kernel without it, a filter of system calls, a file system that cannot. */
static void where_it_cannot_be_told_it_is_said_so(void **state) {
    (void)state;
    static const int errors[] = {EOPNOTSUPP, ENOSYS, EINVAL, EPERM};
    char bytes[10];
    size_t got;
    uint64_t ready;
    for (int i = 0; i < 4; i++) {
        refuses = errors[i];
        assert_status(NB_UNSUPPORTED, read_at(0, 10, true, bytes, &got));
        assert_status(NB_UNSUPPORTED, nb_page_cache_probe(file, 0, 10, &ready));
        assert_status(NB_OK, read_at(0, 10, false, bytes, &got));
    }
    refuses = EIO;
    assert_status(NB_SYSTEM, read_at(0, 10, true, bytes, &got));
    assert_int_equal(EIO, errno);
}

static void an_interruption_is_repeated(void **state) {
    (void)state;
    char bytes[10];
    size_t got;
    interruptions = 3;
    assert_status(NB_OK, read_at(0, 10, true, bytes, &got));
    assert_int_equal(4, reads);
}

static void a_probe_looks_at_few_places_and_tells_what_is_there_before_the_first_that_is_not(void **state) {
    (void)state;
    uint64_t ready = 77;
    assert_status(NB_OK, nb_page_cache_probe(file, 0, FILE_BYTES, &ready));
    assert_int_equal(FILE_BYTES, ready);
    assert_int_equal(9, reads);
    reads = 0;
    assert_status(NB_OK, nb_page_cache_probe(file, 5, 1, &ready));
    assert_int_equal(1, ready);
    assert_int_equal(1, reads);
    in_memory = 131072 * 3 + 1;
    assert_status(NB_AGAIN, nb_page_cache_probe(file, 0, FILE_BYTES, &ready));
    assert_int_equal(131072 * 3, ready);
    in_memory = 131072;
    assert_status(NB_AGAIN, nb_page_cache_probe(file, 0, FILE_BYTES, &ready));
    assert_int_equal(0, ready);
    in_memory = 0;
    assert_status(NB_AGAIN, nb_page_cache_probe(file, 1000, 5000, &ready));
    assert_int_equal(0, ready);
}

static void filling_reads_the_whole_range(void **state) {
    (void)state;
    in_memory = 0;
    assert_status(NB_OK, nb_page_cache_fill(file, 1, FILE_BYTES - 1));
    assert_int_equal(0, reads);
    int other = file;
    file = -1;
    assert_status(NB_SYSTEM, nb_page_cache_fill(file, 0, 10));
    file = other;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_is_in_memory_is_read_and_else_nothing),
        CASE(the_end_of_the_file_is_told),
        CASE(where_it_cannot_be_told_it_is_said_so),
        CASE(an_interruption_is_repeated),
        CASE(a_probe_looks_at_few_places_and_tells_what_is_there_before_the_first_that_is_not),
        CASE(filling_reads_the_whole_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
