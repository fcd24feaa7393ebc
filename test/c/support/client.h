/*
 * client.h - an HTTP/1 client for tests over real sockets: sends any bytes, reads responses, and
 * says how the connection ended. Every wait is bounded by NB_TEST_PATIENCE_MS; failures are
 * results (never cmocka's jumps), so that any thread may use it.
 */
#ifndef NB_TEST_CLIENT_H
#define NB_TEST_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NB_TEST_PATIENCE_MS 60000

typedef struct nb_test_client {
    int fd;
    char *bytes; /* received and not used */
    size_t size, capacity;
} nb_test_client;

typedef enum nb_test_end { NB_TEST_END_NONE, NB_TEST_END_FIN, NB_TEST_END_RESET } nb_test_end;

typedef struct nb_test_response {
    int status;       /* 0: none came */
    int interim;      /* 1xx before it */
    char head[20480]; /* NUL-terminated, cut */
    char *body;       /* of the client's making; freed by the next read or nb_test_client_close */
    size_t body_bytes, body_capacity;
    /* truncated: the connection ended before the response did */
    bool keep_alive, chunked, truncated;
    /* when it was truncated, or ran to the end of the connection */
    nb_test_end end;
} nb_test_response;

/* fd -1: it failed, errno. */
nb_test_client nb_test_connect(uint16_t port);
nb_test_client nb_test_connect_unix(const char *path);
/* A small receive buffer (bytes; 0: the system's), set before connecting so that the window is
   small from the start. */
nb_test_client nb_test_connect_narrow(uint16_t port, int receive_bytes);
/* It has been slow for long enough: what it reads now comes in large pieces. */
void nb_test_client_widen(nb_test_client *client);
void nb_test_client_close(nb_test_client *client);
/* With an RST. */
void nb_test_client_reset(nb_test_client *client);
/* Says that no more will be sent. */
void nb_test_client_finish(nb_test_client *client);

/* All of it; false when it could not be sent. */
bool nb_test_send(nb_test_client *client, const char *bytes, size_t size);
bool nb_test_send_text(nb_test_client *client, const char *text);
/* "GET path HTTP/1.1" with a Host. */
bool nb_test_get(nb_test_client *client, const char *path);
/* POST to `path` with a body of the pattern (pattern.h), by length or in chunks. */
bool nb_test_post(nb_test_client *client, const char *path, size_t body_bytes, bool chunked);

/* The next response; false when it is no HTTP/1 or did not come whole (response->truncated, status
   0, or time). method "HEAD": no body follows. */
bool nb_test_read(nb_test_client *client, const char *method, nb_test_response *response);
/* Reads away what is left and says how the connection ended; NB_TEST_END_NONE: not within the
   patience. *dropped: bytes read away (NULL is fine). */
nb_test_end nb_test_read_end(nb_test_client *client, size_t *dropped);
/* At least one byte is there to be read, or the end is, within timeout_ms. */
bool nb_test_readable(nb_test_client *client, int timeout_ms);
/* The body is `size` bytes of the pattern. */
bool nb_test_is_pattern(const nb_test_response *response, uint64_t size);
bool nb_test_body_is(const nb_test_response *response, const char *text);

#endif
