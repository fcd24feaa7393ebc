// Clients that download: each asks for one file after the other, no faster than its rate, and compares what comes with the file itself, byte by byte (which is
// stronger than a checksum, and cheaper). The files are mapped: they are the pages that the server sends. Linux: epoll.
//
//   downloads < PLAN
//
// PLAN: lines "NAME VALUE"; `file` may come again. Times are seconds, rates bytes a second.
//   server ADDRESS PORT   IPv4
//   clients N             that download; started evenly over `ramp`
//   rate N                of each client; 0: as fast as it can
//   ramp S, seconds S     nothing of the first is counted; what is counted lasts `seconds`
//   downloads N           it ends when in each process so many have ended, well or not; 0: only when the time is over
//   stopped N             further clients that ask for the last file, read STOPPED_BYTES of it and no more
//   fresh 0|1             1: a connection for each download ("Connection: close"), 0: kept ones
//   check N               every Nth download of a client is compared, the others only counted and their heads checked; 0: none
//   hangups N             of 1000 downloads, so many end by a reset in the middle of the body
//   sources N             loopback addresses that the clients come from (127.0.0.2 and on; 0: whichever)
//   processes N           that share the clients
//   seed N                the order in which each client asks for the files: all of them once, then all again in another order
//   type TEXT             what Content-Type has to be; without it any
//   file DISK_PATH URL_PATH LAST_MODIFIED   the last words as in the header
// Output: "begin" when counting begins; a line "error TEXT" for the first of each process; "bench-json {...}" at the end.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    FILES_MAX = 32,
    TEXT_BYTES_MAX = 256,
    HEAD_BYTES_MAX = 8192,
    EVENTS_MAX = 256,
    PROCESSES_MAX = 16,
    ERROR_LINES_MAX = 5,    // of each process
    READ_BYTES = 128 << 10, // at once: fits a core's second cache together with what it is compared to
    // A throttled client reads when it may read so much, and saves up at most twice that: 1 MB/s is 20 reads a second.
    QUANTUM_BYTES = 50000,
    // What such a client's kernel takes ahead of it: a quarter of a second at 1 MB/s. The kernel's own choice would be megabytes, and small files would
    // never meet a limit.
    RECEIVE_BUFFER_BYTES = 128 << 10,
    STOPPED_BYTES = 20000,
    SLICES = 32, // of each power of two in a histogram: 3 %
    BUCKETS = 40 * SLICES,
    SECOND_US = 1000000,
    // Nothing of a body for so long is an error: every algorithm comes round to each of a few hundred clients much sooner.
    STALL_US = 60 * SECOND_US,
    RETRY_US = 100000, // after a connection that failed
};

enum error { E_CONNECT, E_STATUS, E_HEADER, E_BYTES, E_SHORT, E_LONG, E_RESET, E_STALLED, ERRORS };
static const char *const error_names[ERRORS] = {"connect", "status", "header", "bytes",
                                                "short",   "long",   "reset",  "stalled"};

struct file {
    char disk[TEXT_BYTES_MAX], url[TEXT_BYTES_MAX], modified[TEXT_BYTES_MAX], etag[TEXT_BYTES_MAX];
    const uint8_t *content;
    int64_t size;
};

static struct {
    struct sockaddr_in server;
    int clients, stopped, downloads, check, hangups, sources, processes;
    int64_t rate, ramp_us, seconds_us;
    uint64_t seed;
    bool fresh;
    char type[TEXT_BYTES_MAX];
    struct file files[FILES_MAX];
    int files_count;
} plan = {.processes = 1, .check = 1, .seconds_us = SECOND_US};

enum state { PAUSED, CONNECTING, HEAD, BODY, STOPPED };

struct client {
    int fd, number, place; // place: in `order`
    enum state state;
    bool stops, compared, armed; // armed: epoll tells when there is something to read
    uint8_t order[FILES_MAX];
    struct file *file;
    int64_t downloads, got, hangup_at; // got: of the body
    int64_t asked_us, first_us, last_us, due_us;
    int64_t tokens, filled_us;
    uint64_t randomness;
    size_t have;
    char head[HEAD_BYTES_MAX + 1];
};

struct histogram {
    uint64_t count, sum_us, max_us, buckets[BUCKETS];
};

// What a process counted; in memory that it shares with its parent.
struct counts {
    uint64_t requests, bytes, compared_bytes, top_bytes, top_us, hangups, waiting, cpu_us, longest_pause_us,
        stopped_open, stopped_closed, counted_us, standstill_us;
    uint64_t errors[ERRORS], by_file[FILES_MAX];
    struct histogram first, whole;
};

static struct counts *counts;
static struct client *clients;
static int clients_count;
static int poller;
static int64_t begin_us, end_us;
static int error_lines;
static int ended; // downloads, well or not; of those that stop: when they do
static uint8_t scratch[READ_BYTES];

static void die(const char *what) {
    printf("error downloads: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

static bool counting(int64_t now) { return now >= begin_us && now < end_us; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// xorshift64 (Marsaglia 2003).
static uint64_t random_below(struct client *client, uint64_t bound) {
    client->randomness ^= client->randomness << 13;
    client->randomness ^= client->randomness >> 7;
    client->randomness ^= client->randomness << 17;
    return (client->randomness >> 11) % bound;
}

static int bucket_of(uint64_t us) {
    if (us < SLICES) return (int)us;
    int power = 63 - __builtin_clzll(us), shift = power - 5; // 2^5 slices
    int bucket = (shift + 1) * SLICES + (int)((us >> shift) - SLICES);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

// The highest value of a bucket.
static uint64_t bucket_limit(int bucket) {
    if (bucket < SLICES) return (uint64_t)bucket;
    int shift = bucket / SLICES - 1;
    return (((uint64_t)(bucket % SLICES) + SLICES + 1) << shift) - 1;
}

static void histogram_add(struct histogram *histogram, int64_t us) {
    uint64_t value = (uint64_t)larger(us, 0);
    histogram->count++;
    histogram->sum_us += value;
    if (value > histogram->max_us) histogram->max_us = value;
    histogram->buckets[bucket_of(value)]++;
}

static uint64_t histogram_at(const struct histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)(share * (double)histogram->count + 0.999999), seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= wanted && seen > 0)
            return bucket_limit(i) < histogram->max_us ? bucket_limit(i) : histogram->max_us;
    }
    return histogram->max_us;
}

// --- a client's downloads ---

static void listen_for(struct client *client, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = client};
    client->armed = events & EPOLLIN;
    if (epoll_ctl(poller, EPOLL_CTL_MOD, client->fd, &event) < 0) die("epoll_ctl");
}

// @param after_us when it asks again
static void pause_client(struct client *client, int64_t after_us) {
    if (client->fd >= 0) close(client->fd);
    client->fd = -1;
    client->armed = false;
    client->state = PAUSED;
    client->due_us = now_us() + after_us;
}

// The time of a body that falls into what is counted.
static void count_top_time(const struct client *client, int64_t now) {
    if (client->file != &plan.files[plan.files_count - 1] || client->stops || !client->first_us) return;
    counts->top_us += (uint64_t)larger(0, smaller(now, end_us) - larger(client->first_us, begin_us));
}

static void fail(struct client *client, enum error kind, const char *detail) {
    counts->errors[kind]++;
    ended++;
    if (error_lines++ < ERROR_LINES_MAX)
        printf("error %s: %s client %d, %s at %lld of %lld: %s\n", error_names[kind],
               client->stops ? "stopped" : "downloading", client->number, client->file->url, (long long)client->got,
               (long long)client->file->size, detail);
    fflush(stdout);
    count_top_time(client, now_us());
    pause_client(client, RETRY_US);
}

static void next_file(struct client *client) {
    if (client->stops) {
        client->file = &plan.files[plan.files_count - 1];
        return;
    }
    int place = client->place++ % plan.files_count;
    for (int i = plan.files_count - 1; place == 0 && i > 0; i--) { // Fisher and Yates
        int other = (int)random_below(client, (uint64_t)i + 1);
        uint8_t kept = client->order[i];
        client->order[i] = client->order[other];
        client->order[other] = kept;
    }
    client->file = &plan.files[client->order[place]];
}

static void send_request(struct client *client) {
    char request[TEXT_BYTES_MAX * 2];
    int bytes = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", client->file->url,
                         plan.fresh ? "Connection: close\r\n" : "");
    client->state = HEAD;
    client->have = 0;
    if (send(client->fd, request, (size_t)bytes, MSG_NOSIGNAL) != bytes)
        fail(client, E_RESET, "the request could not be sent");
    else if (!client->armed)
        listen_for(client, EPOLLIN);
}

static void start_connection(struct client *client) {
    int on = 1, bytes = RECEIVE_BUFFER_BYTES;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (client->fd < 0) die("socket");
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (plan.rate || client->stops) setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (plan.sources) {
        struct sockaddr_in own = {
            .sin_family = AF_INET,
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(client->number % plan.sources))};
        setsockopt(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
        if (bind(client->fd, (struct sockaddr *)&own, sizeof(own)) < 0) die("bind");
    }
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = client};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, client->fd, &event) < 0) die("epoll_ctl");
    client->state = CONNECTING;
    if (connect(client->fd, (struct sockaddr *)&plan.server, sizeof(plan.server)) < 0 && errno != EINPROGRESS)
        fail(client, E_CONNECT, strerror(errno));
}

static void start_download(struct client *client) {
    next_file(client);
    client->compared = plan.check && client->downloads++ % plan.check == 0;
    client->got = client->first_us = 0;
    client->hangup_at = random_below(client, 1000) < (uint64_t)plan.hangups
                            ? 1 + (int64_t)random_below(client, (uint64_t)larger(client->file->size, 1))
                            : INT64_MAX;
    client->asked_us = client->last_us = now_us();
    if (client->fd >= 0)
        send_request(client);
    else
        start_connection(client);
}

static void finish_connecting(struct client *client) {
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
        fail(client, E_CONNECT, strerror(error ? error : errno));
    else
        send_request(client);
}

static void hang_up(struct client *client) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    counts->hangups++;
    ended++;
    count_top_time(client, now_us());
    pause_client(client, 0);
}

static void finish_download(struct client *client, int64_t now) {
    ended++;
    if (counting(now)) {
        counts->requests++;
        counts->by_file[client->file - plan.files]++;
        histogram_add(&counts->whole, now - client->asked_us);
    }
    count_top_time(client, now);
    if (plan.fresh)
        pause_client(client, 0);
    else
        client->state = PAUSED, client->due_us = now;
    start_download(client);
}

// The first of a download's body, or more of it.
static void count_bytes(struct client *client, int64_t bytes, int64_t now) {
    if (!client->first_us) {
        client->first_us = now;
        if (counting(now)) histogram_add(&counts->first, now - client->asked_us);
    } else if (counting(now) && now - client->last_us > (int64_t)counts->longest_pause_us) {
        counts->longest_pause_us = (uint64_t)(now - client->last_us);
    }
    client->last_us = now;
    client->tokens -= bytes;
    if (!counting(now)) return;
    counts->bytes += (uint64_t)bytes;
    if (client->compared) counts->compared_bytes += (uint64_t)bytes;
    if (client->file == &plan.files[plan.files_count - 1]) counts->top_bytes += (uint64_t)bytes;
}

static void report_difference(struct client *client, const uint8_t *bytes, int64_t count) {
    const uint8_t *wanted = client->file->content + client->got;
    int64_t at = 0;
    while (at < count && bytes[at] == wanted[at])
        at++;
    char text[TEXT_BYTES_MAX];
    snprintf(text, sizeof(text), "byte %lld is %d and not %d", (long long)(client->got + at), bytes[at], wanted[at]);
    fail(client, E_BYTES, text);
}

static void take_stopped(struct client *client, int64_t count) {
    client->got += count;
    if (client->got < STOPPED_BYTES && client->got < client->file->size) return;
    client->state = STOPPED;
    ended++;
    listen_for(client, 0); // a reset is told all the same
}

static void take_counted(struct client *client, int64_t count) {
    int64_t now = now_us();
    if (count > 0) count_bytes(client, count, now);
    client->got += count;
    if (client->got >= client->hangup_at)
        hang_up(client);
    else if (client->got == client->file->size)
        finish_download(client, now);
}

// @param bytes NULL: not kept, only counted
static void take_body(struct client *client, const uint8_t *bytes, int64_t count) {
    if (count > client->file->size - client->got)
        fail(client, E_LONG, "there is more than was announced");
    else if (bytes && memcmp(bytes, client->file->content + client->got, (size_t)count) != 0)
        report_difference(client, bytes, count);
    else if (client->stops)
        take_stopped(client, count);
    else
        take_counted(client, count);
}

// --- heads ---

// @return the value of the `nth` field of that name (from 0), its length in `length`; NULL: there is none
static const char *field(const char *head, const char *name, int nth, int *length) {
    size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, size) != 0 || line[2 + size] != ':' || nth-- > 0) continue;
        const char *value = line + 3 + size + strspn(line + 3 + size, " \t");
        *length = (int)strcspn(value, "\r");
        return value;
    }
    return NULL;
}

static bool field_is(const char *head, const char *name, const char *wanted) {
    int length = 0;
    const char *value = field(head, name, 0, &length);
    return value && (size_t)length == strlen(wanted) && memcmp(value, wanted, (size_t)length) == 0 &&
           !field(head, name, 1, &length);
}

// A strong tag, the same for each download of the file; the first one is learned.
static bool etag_holds(const char *head, struct file *file) {
    int length = 0;
    const char *value = field(head, "etag", 0, &length);
    if (!value || length < 2 || length >= TEXT_BYTES_MAX || value[0] != '"' || value[length - 1] != '"') return false;
    if (!file->etag[0]) memcpy(file->etag, value, (size_t)length);
    return field_is(head, "etag", file->etag);
}

// @return what is wrong, NULL when nothing is
static const char *head_fault(const char *head, struct file *file) {
    char size[32];
    int length = 0;
    snprintf(size, sizeof(size), "%lld", (long long)file->size);
    if (!field_is(head, "content-length", size)) return "Content-Length is not the file's size";
    if (field(head, "transfer-encoding", 0, &length) || field(head, "content-encoding", 0, &length))
        return "it is encoded";
    if (!field_is(head, "last-modified", file->modified)) return "Last-Modified is not the file's";
    if (plan.type[0] && !field_is(head, "content-type", plan.type)) return "Content-Type is not the file's";
    if (!field(head, "date", 0, &length)) return "there is no Date";
    return etag_holds(head, file) ? NULL : "ETag is missing, weak, or another than before";
}

static void take_head(struct client *client, size_t head_bytes) {
    const char *fault = head_fault(client->head, client->file);
    if (strncmp(client->head, "HTTP/1.1 200 ", 13) != 0) {
        client->head[strcspn(client->head, "\r")] = 0;
        fail(client, E_STATUS, client->head);
    } else if (fault) {
        fail(client, E_HEADER, fault);
    } else {
        size_t rest = client->have - head_bytes;
        client->state = BODY;
        if (rest || client->file->size == 0)
            take_body(client, client->compared ? (uint8_t *)client->head + head_bytes : NULL, (int64_t)rest);
    }
}

// --- reading ---

static void receive_head(struct client *client) {
    ssize_t got = recv(client->fd, client->head + client->have, HEAD_BYTES_MAX - client->have, 0);
    if (got < 0 && errno == EAGAIN) return;
    client->have += (size_t)larger(got, 0);
    client->head[client->have] = 0;
    const char *end = memmem(client->head, client->have, "\r\n\r\n", 4);
    if (got <= 0)
        fail(client, E_RESET, got ? strerror(errno) : "closed before the head was whole");
    else if (end)
        take_head(client, (size_t)(end + 4 - client->head));
    else if (client->have == HEAD_BYTES_MAX)
        fail(client, E_HEADER, "the head has no end");
}

// What a throttled client may read now; READ_BYTES for the others.
static int64_t allowed_bytes(struct client *client, int64_t now) {
    if (!plan.rate) return READ_BYTES;
    client->tokens = smaller(client->tokens + (now - client->filled_us) * plan.rate / SECOND_US, 2 * QUANTUM_BYTES);
    client->filled_us = now;
    int64_t quantum = smaller(QUANTUM_BYTES, client->file->size - client->got);
    if (client->tokens >= quantum) return smaller(client->tokens, READ_BYTES);
    client->due_us = now + (quantum - client->tokens) * SECOND_US / plan.rate + 1;
    return 0;
}

static void receive_body(struct client *client) {
    int64_t allowed = client->stops ? STOPPED_BYTES - client->got : allowed_bytes(client, now_us());
    if (allowed <= 0) {
        if (client->armed) listen_for(client, 0);
        return;
    }
    ssize_t got = client->compared ? recv(client->fd, scratch, (size_t)allowed, 0)
                                   : recv(client->fd, NULL, (size_t)allowed, MSG_TRUNC);
    if (got > 0)
        take_body(client, client->compared ? scratch : NULL, got);
    else if (got == 0)
        fail(client, E_SHORT, "closed before the body was whole");
    else if (errno != EAGAIN)
        fail(client, E_RESET, strerror(errno));
    else if (!client->armed)
        listen_for(client, EPOLLIN);
}

static void take_event(struct client *client) {
    if (client->state == CONNECTING) {
        finish_connecting(client);
    } else if (client->state == HEAD) {
        receive_head(client);
    } else if (client->state == BODY) {
        receive_body(client);
    } else if (client->state == STOPPED) { // the server has given it up: another one comes
        counts->stopped_closed++;
        pause_client(client, RETRY_US);
    }
}

// Whether it goes on by the clock and not by what comes.
static bool waits(const struct client *client) {
    return client->state == PAUSED || (client->state == BODY && !client->armed);
}

// Those whose time has come: to begin, to read on, to be given up. @return when the next one's comes
static int64_t take_due(int64_t now) {
    int64_t next = now + RETRY_US;
    for (struct client *client = clients; client < clients + clients_count; client++) {
        if (client->state == BODY && client->first_us && now - client->last_us > STALL_US)
            fail(client, E_STALLED, "nothing came for a minute");
        if (!waits(client)) continue;
        if (client->due_us <= now && client->state == PAUSED)
            start_download(client);
        else if (client->due_us <= now)
            receive_body(client);
        if (waits(client)) next = smaller(next, client->due_us);
    }
    return next;
}

static uint64_t own_cpu_us(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND_US + used.ru_utime.tv_usec +
                      used.ru_stime.tv_usec);
}

// Downloads that are under way when the time is over: how long those without a first byte have waited counts as if it had come now.
static void count_unfinished(void) {
    for (struct client *client = clients; client < clients + clients_count; client++) {
        if (client->stops) {
            counts->stopped_open += client->state == STOPPED;
        } else if (client->state == BODY && client->first_us) {
            count_top_time(client, end_us);
        } else if (client->state != PAUSED) {
            counts->waiting++;
            histogram_add(&counts->first, end_us - client->asked_us);
        }
    }
}

static void run(void) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t cpu_us = 0;
    int64_t next = 0, now = now_us(), before = now;
    for (; now < end_us; before = now, now = now_us()) {
        if (counting(now)) counts->standstill_us = (uint64_t)larger((int64_t)counts->standstill_us, now - before);
        if (plan.downloads && ended >= plan.downloads) end_us = now;
        if (!cpu_us && now >= begin_us) cpu_us = own_cpu_us();
        if (now >= next) next = take_due(now);
        int64_t wait_us = larger(0, smaller(next, end_us) - now_us());
        struct timespec wait = {.tv_sec = wait_us / SECOND_US, .tv_nsec = wait_us % SECOND_US * 1000};
        int count = epoll_pwait2(poller, events, EVENTS_MAX, &wait, NULL);
        for (int i = 0; i < count; i++) {
            struct client *client = events[i].data.ptr;
            take_event(client);
            if (waits(client)) next = smaller(next, client->due_us);
        }
    }
    // Also where they stood still beyond the end.
    counts->standstill_us = (uint64_t)larger((int64_t)counts->standstill_us, now - before);
    counts->cpu_us = own_cpu_us() - cpu_us;
    counts->counted_us = (uint64_t)larger(0, end_us - begin_us);
    count_unfinished();
}

// --- the plan ---

static void read_file_line(const char *text) {
    if (plan.files_count == FILES_MAX) die("too many files");
    struct file *file = &plan.files[plan.files_count++];
    struct stat facts;
    if (sscanf(text, "%255s %255s %255[^\n]", file->disk, file->url, file->modified) != 3)
        die("file DISK_PATH URL_PATH LAST_MODIFIED");
    int fd = open(file->disk, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) < 0) die(file->disk);
    file->size = facts.st_size;
    file->content = file->size ? mmap(NULL, (size_t)file->size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0)
                               : (const uint8_t *)"";
    if (file->content == MAP_FAILED) die("mmap");
    close(fd);
}

static void read_server(const char *text) {
    char address[64];
    int port = 0;
    plan.server.sin_family = AF_INET;
    if (sscanf(text, "%63s %d", address, &port) != 2 || inet_pton(AF_INET, address, &plan.server.sin_addr) != 1)
        die("server ADDRESS PORT");
    plan.server.sin_port = htons((uint16_t)port);
}

static void read_number(const char *name, double value) {
    if (!strcmp(name, "ramp"))
        plan.ramp_us = (int64_t)(value * SECOND_US);
    else if (!strcmp(name, "seconds"))
        plan.seconds_us = (int64_t)(value * SECOND_US);
    else if (!strcmp(name, "rate"))
        plan.rate = (int64_t)value;
    else if (!strcmp(name, "seed"))
        plan.seed = (uint64_t)value;
    else if (!strcmp(name, "clients"))
        plan.clients = (int)value;
    else if (!strcmp(name, "stopped"))
        plan.stopped = (int)value;
    else if (!strcmp(name, "downloads"))
        plan.downloads = (int)value;
    else if (!strcmp(name, "check"))
        plan.check = (int)value;
    else if (!strcmp(name, "hangups"))
        plan.hangups = (int)value;
    else if (!strcmp(name, "sources"))
        plan.sources = (int)value;
    else if (!strcmp(name, "processes"))
        plan.processes = (int)value;
    else if (!strcmp(name, "fresh"))
        plan.fresh = value != 0;
    else
        errno = EINVAL, die(name);
}

static void read_plan(void) {
    char line[4 * TEXT_BYTES_MAX], name[32];
    int at = 0;
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%31s %n", name, &at) != 1) continue;
        if (!strcmp(name, "file"))
            read_file_line(line + at);
        else if (!strcmp(name, "server"))
            read_server(line + at);
        else if (!strcmp(name, "type"))
            snprintf(plan.type, sizeof(plan.type), "%.255s", line + at);
        else
            read_number(name, atof(line + at));
    }
    errno = EINVAL;
    if (!plan.files_count || !plan.server.sin_port || plan.clients + plan.stopped < 1)
        die("the plan has no file, server or clients");
    if (plan.processes < 1 || plan.processes > PROCESSES_MAX) die("processes");
}

// Those of this process: every `processes`th. The same seed gives a client the same files whatever the number of processes.
static void make_clients(int process, int64_t start_us) {
    int all = plan.clients + plan.stopped;
    clients = calloc((size_t)all, sizeof(*clients));
    if (!clients || (poller = epoll_create1(EPOLL_CLOEXEC)) < 0) die("memory");
    for (int number = process; number < all; number += plan.processes) {
        struct client *client = &clients[clients_count++];
        client->fd = -1;
        client->randomness = 88172645463325252u ^ ((plan.seed * 65537 + (uint64_t)number + 1) * 0x9E3779B97F4A7C15u);
        client->number = number;
        client->stops = number >= plan.clients;
        client->due_us = client->stops ? start_us : start_us + plan.ramp_us * number / larger(plan.clients, 1);
        client->tokens = QUANTUM_BYTES;
        client->filled_us = start_us;
        for (int i = 0; i < plan.files_count; i++)
            client->order[i] = (uint8_t)i;
    }
}

// --- the result ---

static void merge_histogram(struct histogram *into, const struct histogram *from) {
    into->count += from->count;
    into->sum_us += from->sum_us;
    into->max_us = from->max_us > into->max_us ? from->max_us : into->max_us;
    for (int i = 0; i < BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

static void merge(struct counts *into, const struct counts *from) {
    into->requests += from->requests;
    into->bytes += from->bytes;
    into->compared_bytes += from->compared_bytes;
    into->top_bytes += from->top_bytes;
    into->top_us += from->top_us;
    into->hangups += from->hangups;
    into->waiting += from->waiting;
    into->cpu_us += from->cpu_us;
    into->stopped_open += from->stopped_open;
    into->stopped_closed += from->stopped_closed;
    if (from->counted_us > into->counted_us) into->counted_us = from->counted_us;
    if (from->standstill_us > into->standstill_us) into->standstill_us = from->standstill_us;
    if (from->longest_pause_us > into->longest_pause_us) into->longest_pause_us = from->longest_pause_us;
    for (int i = 0; i < ERRORS; i++)
        into->errors[i] += from->errors[i];
    for (int i = 0; i < FILES_MAX; i++)
        into->by_file[i] += from->by_file[i];
    merge_histogram(&into->first, &from->first);
    merge_histogram(&into->whole, &from->whole);
}

static void print_histogram(const char *name, const struct histogram *histogram) {
    printf(
        "\"%s_us\":{\"count\":%llu,\"mean\":%.1f,\"p50\":%llu,\"p90\":%llu,\"p99\":%llu,\"p99.9\":%llu,\"max\":%llu},",
        name, (unsigned long long)histogram->count,
        histogram->count ? (double)histogram->sum_us / (double)histogram->count : 0.0,
        (unsigned long long)histogram_at(histogram, 0.5), (unsigned long long)histogram_at(histogram, 0.9),
        (unsigned long long)histogram_at(histogram, 0.99), (unsigned long long)histogram_at(histogram, 0.999),
        (unsigned long long)histogram->max_us);
}

static void print_number(const char *name, uint64_t value) { printf("\"%s\":%llu,", name, (unsigned long long)value); }

static void print_result(const struct counts *all) {
    printf("bench-json {");
    print_number("requests", all->requests);
    print_number("bytes", all->bytes);
    print_number("compared_bytes", all->compared_bytes);
    print_number("top_bytes", all->top_bytes);
    print_number("top_us", all->top_us);
    print_number("hangups", all->hangups);
    print_number("waiting", all->waiting);
    print_number("cpu_us", all->cpu_us);
    print_number("longest_pause_us", all->longest_pause_us);
    print_number("standstill_us", all->standstill_us); // never longer than RETRY_US by its own will
    print_number("stopped_open", all->stopped_open);
    print_number("stopped_closed", all->stopped_closed);
    print_histogram("first", &all->first);
    print_histogram("whole", &all->whole);
    printf("\"errors\":{");
    for (int i = 0; i < ERRORS; i++)
        printf("%s\"%s\":%llu", i ? "," : "", error_names[i], (unsigned long long)all->errors[i]);
    printf("},\"by_file\":[");
    for (int i = 0; i < plan.files_count; i++)
        printf("%s%llu", i ? "," : "", (unsigned long long)all->by_file[i]);
    printf("],\"seconds\":%.6f}\n", (double)all->counted_us / SECOND_US);
}

static void run_process(int process, int64_t start_us) {
    make_clients(process, start_us);
    run();
    fflush(stdout);
    _exit(0);
}

int main(void) {
    pid_t children[PROCESSES_MAX];
    read_plan();
    struct counts *all = mmap(NULL, sizeof(*all) * PROCESSES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                              -1, 0);
    if (all == MAP_FAILED) die("memory");
    int64_t start_us = now_us();
    begin_us = start_us + plan.ramp_us;
    end_us = begin_us + plan.seconds_us;
    fflush(stdout);
    for (int i = 0; i < plan.processes; i++) {
        counts = &all[i];
        children[i] = fork();
        if (children[i] < 0) die("fork");
        if (children[i] == 0) run_process(i, start_us);
    }
    struct timespec begin = {.tv_sec = begin_us / SECOND_US, .tv_nsec = begin_us % SECOND_US * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL) == EINTR)
        continue;
    printf("begin\n");
    fflush(stdout);
    int failed = 0, status = 0;
    for (int i = 0; i < plan.processes; i++) {
        failed += waitpid(children[i], &status, 0) < 0 || status != 0;
        if (i) merge(&all[0], &all[i]);
    }
    if (failed) return printf("error downloads: a process of clients failed\n"), 1;
    print_result(&all[0]);
    return 0;
}
