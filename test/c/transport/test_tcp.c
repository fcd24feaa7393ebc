/*
 * test_tcp.c - the TCP transport: each function of its table over a pair of sockets.
 */
#include "transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/file.h"
#include "support/test.h"

typedef struct pair {
    nb_transport near;
    int far;
} pair;

static pair new_pair(void) {
    int ends[2];
    pair p;
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    nb_transport_tcp_init(&p.near, ends[0]);
    p.far = ends[1];
    return p;
}

static void bytes_go_and_come(void **state) {
    (void)state;
    pair p = new_pair();
    char bytes[16];
    size_t moved = 99;
    struct iovec parts[] = {{(void *)"ab", 2}, {(void *)"cde", 3}};
    assert_status(NB_AGAIN, p.near.kind->read(&p.near, bytes, sizeof bytes, &moved));
    assert_int_equal(99, moved);
    assert_status(NB_OK, p.near.kind->writev(&p.near, parts, 2, 0, &moved));
    assert_int_equal(5, moved);
    assert_int_equal(5, read(p.far, bytes, sizeof bytes));
    assert_memory_equal("abcde", bytes, 5);
    assert_int_equal(3, write(p.far, "xyz", 3));
    assert_status(NB_OK, p.near.kind->read(&p.near, bytes, 2, &moved));
    assert_int_equal(2, moved);
    p.near.kind->close(&p.near, 0);
    assert_int_equal(-1, p.near.fd);
    close(p.far);
}

static void a_file_range_goes(void **state) {
    (void)state;
    pair p = new_pair();
    int fd;
    char bytes[16];
    size_t moved;
    assert_status(NB_OK, nb_file_temporary("/tmp", &fd));
    assert_status(NB_OK, nb_file_write_all(fd, "0123456789", 10));
    assert_status(NB_OK, p.near.kind->sendfile(&p.near, fd, 3, 4, &moved));
    assert_int_equal(4, moved);
    assert_int_equal(4, read(p.far, bytes, sizeof bytes));
    assert_memory_equal("3456", bytes, 4);
    assert_status(NB_EOF, p.near.kind->sendfile(&p.near, fd, 10, 1, &moved));
    close(fd);
    p.near.kind->close(&p.near, 0);
    close(p.far);
}

static void finishing_ends_our_side_alone(void **state) {
    (void)state;
    pair p = new_pair();
    char byte;
    size_t moved;
    p.near.kind->finish(&p.near);
    assert_int_equal(0, read(p.far, &byte, 1));
    assert_int_equal(1, write(p.far, "x", 1));
    assert_status(NB_OK, p.near.kind->read(&p.near, &byte, 1, &moved));
    struct iovec part = {&byte, 1};
    /* And no SIGPIPE. */
    assert_status(NB_SYSTEM, p.near.kind->writev(&p.near, &part, 1, 0, &moved));
    assert_int_equal(EPIPE, errno);
    close(p.far);
    assert_status(NB_EOF, p.near.kind->read(&p.near, &byte, 1, &moved));
    p.near.kind->close(&p.near, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_and_come),
        cmocka_unit_test(a_file_range_goes),
        cmocka_unit_test(finishing_ends_our_side_alone),
    };
    nb_test_alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
