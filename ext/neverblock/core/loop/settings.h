/*
 * settings.h - what a server is told of itself before it starts. Every loop has a copy.
 */
#ifndef NB_LOOP_SETTINGS_H
#define NB_LOOP_SETTINGS_H

#include <stdint.h>

/* Every setting with its unit and default: field, default. X(type, name, default) */
#define NB_SERVER_SETTINGS(X)                                                                                          \
    X(uint32_t, header_timeout_ms, 10000)   /* for a whole head, from its first byte (or from accept) */               \
    X(uint32_t, accept_timeout_ms, 1000)    /* newcomers wait for a place so long; then 503 */                         \
    X(uint32_t, body_timeout_ms, 30000)     /* window in which a body, or a response being sent, must move rate_min */ \
    X(uint32_t, idle_timeout_ms, 65000)     /* between requests of a connection */                                     \
    X(uint32_t, shutdown_timeout_ms, 30000) /* after drain: what is not done by then is cut */                         \
    X(uint32_t, rate_min, 500)              /* bytes a second a transfer must make within a window */                  \
    X(uint32_t, header_bytes_max, 65536)                                                                               \
    X(uint32_t, headers_max, 100)                                                                                      \
    X(uint64_t, body_bytes_max, 104857600)                                                                             \
    X(uint64_t, spool_bytes_max, 1073741824) /* all bodies in temporary files together */                              \
    X(uint32_t, connections_max, 10000)                                                                                \
    X(uint32_t, queue_max, 1000)                 /* requests that wait for an executor; more: 503 */                   \
    X(uint32_t, credit, 256)                     /* requests given to one executor ahead of its running them */        \
    X(uint32_t, response_backlog_bytes, 1048576) /* of one response, before its writer parks */                        \
    X(uint64_t, response_bytes_max, 268435456)   /* of all responses: near it each may hold less */                    \
    X(uint32_t, file_workers, 2)                 /* threads that write request bodies to files */                      \
    X(uint32_t, file_send_workers, 50)           /* threads that send files; 0: none */                                \
    X(uint32_t, sendfile_buffer, 81920)          /* bytes: an equal part of a download (eba, enba) */                  \
    X(uint32_t, sendfile_algorithm, 1)           /* its number (send/algorithms.h); 1: auto */                         \
    X(uint64_t, send_rate, 0)                    /* bytes a second of files to one connection; 0: no limit */          \
    X(uint64_t, address_rate, 0)                 /* the same to all connections of one client address */               \
    X(uint32_t, request_timeout_ms, 0)           /* until the application returns its head; 0: no limit */             \
    X(uint32_t, cancel_on_disconnect, 0)         /* 1: a request whose client has left is interrupted */               \
    X(uint32_t, guest_turns, 1)     /* 1: an idle executor runs the loop itself (lease.h); 0: two threads always */    \
    X(uint32_t, io_threads, 1)      /* I/O loops, each with a thread: 1 to NB_IO_THREADS_MAX */                        \
    X(uint32_t, spare_after_ms, 10) /* an executor runs one fiber so long, with work waiting: its spare is called */   \
    X(uint32_t, front, 0)           /* 1: the executors are in other processes, which come and go */                   \
    X(uint32_t, symlinks, 0)        /* nb_symlinks: which symbolic links of served folders are followed */             \
    X(uint32_t, http_compliance, 1) /* nb_compliance: what is read of a request beyond the grammar */                  \
    X(uint32_t, log_refused, 0) /* 1: a line of the log for each request the loop answers itself (request_log.h) */    \
    X(uint32_t, answer_asterisk, 0) /* 1: the loop answers OPTIONS * itself; 0: the application does */

typedef struct nb_server_config {
#define NB_SERVER_FIELD(type, name, value) type name;
    NB_SERVER_SETTINGS(NB_SERVER_FIELD)
#undef NB_SERVER_FIELD
    const char *spool_directory;        /* NULL: TMPDIR or /tmp. Copied. */
    const char *poller;                 /* NULL: the best. Copied. */
    const char *version, *ruby_version; /* for /status.json. Copied. */
    const struct nb_protocol *protocol; /* what clients speak (connection/protocol.h); NULL: HTTP/1.1 */
    int log_fd;                         /* where the core's own lines go (never blocking); -1: nowhere */
} nb_server_config;

void nb_server_config_default(nb_server_config *config);

#endif
