/*
 * descriptor_pipe.c - see descriptor_pipe.h.
 */
#include "os/descriptor_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef MSG_CMSG_CLOEXEC
#define RECEIVE_FLAGS MSG_CMSG_CLOEXEC
#else
#define RECEIVE_FLAGS 0
#endif
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

static int prepare(int fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -1;
#ifdef SO_NOSIGPIPE
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
#endif
    return fcntl(fd, F_SETFL, O_NONBLOCK);
}

nb_status nb_descriptor_pipe_create(int ends[2]) {
    ends[0] = ends[1] = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return NB_SYSTEM;
    if (prepare(ends[0]) == 0 && prepare(ends[1]) == 0) return NB_OK;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return NB_SYSTEM;
}

nb_status nb_descriptor_pipe_send(int end, int fd) {
    char byte = 0;
    control carried;
    memset(&carried, 0, sizeof(carried));
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = carried.bytes, .msg_controllen = sizeof(carried.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    ssize_t sent;
    do {
        sent = sendmsg(end, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent == 1) return NB_OK;
    /* ETOOMANYREFS: as many descriptors are in transit as the user may have open (unix(7)). */
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS ? NB_AGAIN : NB_SYSTEM;
}

int nb_descriptor_pipe_receive(int end) {
    char byte;
    control carried;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = carried.bytes, .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t got; /* room for one descriptor only: the padding would hold another */
    do {
        got = recvmsg(end, &message, RECEIVE_FLAGS);
    } while (got < 0 && errno == EINTR);
    if (got != 1) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    /* This process has no descriptor left for it. */
    if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    if (!RECEIVE_FLAGS) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}
