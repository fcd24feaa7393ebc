/*
 * libkqueue_faults.c - what libkqueue on Linux does otherwise than the kqueue(2) it stands in for,
 * shown without any code of ours.
 *
 * bin/matrix runs it beside the poller contract: it prints a line "FAULT name: what was seen" for
 * each, and a contract test that fails is excused only by a fault that was seen in the same run.
 * Systems with a kernel's own kqueue must print nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/epoll.h>
#include <sys/event.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int watch(int queue, int fd, int16_t filter) {
    struct kevent change;
    EV_SET(&change, (uintptr_t)fd, filter, EV_ADD, 0, 0, NULL);
    return kevent(queue, &change, 1, NULL, 0, NULL);
}

static int wait_for(int queue, long ns, struct kevent *got) {
    struct timespec timeout = {ns / 1000000000, ns % 1000000000};
    return kevent(queue, NULL, 0, got, 1, &timeout);
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* kqueue(2): a knote is named by ident and filter, so one descriptor may have one of each. */
static void second_filter(void) {
    int queue = kqueue(), ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || watch(queue, ends[0], EVFILT_READ) != 0) return;
    if (watch(queue, ends[0], EVFILT_WRITE) != 0)
        printf("FAULT second_filter: a descriptor watched for reading cannot be watched for writing too: %s\n",
               strerror(errno));
}

/* What a wake descriptor and a poller's own descriptor are on Linux. */
static void anonymous_inode(void) {
    int queue = kqueue();
    if (watch(queue, epoll_create1(0), EVFILT_READ) != 0)
        printf("FAULT anonymous_inode: an eventfd or epoll descriptor cannot be watched: %s\n", strerror(errno));
}

/* kqueue(2), EVFILT_WRITE: "the filter will set EV_EOF when the reader disconnects". */
static void reader_gone(void) {
    int queue = kqueue(), ends[2];
    struct kevent got;
    if (pipe(ends) != 0 || watch(queue, ends[1], EVFILT_WRITE) != 0) return;
    close(ends[0]);
    if (wait_for(queue, 1000000000, &got) != 1 || !(got.flags & EV_EOF))
        printf("FAULT reader_gone: a pipe's writer is not told that the reader has gone\n");
}

/* kqueue(2): the queue's descriptor is itself readable when an event is pending. */
static void silent_descriptor(void) {
    int queue = kqueue(), ends[2];
    struct pollfd probe = {.fd = queue, .events = POLLIN};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || watch(queue, ends[0], EVFILT_READ) != 0) return;
    if (write(ends[1], "x", 1) == 1 && poll(&probe, 1, 1000) != 1)
        printf("FAULT silent_descriptor: a queue's own descriptor is not readable when an event is pending\n");
}

static void early_return(void) {
    enum { ASKED_NS = 2500000 };
    int queue = kqueue();
    struct kevent got;
    for (int i = 0; i < 20; i++) {
        double before = now_ms();
        (void)wait_for(queue, ASKED_NS, &got);
        double waited = now_ms() - before;
        if (waited >= ASKED_NS / 1e6) continue;
        printf("FAULT early_return: a wait of %.1f ms ended after %.3f ms\n", ASKED_NS / 1e6, waited);
        return;
    }
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    second_filter();
    anonymous_inode();
    reader_gone();
    silent_descriptor();
    early_return();
    return 0;
}
