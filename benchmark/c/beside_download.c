// Requests a small file at fixed times on an HTTP/2 connection over TLS on which a large file is downloaded all the while, and reports how long each took. A
// request is sent when it is due, whether or not earlier ones were answered, and its time counts from then. A download that ends is begun again. The windows
// are Chromium's: 6 MiB for a stream, 15 MiB for the connection. Linux: poll and a timerfd. Libraries: nghttp2, OpenSSL.
//
//   beside_download HOST PORT LARGE_PATH SMALL_PATH INTERVAL_US SECONDS
//
// Output: a line "DURATION_US BYTES FAILED", of the large file's bytes and of the responses that are not 200 or never came, then a line for each response of
// the small file with its microseconds.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 65536, STREAM_WINDOW = 6 << 20, CONNECTION_WINDOW = 15 << 20, GRACE_US = 5000000 };

static const char *authority, *large_path, *small_path;
static SSL *tls;
static nghttp2_session *session;
static int32_t large_stream = -1;
static int64_t large_bytes, *dues_us, *latencies_us, interval_us, next_us;
static long failed, answered, waiting, requests, sent;

static void die(const char *what) {
    fprintf(stderr, "beside_download: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

#define HEADER(NAME, VALUE) \
    { (uint8_t *)(NAME), (uint8_t *)(VALUE), strlen(NAME), strlen(VALUE), NGHTTP2_NV_FLAG_NONE }

static int32_t request(const char *path, int64_t *due_us) {
    nghttp2_nv head[] = {HEADER(":method", "GET"), HEADER(":scheme", "https"), HEADER(":authority", authority),
                         HEADER(":path", path)};
    int32_t stream = nghttp2_submit_request(session, NULL, head, sizeof(head) / sizeof(*head), NULL, due_us);
    if (stream < 0) die("cannot request");
    return stream;
}

static int on_header(nghttp2_session *of, const nghttp2_frame *frame, const uint8_t *name, size_t name_bytes,
                     const uint8_t *value, size_t value_bytes, uint8_t flags, void *data) {
    (void)of, (void)flags, (void)data;
    if (name_bytes == 7 && !memcmp(name, ":status", 7) && (value_bytes != 3 || memcmp(value, "200", 3))) {
        failed++;
        if (frame->hd.stream_id == large_stream) die("the large file is not there");
    }
    return 0;
}

static int on_data(nghttp2_session *of, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *data) {
    (void)of, (void)flags, (void)bytes, (void)data;
    if (stream == large_stream) large_bytes += (int64_t)count;
    return 0;
}

static int on_close(nghttp2_session *of, int32_t stream, uint32_t error, void *data) {
    (void)data;
    if (error != NGHTTP2_NO_ERROR) failed++;
    if (stream == large_stream) {
        large_stream = request(large_path, NULL);
        return 0;
    }
    const int64_t *due_us = nghttp2_session_get_stream_user_data(of, stream);
    latencies_us[answered++] = now_us() - *due_us;
    waiting--;
    return 0;
}

static ssize_t write_some(nghttp2_session *of, const uint8_t *bytes, size_t count, int flags, void *data) {
    (void)of, (void)flags, (void)data;
    int written = SSL_write(tls, bytes, (int)count);
    if (written > 0) return written;
    return SSL_get_error(tls, written) == SSL_ERROR_WANT_WRITE ? NGHTTP2_ERR_WOULDBLOCK : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int connect_to(const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) die("not an IPv4 address");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2", 3);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    tls = SSL_new(context);
    SSL_set_fd(tls, fd);
    if (SSL_connect(tls) != 1) die("handshake");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void open_session(void) {
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(callbacks, write_some);
    nghttp2_session_client_new(&session, callbacks, NULL);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                         {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
}

static void send_due(void) {
    for (; sent < requests && next_us <= now_us(); next_us += interval_us) {
        dues_us[sent] = next_us;
        request(small_path, &dues_us[sent]);
        waiting++, sent++;
    }
    if (nghttp2_session_send(session) < 0) die("cannot send");
}

// As much as has come. More may come without an end: what is due is sent between.
static void read_all(void) {
    static uint8_t buffer[READ_BYTES];
    for (;;) {
        int count = SSL_read(tls, buffer, sizeof(buffer));
        if (count <= 0) {
            if (SSL_get_error(tls, count) == SSL_ERROR_WANT_READ) return;
            die("the server has closed the connection");
        }
        if (nghttp2_session_mem_recv(session, buffer, (size_t)count) < 0) die("not HTTP/2");
        send_due();
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: beside_download HOST PORT LARGE_PATH SMALL_PATH INTERVAL_US SECONDS\n");
        return 2;
    }
    authority = argv[1], large_path = argv[3], small_path = argv[4];
    interval_us = atoll(argv[5]);
    int64_t duration_us = (int64_t)(atof(argv[6]) * 1e6);
    if (interval_us < 100 || duration_us < interval_us)
        die("an interval of 100 us or more, and a longer time, are needed");
    requests = (long)(duration_us / interval_us);
    latencies_us = calloc((size_t)requests, sizeof(*latencies_us));
    dues_us = calloc((size_t)requests, sizeof(*dues_us));
    if (!latencies_us || !dues_us) die("memory");
    int fd = connect_to(argv[1], argv[2]), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    open_session();
    large_stream = request(large_path, NULL);
    int64_t began_us = next_us = now_us();
    while (sent < requests || (waiting && now_us() < began_us + duration_us + GRACE_US)) {
        send_due();
        struct itimerspec due = {.it_value = {next_us / 1000000, next_us % 1000000 * 1000}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, sent < requests ? &due : &(struct itimerspec){0}, NULL);
        struct pollfd on[] = {
            {.fd = fd, .events = (short)(POLLIN | (nghttp2_session_want_write(session) ? POLLOUT : 0))},
            {.fd = timer, .events = POLLIN}};
        if (poll(on, 2, 1000) < 0) die("poll");
        if (on[0].revents & ~POLLOUT) read_all();
    }
    printf("%lld %lld %ld\n", (long long)(now_us() - began_us), (long long)large_bytes, failed + waiting);
    for (long i = 0; i < answered; i++)
        printf("%lld\n", (long long)latencies_us[i]);
    return 0;
}
