/*
 * transport.h - how the bytes of a connection move, as a table of functions, so that TLS can take
 * the place of TCP.
 *
 * Ownership: the owner of the connection owns the transport, and the transport owns its descriptor.
 * Threads: one thread at a time sends (writev, sendfile, wait). It may be another thread than the
 * one that reads.
 */
#ifndef NB_TRANSPORT_TRANSPORT_H
#define NB_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/slice.h"
#include "base/status.h"
#include "tls/tls.h"

typedef struct nb_transport nb_transport;
struct nb_tls_session;

typedef struct nb_transport_kind {
    const char *name;
    /* Statuses as nb_net_read, nb_net_writev and nb_os_sendfile; NB_AGAIN may come with *moved
     * bytes sent. more: other bytes follow at once, and these may wait for them. */
    nb_status (*read)(nb_transport *transport, void *buffer, size_t bytes, size_t *moved);
    nb_status (*writev)(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved);
    nb_status (*sendfile)(nb_transport *transport, int file_fd, uint64_t offset, size_t bytes, size_t *moved);
    /* Blocks until more can be sent, as nb_net_wait_writable. */
    nb_status (*wait)(nb_transport *transport, int timeout_ms);
    /* True: the client has finished sending, and all that it sent was read. */
    bool (*peer_finished)(nb_transport *transport);
    /* Shuts down our side: nothing more will be sent. NB_AGAIN: not yet, as the client has to be
     * told first, and takes nothing now. Call it again when the socket is writable. */
    nb_status (*finish)(nb_transport *transport);
    /* Ends the connection while another thread is in writev, sendfile or wait. That thread is woken
     * and gets an error. reset: with an RST. */
    void (*abort)(nb_transport *transport, int reset);
    void (*close)(nb_transport *transport, int reset);
} nb_transport_kind;

struct nb_transport {
    const nb_transport_kind *kind;
    int fd;
    /* The last read has left bytes here which the poller does not tell of: read again. */
    bool unread;
    struct nb_tls_session *tls; /* private to the kind */
};

/* Takes the descriptor, which is connected and does not block. */
void nb_transport_tcp_init(nb_transport *transport, int fd);

/*
 * TLS. Bytes move once the handshake is done. Bytes that are sent count as moved when their record
 * has left; a record has at most 16 KB. After NB_AGAIN the next call has to offer the same bytes
 * again, as a send queue does. A file is read by the thread that sends, a record at a time.
 *
 * Where the kernel makes the records (kTLS), bytes and files leave as on a plain connection. A
 * client of TLS 1.3 that asks for other keys (KeyUpdate, RFC 8446 section 4.6.3) ends such a
 * connection, since the kernel cannot change them.
 */

/* How a handshake has ended. X(name, text for logs) */
#define NB_HANDSHAKE_LIST(X)                                          \
    X(full, "done")                                                   \
    X(resumed, "done, by a session ticket")                           \
    X(left, "the client has left")                                    \
    X(late, "the client was too slow")                                \
    X(shed, "too many handshakes are under way")                      \
    X(plain, "the client spoke HTTP without TLS")                     \
    X(version, "the client's TLS versions are too old")               \
    X(cipher, "no cipher or key exchange that both sides have")       \
    X(protocol, "no protocol (ALPN) that both sides have")            \
    X(client_missing, "the client has shown no certificate")          \
    X(client_expired, "the client's certificate is out of date")      \
    X(client_unknown, "nobody in ca signed the client's certificate") \
    X(client_invalid, "the client's certificate is not valid")        \
    X(alert, "the client has refused it by an alert")                 \
    X(broken, "the client's messages break the rules of TLS")         \
    X(failed, "the server could not do it")

typedef enum nb_handshake_outcome {
#define NB_HANDSHAKE_ENUM(name, text) NB_HANDSHAKE_##name,
    NB_HANDSHAKE_LIST(NB_HANDSHAKE_ENUM)
#undef NB_HANDSHAKE_ENUM
        NB_HANDSHAKE_OUTCOMES
} nb_handshake_outcome;

/* What is told of a connection whose handshake is done. */
typedef struct nb_tls_agreement {
    const char *cipher; /* OpenSSL's name, a constant; NULL: a plain connection */
    uint16_t version;   /* as NB_TLS_1_2 */
    bool resumed;       /* by a session ticket */
} nb_tls_agreement;

/* What a client and the server have agreed upon. */
typedef struct nb_tls_facts {
    nb_handshake_outcome outcome;
    bool heard;         /* the client has sent something */
    bool heavy;         /* NB_AGAIN: what follows is more work than a step may do */
    bool wants_write;   /* NB_AGAIN: the handshake goes on when the socket is writable */
    bool kernel;        /* the kernel makes the records that are sent */
    uint16_t version;   /* as NB_TLS_1_2 */
    const char *cipher; /* OpenSSL's name, a constant */
    char protocol[16];  /* by ALPN; "": none */
    char reason[80];    /* OpenSSL's, of a failure; "": none */
} nb_tls_facts;

/* Takes the descriptor and shares the context. NB_NO_MEMORY: the descriptor stays the caller's.
 * NB_UNSUPPORTED. */
nb_status nb_transport_tls_init(nb_transport *transport, int fd, nb_tls_context *context);
/* What the client has shown, once the handshake is done: "N" where it was asked and has shown no
 * certificate; "V", subject, issuer (RFC 2253), serial number (hexadecimal) and PEM, each with a
 * NUL behind it; empty where it was not asked. Owned by the transport. */
nb_slice nb_transport_tls_client(const nb_transport *transport);
/* Takes the next step of the handshake. It does not wait, and computes for about a millisecond with
 * some keys where it may do all work, else for a third of that at most: it stops before more, which
 * is the next step's. Any thread, one at a time. NB_OK: done. NB_AGAIN: when the client has
 * sent more, or takes more, or facts->heavy. NB_SYSTEM: it has failed for facts->outcome, and the
 * client was told. */
nb_status nb_transport_tls_handshake(nb_transport *transport, nb_tls_effort effort, nb_tls_facts *facts);

#endif
