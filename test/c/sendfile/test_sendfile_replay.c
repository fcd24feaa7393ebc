/*
 * test_sendfile_replay.c - sendfile of each platform against its manual. Its .c is compiled here
 * over a system call that returns what a script says, with one test for each relevant sentence of
 * sendfile(2): Linux man-pages 6.03, macOS 10.14, FreeBSD 12.2.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#if defined(__linux__)
#include <sys/sendfile.h>
#endif

#include "os/net.h"
#include "sendfile/sendfile.h"
#include "support/test.h"

enum { SOCKET = 7, FILE_FD = 9, ASKED = 1000, OFFSET = 40000 };

/* The result of a call: bytes sent, and an error or 0. */
typedef struct reply {
    int64_t sent;
    int error;
} reply;

static const reply *script;
static unsigned replies, calls, copies;

static void play(const reply *with, unsigned count) {
    script = with;
    replies = count;
    calls = copies = 0;
}

static reply next_reply(int socket_fd, int file_fd, off_t offset, uint64_t bytes) {
    assert_int_equal(SOCKET, socket_fd);
    assert_int_equal(FILE_FD, file_fd);
    assert_int_equal(OFFSET, offset); /* each try begins at the same offset: nothing was sent */
    assert_true(bytes > 0);           /* 0 would mean: to the end of the file */
    assert_true(calls < replies);
    reply given = script[calls++];
    errno = given.error;
    return given;
}

static nb_status copied(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    (void)socket_fd, (void)file_fd, (void)offset;
    copies++;
    *moved = bytes / 2;
    return NB_OK;
}
#define nb_os_sendfile_copy copied

/* --- Linux: bytes sent, or -1 --- */

#if defined(__linux__)
static ssize_t linux_sendfile(int socket_fd, int file_fd, off_t *offset, size_t bytes) {
    reply given = next_reply(socket_fd, file_fd, *offset, bytes);
    if (given.sent > 0) *offset += given.sent;
    return given.error ? -1 : (ssize_t)given.sent;
}

#define sendfile linux_sendfile
#define nb_os_sendfile linux_os_sendfile
nb_status linux_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
#include "sendfile/sendfile_linux.c"
#undef sendfile
#undef nb_os_sendfile
#endif

/* --- macOS: bytes sent in *len, always --- */

static int darwin_sendfile(int file_fd, int socket_fd, off_t offset, off_t *len, void *headers, int flags) {
    assert_null(headers);
    assert_int_equal(0, flags);
    reply given = next_reply(socket_fd, file_fd, offset, (uint64_t)*len);
    *len = given.sent;
    return given.error ? -1 : 0;
}

#pragma push_macro("__APPLE__")
#undef __APPLE__
#define __APPLE__ 1
#define sendfile darwin_sendfile
#define nb_os_sendfile darwin_os_sendfile
nb_status darwin_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
#include "sendfile/sendfile_darwin.c"
#undef sendfile
#undef nb_os_sendfile
#pragma pop_macro("__APPLE__")

/* --- FreeBSD: bytes sent in *sbytes, always --- */

static int freebsd_sendfile(int file_fd, int socket_fd, off_t offset, size_t bytes, void *headers, off_t *sent,
                            int flags) {
    assert_null(headers);
    assert_int_equal(0, flags);
    reply given = next_reply(socket_fd, file_fd, offset, bytes);
    *sent = given.sent;
    return given.error ? -1 : 0;
}

#pragma push_macro("__FreeBSD__")
#undef __FreeBSD__
#define __FreeBSD__ 13
#define sendfile freebsd_sendfile
#define nb_os_sendfile freebsd_os_sendfile
nb_status freebsd_os_sendfile(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
#include "sendfile/sendfile_freebsd.c"
#undef sendfile
#undef nb_os_sendfile
#pragma pop_macro("__FreeBSD__")

/* --- */

typedef nb_status (*sender)(int socket_fd, int file_fd, uint64_t offset, size_t bytes, size_t *moved);

static sender send_file;

enum { UNTOUCHED = 77 };

#define PLAY(...)                                                         \
    static const reply with[] = {__VA_ARGS__};                            \
    size_t moved = UNTOUCHED;                                             \
    play(with, sizeof(with) / sizeof(*with));                             \
    nb_status status = send_file(SOCKET, FILE_FD, OFFSET, ASKED, &moved); \
    assert_int_equal(replies, calls)

static void all_that_was_asked_for(void **state) {
    (void)state;
    PLAY({ASKED, 0});
    assert_status(NB_OK, status);
    assert_int_equal(ASKED, moved);
}

/* macOS, FreeBSD: where the file ends. */
static void fewer_without_an_error(void **state) {
    (void)state;
    PLAY({17, 0});
    assert_status(NB_OK, status);
    assert_int_equal(17, moved);
}

/* macOS, FreeBSD: "Should offset fall beyond the end of file, the system will return success and
 * report 0 bytes sent" */
static void nothing_without_an_error_is_the_end_of_the_file(void **state) {
    (void)state;
    PLAY({0, 0});
    assert_status(NB_EOF, status);
    assert_int_equal(UNTOUCHED, moved);
}

/* EAGAIN with nothing sent. */
static void a_full_socket(void **state) {
    (void)state;
    PLAY({0, EAGAIN});
    assert_status(NB_AGAIN, status);
    assert_int_equal(UNTOUCHED, moved);
}

/* EINTR with nothing sent: tried again. */
static void an_interruption_before_the_first_byte(void **state) {
    (void)state;
    PLAY({0, EINTR}, {0, EINTR}, {ASKED, 0});
    assert_status(NB_OK, status);
    assert_int_equal(ASKED, moved);
}

static void an_interruption_and_then_a_full_socket(void **state) {
    (void)state;
    PLAY({0, EINTR}, {0, EAGAIN});
    assert_status(NB_AGAIN, status);
    assert_int_equal(UNTOUCHED, moved);
}

static void the_peer_has_gone(void **state) {
    (void)state;
    PLAY({0, EPIPE});
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EPIPE, errno);
}

static void the_disk_fails(void **state) {
    (void)state;
    PLAY({0, EIO});
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EIO, errno);
    assert_int_equal(0, copies);
}

static void no_system_call_for_what_no_file_has(void **state) {
    (void)state;
    size_t moved = UNTOUCHED;
    play(NULL, 0);
    assert_status(NB_EOF, send_file(SOCKET, FILE_FD, (uint64_t)INT64_MAX + 1, ASKED, &moved));
}

/* macOS: "may send fewer bytes than requested. In this case, the number of bytes successfully
 * written is returned in *len, and the error EAGAIN"; the same of EINTR, and of both in FreeBSD's
 * sbytes. */
static void some_bytes_and_a_full_socket(void **state) {
    (void)state;
    PLAY({300, EAGAIN});
    assert_status(NB_AGAIN, status);
    assert_int_equal(300, moved);
}

static void some_bytes_and_an_interruption(void **state) {
    (void)state;
    PLAY({300, EINTR});
    assert_status(NB_OK, status);
    assert_int_equal(300, moved);
}

/* FreeBSD, EBUSY: "instead of blocking when a busy page is encountered". Only with SF_NODISKIO,
 * which is not set. */
static void a_busy_page(void **state) {
    (void)state;
    PLAY({0, EBUSY});
    assert_status(NB_AGAIN, status);
}

static void some_bytes_and_a_busy_page(void **state) {
    (void)state;
    PLAY({300, EBUSY});
    assert_status(NB_OK, status);
    assert_int_equal(300, moved);
}

/* EOPNOTSUPP: "The file system for descriptor fd does not support sendfile()". */
static void a_file_system_without_it(void **state) {
    (void)state;
    PLAY({0, EOPNOTSUPP});
    assert_status(NB_OK, status);
    assert_int_equal(ASKED / 2, moved);
    assert_int_equal(1, copies);
}

/* macOS ENOTSUP: "fd does not refer to a regular file". */
static void what_is_no_regular_file_to_macos(void **state) {
    (void)state;
    PLAY({0, ENOTSUP});
    assert_status(NB_OK, status);
    assert_int_equal(1, copies);
}

#if defined(__linux__)
/* "a successful call to sendfile() may write fewer bytes than requested": the socket is full, apart
 * from the case in sendfile.h. */
static void fewer_where_the_socket_is_full(void **state) {
    (void)state;
    PLAY({17, 0});
    assert_status(NB_AGAIN, status);
    assert_int_equal(17, moved);
}

/* "Applications may wish to fall back to read(2) and write(2) in the case where sendfile() fails
 * with EINVAL or ENOSYS"; EOVERFLOW: too large for it, as Yaws met on 32-bit systems. */
static void what_linux_cannot_map(void **state) {
    (void)state;
    static const int errors[] = {EINVAL, ENOSYS, EOVERFLOW};
    for (unsigned i = 0; i < 3; i++) {
        reply with = {0, errors[i]};
        size_t moved = UNTOUCHED;
        play(&with, 1);
        assert_status(NB_OK, send_file(SOCKET, FILE_FD, OFFSET, ASKED, &moved));
        assert_int_equal(1, copies);
        assert_int_equal(ASKED / 2, moved);
    }
}

/* "sendfile() will transfer at most 0x7ffff000 bytes, returning the number of bytes actually
 * transferred" */
static void more_than_linux_sends_at_once(void **state) {
    (void)state;
    static const reply with[] = {{0x7ffff000, 0}};
    size_t moved = UNTOUCHED;
    play(with, 1);
    assert_status(NB_OK, send_file(SOCKET, FILE_FD, OFFSET, (size_t)3 << 30, &moved));
    assert_int_equal(0x7ffff000, moved);
}
#endif

#define COMMON                                                                                                   \
    cmocka_unit_test(all_that_was_asked_for), cmocka_unit_test(nothing_without_an_error_is_the_end_of_the_file), \
        cmocka_unit_test(a_full_socket), cmocka_unit_test(an_interruption_before_the_first_byte),                \
        cmocka_unit_test(an_interruption_and_then_a_full_socket), cmocka_unit_test(the_peer_has_gone),           \
        cmocka_unit_test(the_disk_fails), cmocka_unit_test(no_system_call_for_what_no_file_has)

int main(void) {
    int failed = 0;
#if defined(__linux__)
    const struct CMUnitTest of_linux[] = {
        COMMON,
        cmocka_unit_test(fewer_where_the_socket_is_full),
        cmocka_unit_test(what_linux_cannot_map),
        cmocka_unit_test(more_than_linux_sends_at_once),
    };
    send_file = linux_os_sendfile;
    failed += cmocka_run_group_tests_name("Linux", of_linux, NULL, NULL);
#endif
    const struct CMUnitTest of_darwin[] = {
        COMMON,
        cmocka_unit_test(fewer_without_an_error),
        cmocka_unit_test(some_bytes_and_a_full_socket),
        cmocka_unit_test(some_bytes_and_an_interruption),
        cmocka_unit_test(a_file_system_without_it),
        cmocka_unit_test(what_is_no_regular_file_to_macos),
    };
    const struct CMUnitTest of_freebsd[] = {
        COMMON,
        cmocka_unit_test(fewer_without_an_error),
        cmocka_unit_test(some_bytes_and_a_full_socket),
        cmocka_unit_test(some_bytes_and_an_interruption),
        cmocka_unit_test(a_busy_page),
        cmocka_unit_test(some_bytes_and_a_busy_page),
        cmocka_unit_test(a_file_system_without_it),
    };
    send_file = darwin_os_sendfile;
    failed += cmocka_run_group_tests_name("macOS", of_darwin, NULL, NULL);
    send_file = freebsd_os_sendfile;
    failed += cmocka_run_group_tests_name("FreeBSD", of_freebsd, NULL, NULL);
    return failed;
}
