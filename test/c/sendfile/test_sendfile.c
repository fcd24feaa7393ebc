/*
 * test_sendfile.c - sendfile of the platform and the copying one under one suite. Errors of
 * sendfile(2) of Linux by including its .c again.
 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sendfile/sendfile.h"

#if defined(__linux__)
#include <sys/sendfile.h>

/* Number of times that EINTR fails; other errors fail always. */
static int sendfile_error, sendfile_failures;

static ssize_t faulty_sendfile(int socket_fd, int file_fd, off_t *offset, size_t bytes) {
    if (sendfile_error == EINTR && sendfile_failures-- == 0) return sendfile(socket_fd, file_fd, offset, bytes);
    errno = sendfile_error;
    return -1;
}

/* The file again, over a sendfile(2) that fails. */
nb_status faulty_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
#define sendfile faulty_sendfile
#define nb_os_sendfile faulty_os_sendfile
#define nb_sendfile_linux_is_not_empty faulty_linux_is_not_empty
#include "sendfile/sendfile_linux.c"
#undef sendfile
#undef nb_os_sendfile
#endif

enum { FILE_BYTES = 300000 };

typedef nb_status (*sender)(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);

static sender send_file;

typedef struct world {
    int file, near, far;
    char *content;
} world;

static int setup(void **state) {
    static world w;
    int ends[2];
    char name[] = "/tmp/nb-test-sendfile-XXXXXX";
    nb_test_random random = {3};
    w.file = mkstemp(name);
    if (w.file < 0 || unlink(name) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return -1;
    w.near = ends[0];
    w.far = ends[1];
    fcntl(w.near, F_SETFL, O_NONBLOCK);
    fcntl(w.far, F_SETFL, O_NONBLOCK);
    w.content = malloc(FILE_BYTES);
    for (size_t i = 0; i < FILE_BYTES; i++)
        w.content[i] = (char)nb_test_random_next(&random);
    if (pwrite(w.file, w.content, FILE_BYTES, 0) != FILE_BYTES) return -1;
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    world *w = *state;
    free(w->content);
    close(w->file);
    close(w->near);
    if (w->far >= 0) close(w->far);
    return 0;
}

/* Reads what has come; sends to a local socket arrive at once. */
static size_t receive(int fd, char *buffer, size_t size) {
    size_t total = 0;
    ssize_t got;
    while (total < size && (got = read(fd, buffer + total, size - total)) > 0)
        total += (size_t)got;
    return total;
}

static void a_file_arrives_whole_over_a_socket_that_is_often_full(void **state) {
    world *w = *state;
    char *arrived = malloc(FILE_BYTES);
    size_t sent = 0, got = 0;
    unsigned full = 0;
    while (sent < FILE_BYTES) {
        size_t moved = 0;
        nb_status status = send_file(w->near, w->file, sent, FILE_BYTES - sent, &moved);
        assert_in_range(moved, status == NB_OK, FILE_BYTES - sent);
        sent += moved;
        if (status == NB_OK) continue;
        assert_status(NB_AGAIN, status);
        full++;
        got += receive(w->far, arrived + got, FILE_BYTES - got);
    }
    got += receive(w->far, arrived + got, FILE_BYTES - got);
    assert_int_equal(FILE_BYTES, got);
    assert_memory_equal(w->content, arrived, FILE_BYTES);
    assert_true(full > 0);
    free(arrived);
}

static void a_range_is_what_was_asked_for_and_the_files_position_stays(void **state) {
    world *w = *state;
    char arrived[64];
    size_t moved = 0;
    lseek(w->file, 17, SEEK_SET);
    assert_status(NB_OK, send_file(w->near, w->file, 1000, 10, &moved));
    assert_int_equal(10, moved);
    assert_int_equal(10, receive(w->far, arrived, sizeof arrived));
    assert_memory_equal(w->content + 1000, arrived, 10);
    assert_int_equal(17, lseek(w->file, 0, SEEK_CUR));
}

static void near_the_end_it_is_what_is_left_and_at_the_end_eof(void **state) {
    world *w = *state;
    size_t moved = 0;
    nb_status status = send_file(w->near, w->file, FILE_BYTES - 3, 100, &moved);
    assert_true(status == NB_OK || status == NB_AGAIN);
    assert_int_equal(3, moved);
    moved = 77;
    assert_status(NB_EOF, send_file(w->near, w->file, FILE_BYTES, 100, &moved));
    assert_status(NB_EOF, send_file(w->near, w->file, FILE_BYTES + 5000, 100, &moved));
    assert_status(NB_EOF, send_file(w->near, w->file, UINT64_MAX, 100, &moved));
    assert_int_equal(0, ftruncate(w->file, 10));
    assert_status(NB_EOF, send_file(w->near, w->file, 10, 100, &moved));
    assert_int_equal(77, moved);
}

static void wrong_descriptors_are_errors_of_the_system(void **state) {
    world *w = *state;
    size_t moved;
    assert_status(NB_SYSTEM, send_file(w->near, -1, 0, 10, &moved));
    assert_int_equal(EBADF, errno);
    assert_status(NB_SYSTEM, send_file(-1, w->file, 0, 10, &moved));
    assert_int_equal(EBADF, errno);
}

static void a_peer_that_left_is_epipe(void **state) {
    world *w = *state;
    size_t moved;
    close(w->far);
    w->far = -1;
    signal(SIGPIPE, SIG_IGN);
    assert_status(NB_SYSTEM, send_file(w->near, w->file, 0, 10, &moved));
    assert_int_equal(EPIPE, errno);
}

#if defined(__linux__)
static void a_file_that_cannot_be_mapped_is_copied(void **state) {
    world *w = *state;
    static const int unable[] = {EINVAL, ENOSYS};
    char arrived[64];
    for (int i = 0; i < 2; i++) {
        size_t moved = 0;
        sendfile_error = unable[i];
        assert_status(NB_OK, faulty_os_sendfile(w->near, w->file, 1000, 10, &moved));
        assert_int_equal(10, moved);
        assert_int_equal(10, receive(w->far, arrived, sizeof arrived));
        assert_memory_equal(w->content + 1000, arrived, 10);
    }
}

static void other_errors_are_told_and_an_interruption_is_repeated(void **state) {
    world *w = *state;
    static const int told[] = {EIO, ENOMEM, ECONNRESET};
    size_t moved = 77;
    for (int i = 0; i < 3; i++) {
        sendfile_error = told[i];
        assert_status(NB_SYSTEM, faulty_os_sendfile(w->near, w->file, 0, 10, &moved));
        assert_int_equal(told[i], errno);
    }
    assert_int_equal(77, moved);
    sendfile_error = EINTR;
    sendfile_failures = 3;
    assert_status(NB_OK, faulty_os_sendfile(w->near, w->file, 0, 10, &moved));
    assert_int_equal(10, moved);
}
#endif

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        CASE(a_file_arrives_whole_over_a_socket_that_is_often_full),
        CASE(a_range_is_what_was_asked_for_and_the_files_position_stays),
        CASE(near_the_end_it_is_what_is_left_and_at_the_end_eof),
        CASE(wrong_descriptors_are_errors_of_the_system),
        CASE(a_peer_that_left_is_epipe),
    };
    send_file = nb_os_sendfile;
    int failed = cmocka_run_group_tests_name("sendfile", tests, NULL, NULL);
    send_file = nb_os_sendfile_copy;
    failed += cmocka_run_group_tests_name("copy", tests, NULL, NULL);
#if defined(__linux__)
    const struct CMUnitTest faults[] = {
        CASE(a_file_that_cannot_be_mapped_is_copied),
        CASE(other_errors_are_told_and_an_interruption_is_repeated),
    };
    failed += cmocka_run_group_tests_name("faults", faults, NULL, NULL);
#endif
    return failed;
}
