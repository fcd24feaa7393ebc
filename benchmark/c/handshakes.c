// Makes TLS connections one after the other for a time, each with a request or without, each with the session of the one before or with a handshake in full,
// and counts them. A session of TLS 1.3 comes after the handshake: a connection that is to be followed by a resumed one waits for it. Library: OpenSSL.
//
//   handshakes HOST PORT new|reuse PATH SECONDS
//
// An empty PATH: no request. The first connection of `reuse` is not counted. Output: a line "DURATION_US CONNECTIONS OTHER BYTES": those whose handshake was
// not of the kind that was asked for, and the bytes of all responses.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

static struct sockaddr_in address;
static SSL_CTX *context;
static SSL_SESSION *session; // the newest
static char request[4096];
static int request_bytes; // 0: none
static bool reuses;
static int64_t body_bytes;

static void die(const char *what) {
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    fprintf(stderr, "handshakes: %s: %s\n", what, reason ? reason : strerror(errno));
    exit(1);
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int keep(SSL *tls, SSL_SESSION *brought) {
    (void)tls;
    SSL_SESSION_free(session);
    session = brought;
    return 1;
}

static void make_context(void) {
    context = SSL_CTX_new(TLS_client_method());
    if (!context || SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x08http/1.1", 9)) die("a context of TLS");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY); // SSL_read returns when it has read a session
}

static int open_socket(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static void exchange(SSL *tls) {
    static char buffer[READ_BYTES];
    if (SSL_write(tls, request, request_bytes) != request_bytes) die("the request");
    for (;;) {
        int count = SSL_read(tls, buffer, sizeof(buffer));
        if (count > 0) {
            body_bytes += count;
            continue;
        }
        int error = SSL_get_error(tls, count);
        if (error == SSL_ERROR_ZERO_RETURN) return;
        if (error != SSL_ERROR_WANT_READ) die("the response");
    }
}

static void wait_for_session(SSL *tls) {
    char byte;
    while (!session) {
        int count = SSL_read(tls, &byte, 1);
        if (SSL_get_error(tls, count) != SSL_ERROR_WANT_READ) die("a session");
    }
}

// True: the session was resumed.
static bool make_connection(void) {
    int fd = open_socket();
    SSL *tls = SSL_new(context);
    if (!tls || !SSL_set_fd(tls, fd) || (session && !SSL_set_session(tls, session))) die("a connection of TLS");
    SSL_SESSION_free(session);
    session = NULL;
    if (SSL_connect(tls) != 1) die("handshake");
    bool resumed = SSL_session_reused(tls);
    if (request_bytes) exchange(tls);
    if (reuses) wait_for_session(tls);
    SSL_set_shutdown(tls, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); // else its session counts as broken
    SSL_free(tls);
    close(fd);
    if (!reuses) SSL_SESSION_free(session), session = NULL;
    return resumed;
}

int main(int argc, char **argv) {
    if (argc != 6 || (strcmp(argv[3], "new") && strcmp(argv[3], "reuse"))) {
        fprintf(stderr, "usage: handshakes HOST PORT new|reuse PATH SECONDS\n");
        return 2;
    }
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) die("not an IPv4 address");
    reuses = !strcmp(argv[3], "reuse");
    if (*argv[4]) {
        request_bytes = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
                                 argv[4], argv[1]);
        if (request_bytes >= (int)sizeof(request)) die("the path is too long");
    }
    make_context();
    if (reuses) make_connection();
    body_bytes = 0;
    long count = 0, other = 0;
    int64_t began_us = now_us(), end_us = began_us + (int64_t)(atof(argv[5]) * 1e6);
    for (; now_us() < end_us; count++)
        other += make_connection() != reuses;
    printf("%lld %ld %ld %lld\n", (long long)(now_us() - began_us), count, other, (long long)body_bytes);
    return 0;
}
