// An open-loop load generator: sends each request of a schedule at its time on a free connection, whether or not earlier ones were answered, and reports
// when each was due, sent and answered. So a server that is late for one request is charged for all that came meanwhile (no coordinated omission: the caller
// counts from the time a request was due). Linux: epoll and a timerfd.
//
//   open_loop HOST PORT CONNECTIONS GRACE_SECONDS < SCHEDULE
//
// SCHEDULE: lines "DUE_US PATH", in the order of their times. Output: a line for each, "DUE_US SENT_US DONE_US STATUS WORKER", times from the start; STATUS is
// 0 where no answer came, WORKER is the answer's X-Worker, 0 without one.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES_MAX = 16384, PATH_BYTES_MAX = 128, EVENTS_MAX = 256, NONE = -1 };

struct job {
    int64_t due_us, sent_us, done_us;
    int status;
    long worker;
    char path[PATH_BYTES_MAX];
};

// A kept connection. job: what it carries, NONE: free.
struct connection {
    int fd, job;
    size_t have;
    char head[HEAD_BYTES_MAX + 1];
};

static struct job *jobs;
static int jobs_count;
static struct connection *connections;
static int connections_count;
static int *free_list;
static int free_count;
static int poller;
static int64_t epoch_us;
static struct sockaddr_in address;
static uint64_t randomness = 88172645463325252u;

static void die(const char *what) {
    fprintf(stderr, "open_loop: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - epoch_us;
}

// xorshift64 (Marsaglia 2003).
static uint32_t random_below(uint32_t bound) {
    randomness ^= randomness << 13;
    randomness ^= randomness >> 7;
    randomness ^= randomness << 17;
    return (uint32_t)((randomness >> 32) % bound);
}

static void read_schedule(void) {
    int room = 0;
    long long due;
    char path[PATH_BYTES_MAX];
    while (scanf("%lld %127s", &due, path) == 2) {
        if (jobs_count == room) {
            room = room ? room * 2 : 1024;
            jobs = realloc(jobs, (size_t)room * sizeof(*jobs));
            if (!jobs) die("memory");
        }
        struct job *job = &jobs[jobs_count++];
        *job = (struct job){.due_us = due, .sent_us = NONE, .done_us = NONE};
        memcpy(job->path, path, sizeof(path));
    }
}

static void open_connection(int number) {
    struct connection *connection = &connections[number];
    int on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) < 0) die("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fcntl(connection->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event) < 0) die("epoll_ctl");
    connection->job = NONE;
    free_list[free_count++] = number;
}

// The answer is whole (status above 0), or there will be none.
static void finish(int number, int status, long worker) {
    struct connection *connection = &connections[number];
    struct job *job = &jobs[connection->job];
    job->done_us = now_us();
    job->status = status;
    job->worker = worker;
    connection->job = NONE;
    free_list[free_count++] = number;
}

static void reopen(int number) {
    struct connection *connection = &connections[number];
    close(connection->fd);
    if (connection->job != NONE) {
        finish(number, 0, 0);
        free_count--;
    } else {
        for (int i = 0; i < free_count; i++)
            if (free_list[i] == number) free_list[i] = free_list[--free_count];
    }
    open_connection(number);
}

// Any client is as likely to be the next as any other: a random one of the free connections.
static void send_job(int index) {
    uint32_t place = random_below((uint32_t)free_count);
    int number = free_list[place];
    free_list[place] = free_list[--free_count];
    struct connection *connection = &connections[number];
    struct job *job = &jobs[index];
    char request[PATH_BYTES_MAX + 64];
    int bytes = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", job->path);
    connection->job = index;
    connection->have = 0;
    job->sent_us = now_us();
    if (write(connection->fd, request, (size_t)bytes) != bytes) reopen(number);
}

static const char *field(const char *head, const char *name) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n"))
        if (!strncasecmp(line + 2, name, length)) return line + 2 + length;
    return NULL;
}

// @return whether the chunks from at on end with the last one (RFC 9112, 7.1); trailers are not read
static bool chunks_are_whole(const char *at, const char *end) {
    for (;;) {
        const char *line_end = strstr(at, "\r\n");
        if (!line_end) return false;
        long bytes = strtol(at, NULL, 16);
        if (bytes < 0 || bytes > end - line_end - 4) return false;
        if (bytes == 0) return true;
        at = line_end + 2 + bytes + 2;
    }
}

// @return the status once the answer is whole, 0 while it is not, NONE when it cannot be read
static int answer_status(struct connection *connection, long *worker) {
    connection->head[connection->have] = 0;
    const char *end = strstr(connection->head, "\r\n\r\n");
    if (!end) return connection->have == HEAD_BYTES_MAX ? NONE : 0;
    const char *length = field(connection->head, "content-length:");
    const char *body = end + 4, *received = connection->head + connection->have;
    if (!length && !field(connection->head, "transfer-encoding: chunked")) return NONE;
    if (length ? received - body < atoll(length) : !chunks_are_whole(body, received)) return 0;
    const char *who = field(connection->head, "x-worker:");
    *worker = who ? atol(who) : 0;
    return atoi(connection->head + 9);
}

static void receive(int number) {
    struct connection *connection = &connections[number];
    ssize_t got = read(connection->fd, connection->head + connection->have, HEAD_BYTES_MAX - connection->have);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || connection->job == NONE) {
        reopen(number);
        return;
    }
    connection->have += (size_t)got;
    long worker = 0;
    int status = answer_status(connection, &worker);
    if (status == NONE)
        reopen(number);
    else if (status)
        finish(number, status, worker);
}

static void arm(int timer, int64_t at_us) {
    int64_t absolute = at_us + epoch_us;
    struct itimerspec when = {.it_value = {.tv_sec = absolute / 1000000, .tv_nsec = absolute % 1000000 * 1000}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void run(int64_t grace_us) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = UINT32_MAX}, events[EVENTS_MAX];
    if (timer < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event) < 0) die("timerfd");
    int next = 0;
    int64_t limit_us = jobs[jobs_count - 1].due_us + grace_us;
    epoch_us = now_us();
    while (now_us() < limit_us && (next < jobs_count || free_count < connections_count)) {
        while (next < jobs_count && free_count > 0 && jobs[next].due_us <= now_us())
            send_job(next++);
        arm(timer, next < jobs_count && free_count > 0 ? jobs[next].due_us : limit_us);
        int count = epoll_wait(poller, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            uint64_t fired;
            if (events[i].data.u32 != UINT32_MAX)
                receive((int)events[i].data.u32);
            else if (read(timer, &fired, sizeof(fired)) < 0 && errno != EAGAIN)
                die("timer");
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "usage: open_loop HOST PORT CONNECTIONS GRACE_SECONDS < SCHEDULE\n"), 2;
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(argv[2]));
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
        return fprintf(stderr, "open_loop: HOST is an IPv4 address\n"), 2;
    connections_count = atoi(argv[3]);
    read_schedule();
    poller = epoll_create1(EPOLL_CLOEXEC);
    connections = calloc((size_t)connections_count, sizeof(*connections));
    free_list = calloc((size_t)connections_count, sizeof(*free_list));
    if (jobs_count == 0 || connections_count < 1 || poller < 0 || !connections || !free_list)
        die("nothing to do, or no memory");
    for (int number = 0; number < connections_count; number++)
        open_connection(number);
    run(atoll(argv[4]) * 1000000);
    for (int i = 0; i < jobs_count; i++)
        printf("%lld %lld %lld %d %ld\n", (long long)jobs[i].due_us, (long long)jobs[i].sent_us,
               (long long)jobs[i].done_us, jobs[i].status, jobs[i].worker);
    return 0;
}
