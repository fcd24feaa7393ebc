/*
 * test_descriptor_pipe.c - descriptors through a pipe of sockets: in order whatever is lost,
 * bounded, closed with its ends.
 */
#include "os/descriptor_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/leaks.h"
#include "support/test.h"

static int ends[2];
static unsigned descriptors_before;

static int setup(void **state) {
    (void)state;
    descriptors_before = nb_test_descriptors();
    assert_status(NB_OK, nb_descriptor_pipe_create(ends));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) close(ends[i]);
    }
    return nb_test_descriptors() == descriptors_before ? 0 : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A file that knows its number by its size. */
static int numbered(int number) {
    char name[] = "/tmp/nb-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(0, ftruncate(fd, number));
    return fd;
}

static int number_of(int fd) {
    struct stat found;
    assert_int_equal(0, fstat(fd, &found));
    close(fd);
    return (int)found.st_size;
}

static void send_numbered(int number) {
    int fd = numbered(number);
    assert_status(NB_OK, nb_descriptor_pipe_send(ends[0], fd));
    close(fd);
}

static void they_come_in_order_and_stay_the_senders_as_well(void **state) {
    (void)state;
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[1]));
    int fd = numbered(77);
    assert_status(NB_OK, nb_descriptor_pipe_send(ends[1], fd)); /* both ways */
    for (int i = 1; i <= 20; i++)
        send_numbered(i);
    for (int i = 1; i <= 20; i++) {
        int came = nb_descriptor_pipe_receive(ends[1]);
        assert_true(fcntl(came, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(i, number_of(came));
    }
    assert_int_equal(77, number_of(nb_descriptor_pipe_receive(ends[0])));
    assert_int_equal(77, number_of(fd));
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[1]));
}

static void one_that_is_full_takes_more_when_there_is_room(void **state) {
    (void)state;
    int fd = numbered(5), sent = 0, received = 0, came;
    nb_status status;
    while ((status = nb_descriptor_pipe_send(ends[0], fd)) == NB_OK)
        sent++;
    assert_status(NB_AGAIN, status);
    assert_true(sent > 10);
    while (received < sent / 2 && (came = nb_descriptor_pipe_receive(ends[1])) >= 0)
        received += number_of(came) == 5;
    assert_status(NB_OK, nb_descriptor_pipe_send(ends[0], fd));
    close(fd);
    while ((came = nb_descriptor_pipe_receive(ends[1])) >= 0)
        received += number_of(came) == 5;
    assert_int_equal(sent + 1, received);
}

/* What the receiver has no descriptor for is lost; those after it keep their places. */
static void a_receiver_without_a_free_descriptor_loses_that_one_only(void **state) {
    (void)state;
    struct rlimit before, full;
    for (int i = 1; i <= 3; i++)
        send_numbered(i);
    assert_int_equal(1, number_of(nb_descriptor_pipe_receive(ends[1])));
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    full = before;
    full.rlim_cur = 3;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &full));
    int lost = nb_descriptor_pipe_receive(ends[1]);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
    assert_int_equal(-1, lost);
    assert_int_equal(3, number_of(nb_descriptor_pipe_receive(ends[1])));
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[1]));
}

static void two_in_one_message_are_taken_as_one_and_none_is_left_open(void **state) {
    (void)state;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } carried;
    int both[2] = {numbered(1), numbered(2)};
    char byte = 0;
    struct iovec data = {&byte, 1};
    memset(&carried, 0, sizeof carried);
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = carried.bytes, .msg_controllen = sizeof carried.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), both, sizeof both);
    assert_int_equal(1, sendmsg(ends[0], &message, 0));
    close(both[0]);
    close(both[1]);
    send_numbered(3);
    int came = nb_descriptor_pipe_receive(ends[1]); /* of such a message it is not said which */
    if (came >= 0) close(came);
    assert_int_equal(3, number_of(nb_descriptor_pipe_receive(ends[1])));
}

static void a_byte_without_a_descriptor_is_one_lost(void **state) {
    (void)state;
    assert_int_equal(2, send(ends[0], "ab", 2, 0));
    send_numbered(3);
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[1]));
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[1]));
    assert_int_equal(3, number_of(nb_descriptor_pipe_receive(ends[1])));
}

/* What lies in it is closed with it: the teardown counts, and the other end of a pipe sees it. */
static void a_closed_end_is_told_and_what_was_never_received_is_closed(void **state) {
    (void)state;
    int channel[2];
    char byte;
    assert_int_equal(0, pipe(channel));
    assert_status(NB_OK, nb_descriptor_pipe_send(ends[0], channel[1]));
    close(channel[1]);
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(0, read(channel[0], &byte, 1)); /* the last writer is gone */
    close(channel[0]);
    assert_status(NB_SYSTEM, nb_descriptor_pipe_send(ends[0], 0));
    assert_int_equal(-1, nb_descriptor_pipe_receive(ends[0]));
    assert_status(NB_SYSTEM, nb_descriptor_pipe_send(-1, 0));
}

static void without_descriptors_none_is_made(void **state) {
    (void)state;
    struct rlimit before, full;
    int none[2];
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    full = before;
    full.rlim_cur = 3;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &full));
    nb_status status = nb_descriptor_pipe_create(none);
    int error = errno;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EMFILE, error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(they_come_in_order_and_stay_the_senders_as_well),
        CASE(one_that_is_full_takes_more_when_there_is_room),
        CASE(a_receiver_without_a_free_descriptor_loses_that_one_only),
        CASE(two_in_one_message_are_taken_as_one_and_none_is_left_open),
        CASE(a_byte_without_a_descriptor_is_one_lost),
        CASE(a_closed_end_is_told_and_what_was_never_received_is_closed),
        CASE(without_descriptors_none_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
