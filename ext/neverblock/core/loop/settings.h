/*
 * settings.h - what a server is told before it starts. Every loop has a copy, which does not
 * change after start.
 */
#ifndef NB_LOOP_SETTINGS_H
#define NB_LOOP_SETTINGS_H

#include <stdint.h>

/* Every number among the settings: X(type, name, default). The name or the comment has the unit. */
#define NB_SERVER_SETTINGS(X)                                                                   \
    X(uint32_t, handshake_timeout_ms, 10000)     /* for a TLS handshake, from accept */         \
    X(uint32_t, handshakes_max, 1000)            /* TLS handshakes under way, of each loop */   \
    X(uint32_t, handshake_workers, 2)            /* threads that do their heavy work */         \
    X(uint32_t, header_timeout_ms, 10000)        /* for a head, from accept or first byte */    \
    X(uint32_t, accept_timeout_ms, 1000)         /* newcomers wait for a place, then 503 */     \
    X(uint32_t, body_timeout_ms, 30000)          /* window in which to move at rate_min */      \
    X(uint32_t, idle_timeout_ms, 65000)          /* between requests of a connection */         \
    X(uint32_t, shutdown_timeout_ms, 30000)      /* after drain: what remains is cut then */    \
    X(uint32_t, rate_min, 500)                   /* bytes/s of a transfer within a window */    \
    X(uint32_t, header_bytes_max, 65536)         /* bytes of a head */                          \
    X(uint32_t, headers_max, 100)                /* fields of a head */                         \
    X(uint64_t, body_bytes_max, 104857600)       /* bytes of a request body */                  \
    X(uint64_t, spool_bytes_max, 1073741824)     /* all bodies in temporary files */            \
    X(uint32_t, connections_max, 10000)          /* connections of clients */                   \
    X(uint32_t, http2_streams_max, 100)          /* requests at once of an HTTP/2 connection */ \
    X(uint32_t, http2_resets_max, 200)           /* of its streams, in 10 seconds */            \
    X(uint32_t, http2_frames_max, 1000)          /* frames that wait for its client */          \
    X(uint32_t, queue_max, 1000)                 /* waiting requests; beyond them 503 */        \
    X(uint32_t, credit, 256)                     /* requests handed to an executor ahead */     \
    X(uint32_t, response_backlog_bytes, 1048576) /* of a response, until its writer parks */    \
    X(uint64_t, response_bytes_max, 268435456)   /* of all responses; near it each gets less */ \
    X(uint32_t, file_workers, 2)                 /* threads that write bodies to files */       \
    X(uint32_t, file_send_workers, 50)           /* threads that send files; 0: none */         \
    X(uint32_t, sendfile_buffer, 81920)          /* bytes of a download's part (eba, enba) */   \
    X(uint32_t, sendfile_algorithm, 1)           /* number in send/algorithms.h; 1: auto */     \
    X(uint64_t, send_rate, 0)                    /* bytes/s of files to a connection; 0: any */ \
    X(uint64_t, address_rate, 0)                 /* the same per client address */              \
    X(uint32_t, request_timeout_ms, 0)           /* until the response head; 0: no limit */     \
    X(uint32_t, cancel_on_disconnect, 0)         /* 1: a request ends with its client */        \
    X(uint32_t, guest_turns, 1)                  /* 1: an idle executor runs turns (lease.h) */ \
    X(uint32_t, io_threads, 1)                   /* I/O loops: 1 to NB_IO_THREADS_MAX */        \
    X(uint32_t, spare_after_ms, 10)              /* one fiber for this long: call the spare */  \
    X(uint32_t, front, 0)                        /* 1: executors are in other processes */      \
    X(uint32_t, symlinks, 0)                     /* nb_symlinks: links that are followed */     \
    X(uint32_t, http_compliance, 1)              /* nb_compliance: how strict parsing is */     \
    X(uint32_t, log_refused, 0)                  /* 1: log requests answered by the loop */     \
    X(uint32_t, answer_asterisk, 0)              /* 1: the loop answers OPTIONS * */            \
    X(uint32_t, compress, 0)                     /* nb_compress - 1, unless a route says */     \
    X(uint64_t, compress_bytes_min, 1024)        /* smaller contents are not compressed */      \
    X(uint32_t, compress_level, 4)               /* 1: fast, to 9: small */                     \
    X(uint32_t, compress_workers, 2)             /* threads that compress what is large */      \
    X(uint32_t, redirect_port, 0)                /* of https, for plain TCP listeners; 0: none */

typedef struct nb_server_config {
#define NB_SERVER_FIELD(type, name, value) type name;
    NB_SERVER_SETTINGS(NB_SERVER_FIELD)
#undef NB_SERVER_FIELD
    const char *spool_directory;        /* NULL: TMPDIR or /tmp. Copied. */
    const char *poller;                 /* NULL: the best. Copied. */
    const char *version, *ruby_version; /* for /status.json. Copied. */
    /* What clients speak (connection/protocol.h); NULL: HTTP/1.1, and HTTP/2 where the build has
     * it. */
    const struct nb_protocol *protocol;
    /* Where the core's own lines go (never blocking); -1: nowhere. */
    int log_fd;
} nb_server_config;

void nb_server_config_default(nb_server_config *config);

#endif
