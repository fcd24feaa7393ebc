/*
 * client.c - see client.h.
 */
#include "support/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/pattern.h"

static nb_test_client connected(int fd, const struct sockaddr *address, socklen_t size) {
    nb_test_client client = {.fd = fd};
    if (fd < 0 || connect(fd, address, size) == 0) return client;
    int error = errno;
    close(fd);
    errno = error;
    client.fd = -1;
    return client;
}

nb_test_client nb_test_connect_narrow(uint16_t port, int receive_bytes) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_bytes) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return connected(fd, (struct sockaddr *)&address, sizeof address);
}

nb_test_client nb_test_connect(uint16_t port) { return nb_test_connect_narrow(port, 0); }

nb_test_client nb_test_connect_unix(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return connected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address, sizeof address);
}

void nb_test_client_close(nb_test_client *client) {
    if (client->fd >= 0) close(client->fd);
    free(client->bytes);
    *client = (nb_test_client){.fd = -1};
}

void nb_test_client_reset(nb_test_client *client) {
    const struct linger now = {1, 0};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    nb_test_client_close(client);
}

void nb_test_client_widen(nb_test_client *client) {
    int bytes = 1 << 20;
    (void)setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void nb_test_client_finish(nb_test_client *client) { shutdown(client->fd, SHUT_WR); }

static bool wait_for(int fd, short events, int timeout_ms) {
    struct pollfd watched = {.fd = fd, .events = events};
    int ready;
    do {
        ready = poll(&watched, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool nb_test_send(nb_test_client *client, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN && wait_for(client->fd, POLLOUT, NB_TEST_PATIENCE_MS)) continue;
        if (sent < 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool nb_test_send_text(nb_test_client *client, const char *text) { return nb_test_send(client, text, strlen(text)); }

bool nb_test_get(nb_test_client *client, const char *path) {
    char request[512];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    return nb_test_send_text(client, request);
}

/* In chunks of 1000 bytes and what is left. */
static size_t make_chunks(char *out, size_t body_bytes) {
    char *at = out;
    for (size_t done = 0; done < body_bytes;) {
        size_t size = body_bytes - done < 1000 ? body_bytes - done : 1000;
        at += sprintf(at, "%zx\r\n", size);
        nb_test_pattern_copy(at, done, size);
        at += size;
        at += sprintf(at, "\r\n");
        done += size;
    }
    at += sprintf(at, "0\r\n\r\n");
    return (size_t)(at - out);
}

bool nb_test_post(nb_test_client *client, const char *path, size_t body_bytes, bool chunked) {
    char *request = malloc(512 + body_bytes * 2 + 64);
    int head = chunked ? sprintf(request, "POST %s HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n", path)
                       : sprintf(request, "POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: %zu\r\n\r\n", path,
                                 body_bytes);
    size_t size = (size_t)head;
    if (chunked) {
        size += make_chunks(request + size, body_bytes);
    } else {
        nb_test_pattern_copy(request + size, 0, body_bytes);
        size += body_bytes;
    }
    bool sent = nb_test_send(client, request, size);
    free(request);
    return sent;
}

/* --- reading --- */

/* One read more; NB_TEST_END_NONE with *more false: nothing came in time. */
static nb_test_end receive(nb_test_client *client, bool *more) {
    *more = false;
    if (client->capacity - client->size < 65536) {
        client->capacity = client->capacity * 2 + 131072;
        client->bytes = realloc(client->bytes, client->capacity);
    }
    if (!wait_for(client->fd, POLLIN, NB_TEST_PATIENCE_MS)) return NB_TEST_END_NONE;
    ssize_t got = recv(client->fd, client->bytes + client->size, client->capacity - client->size - 1, MSG_DONTWAIT);
    if (got == 0) return NB_TEST_END_FIN;
    if (got < 0) return NB_TEST_END_RESET;
    client->size += (size_t)got;
    *more = true;
    return NB_TEST_END_NONE;
}

static void use(nb_test_client *client, size_t bytes) {
    memmove(client->bytes, client->bytes + bytes, client->size - bytes);
    client->size -= bytes;
}

static bool fill_to(nb_test_client *client, size_t bytes, nb_test_response *response) {
    while (client->size < bytes) {
        bool more;
        response->end = receive(client, &more);
        if (!more) return false;
    }
    return true;
}

/* The offset behind the next CRLF from `from`, or 0. */
static size_t line_end(nb_test_client *client, size_t from, nb_test_response *response) {
    for (;;) {
        for (size_t i = from; i + 1 < client->size; i++) {
            if (client->bytes[i] == '\r' && client->bytes[i + 1] == '\n') return i + 2;
        }
        if (client->size > from + 65536 * 8 || !fill_to(client, client->size + 1, response)) return 0;
    }
}

static const char *field(const char *head, const char *name) {
    size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, size) == 0 && line[2 + size] == ':') return line + 2 + size + 2;
    }
    return NULL;
}

static bool read_head(nb_test_client *client, nb_test_response *response) {
    size_t at = 0, next;
    while ((next = line_end(client, at, response)) && next != at + 2)
        at = next;
    if (!next) return false;
    size_t kept = next < sizeof response->head ? next : sizeof response->head - 1;
    memcpy(response->head, client->bytes, kept);
    response->head[kept] = '\0';
    use(client, next);
    if (strncmp(response->head, "HTTP/1.1 ", 9) != 0) return false;
    response->status = atoi(response->head + 9);
    return response->status >= 100;
}

static void keep_body(nb_test_client *client, nb_test_response *response, size_t bytes) {
    if (response->body_bytes + bytes + 1 > response->body_capacity) {
        response->body_capacity = (response->body_bytes + bytes) * 2 + 64;
        response->body = realloc(response->body, response->body_capacity);
    }
    memcpy(response->body + response->body_bytes, client->bytes, bytes);
    response->body_bytes += bytes;
    response->body[response->body_bytes] = '\0';
    use(client, bytes);
}

/* No trailers: the server sends none. */
static bool read_chunks(nb_test_client *client, nb_test_response *response) {
    size_t size;
    do {
        size_t line = line_end(client, 0, response);
        if (!line) return false;
        size = strtoull(client->bytes, NULL, 16);
        use(client, line);
        for (size_t left = size, step; left > 0; left -= step) {
            if (client->size == 0 && !fill_to(client, 1, response)) return false;
            step = client->size < left ? client->size : left;
            keep_body(client, response, step);
        }
        if (!fill_to(client, 2, response) || memcmp(client->bytes, "\r\n", 2) != 0) return false;
        use(client, 2);
    } while (size > 0);
    return true;
}

static bool read_length(nb_test_client *client, nb_test_response *response, size_t bytes) {
    while (bytes > 0) {
        if (client->size == 0 && !fill_to(client, 1, response)) {
            response->truncated = true;
            return false;
        }
        size_t step = client->size < bytes ? client->size : bytes;
        keep_body(client, response, step);
        bytes -= step;
    }
    return true;
}

static bool read_to_end(nb_test_client *client, nb_test_response *response) {
    while (client->size > 0 || fill_to(client, 1, response))
        keep_body(client, response, client->size);
    response->truncated = response->end != NB_TEST_END_FIN;
    return !response->truncated;
}

static bool read_body(nb_test_client *client, const char *method, nb_test_response *response) {
    if (strcmp(method, "HEAD") == 0 || response->status == 204 || response->status == 304) return true;
    const char *length = field(response->head, "content-length");
    if (response->chunked) {
        bool whole = read_chunks(client, response);
        response->truncated = !whole;
        return whole;
    }
    return length ? read_length(client, response, strtoull(length, NULL, 10)) : read_to_end(client, response);
}

bool nb_test_read(nb_test_client *client, const char *method, nb_test_response *response) {
    free(response->body);
    *response = (nb_test_response){0};
    do {
        if (response->status) response->interim++;
        response->status = 0;
        if (!read_head(client, response)) return false;
    } while (response->status < 200);
    const char *connection = field(response->head, "connection"), *coding = field(response->head, "transfer-encoding");
    response->keep_alive = !connection || strncasecmp(connection, "close", 5) != 0;
    response->chunked = coding && strncasecmp(coding, "chunked", 7) == 0;
    return read_body(client, method, response);
}

nb_test_end nb_test_read_end(nb_test_client *client, size_t *dropped) {
    bool more = true;
    nb_test_end end = NB_TEST_END_NONE;
    size_t total = client->size;
    client->size = 0;
    while (more) {
        end = receive(client, &more);
        total += client->size;
        client->size = 0;
    }
    if (dropped) *dropped = total;
    return end;
}

bool nb_test_readable(nb_test_client *client, int timeout_ms) {
    return client->size > 0 || wait_for(client->fd, POLLIN, timeout_ms);
}

bool nb_test_is_pattern(const nb_test_response *response, uint64_t size) {
    return response->body_bytes == size && nb_test_pattern_equal(response->body, 0, size);
}

bool nb_test_body_is(const nb_test_response *response, const char *text) {
    return response->body_bytes == strlen(text) &&
           memcmp(response->body ? response->body : "", text, strlen(text)) == 0;
}
