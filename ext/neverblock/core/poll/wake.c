/*
 * wake.c - waking a thread that sleeps in a poller: an eventfd(2) on Linux, a self-pipe elsewhere.
 */
#include "poll/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "poll/poll_internal.h"

#if defined(__linux__)
#include <sys/eventfd.h>

nb_status nb_wake_init(nb_wake *wake) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return NB_SYSTEM;
    *wake = (nb_wake){.read_fd = fd, .write_fd = fd};
    return NB_OK;
}
#else
static int prepare(int fd) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -1;
    return fcntl(fd, F_SETFL, O_NONBLOCK);
}

nb_status nb_wake_init(nb_wake *wake) {
    int ends[2];
    if (pipe(ends) < 0) return NB_SYSTEM;
    if (prepare(ends[0]) < 0 || prepare(ends[1]) < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return NB_SYSTEM;
    }
    *wake = (nb_wake){.read_fd = ends[0], .write_fd = ends[1]};
    return NB_OK;
}
#endif

void nb_wake_deinit(nb_wake *wake) {
    if (wake->write_fd >= 0 && wake->write_fd != wake->read_fd) close(wake->write_fd);
    if (wake->read_fd >= 0) close(wake->read_fd);
    *wake = (nb_wake){.read_fd = -1, .write_fd = -1};
}

/* An eventfd takes eight bytes, and so does a pipe. errno is kept for the code that a signal
   handler has interrupted. */
bool nb_wake_signal(const nb_wake *wake) {
    const uint64_t one = 1;
    int error = errno;
    ssize_t written;
    do {
        written = write(wake->write_fd, &one, sizeof one);
    } while (written < 0 && errno == EINTR);
    bool there = written >= 0 || errno != EBADF;
    errno = error;
    return there;
}

/* An eventfd is empty after one read, a pipe after a read that does not fill the buffer. */
void nb_wake_clear(const nb_wake *wake) {
    char drained[512];
    ssize_t got;
    int error = errno;
    do {
        got = read(wake->read_fd, drained, sizeof drained);
    } while (got == (ssize_t)sizeof drained || (got < 0 && errno == EINTR));
    errno = error;
}

#if defined(__linux__)
static int wait_for(struct pollfd *watched, size_t count, int64_t timeout_ns) {
    struct timespec timeout = {(time_t)(timeout_ns / NB_NS_PER_S), (long)(timeout_ns % NB_NS_PER_S)};
    return ppoll(watched, (nfds_t)count, timeout_ns < 0 ? NULL : &timeout, NULL);
}
#else
static int wait_for(struct pollfd *watched, size_t count, int64_t timeout_ns) {
    return poll(watched, (nfds_t)count, nb_poll_timeout_ms(timeout_ns));
}
#endif

void nb_wake_wait_beside(const nb_wake *wake, struct pollfd *watched, size_t count, int64_t timeout_ns) {
    watched[0] = (struct pollfd){.fd = wake->read_fd, .events = POLLIN};
    if (wait_for(watched, count, timeout_ns) <= 0) {
        for (size_t i = 0; i < count; i++)
            watched[i].revents = 0; /* a call that a signal has interrupted does not set them */
    } else if (watched[0].revents) {
        nb_wake_clear(wake);
    }
}

void nb_wake_wait(const nb_wake *wake, int64_t timeout_ns) {
    struct pollfd watched;
    nb_wake_wait_beside(wake, &watched, 1, timeout_ns);
}
