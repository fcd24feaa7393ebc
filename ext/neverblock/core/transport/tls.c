/*
 * tls.c - TLS over a stream socket, by OpenSSL. See transport.h and tls/tls.h.
 *
 * A session is used by two threads: the loop reads while a file worker sends. OpenSSL allows one at
 * a time, hence the lock. It is held for one record at most.
 */
#include "transport/transport.h"

#include "tls/tls.h"

#ifndef NB_HAVE_TLS

nb_status nb_transport_tls_init(nb_transport *transport, int fd, nb_tls_context *context) {
    (void)transport, (void)fd, (void)context;
    return NB_UNSUPPORTED;
}

nb_status nb_transport_tls_handshake(nb_transport *transport, nb_tls_effort effort, nb_tls_facts *facts) {
    (void)transport, (void)effort, (void)facts;
    return NB_UNSUPPORTED;
}

nb_slice nb_transport_tls_client(const nb_transport *transport) {
    (void)transport;
    return nb_slice_of(NULL, 0);
}

#else

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "os/net.h"
#include "sendfile/sendfile.h"

#ifdef BIO_get_ktls_send
#define SENDS_BY_KERNEL(bio) BIO_get_ktls_send(bio)
#else
#define SENDS_BY_KERNEL(bio) false
#endif

/* The most plain bytes in a record (RFC 8446 section 5.1). */
#define RECORD_BYTES 16384

/* nginx answers so too: a browser shows it to whoever has written http:// for https://. */
static const char plain_answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
                                   "400 this port speaks HTTPS: write https://\n";

typedef struct nb_tls_session {
    SSL *ssl; /* made by the first step of the handshake */
    nb_tls_context *context;
    nb_tls_opening opening;
    char *client; /* nb_transport_tls_client; owned */
    size_t client_bytes;
    pthread_mutex_t lock;
    int socket_error; /* errno of the last call of the socket; 0: none */
    /* The sender's: plain bytes that OpenSSL was offered and has not taken, to be offered again. It
     * may or may not have sealed them: a message of its own goes first (KeyUpdate, an alert). */
    char *pending; /* owned; NULL: none */
    size_t pending_bytes;
    size_t ahead; /* the sender's: plain bytes that were sent and not reported as moved yet */
    bool drained; /* the socket has nothing more to read in this call */
    bool heard;   /* the client has sent something */
    bool ended;   /* the socket has: the client sends nothing more */
    bool said;    /* close_notify was sent: OpenSSL forgets it when the client's end is read */
    bool done;    /* the handshake is */
    bool broken;  /* nothing more may be sent, not even an alert */
    bool rekeyed; /* the client has asked for keys that the kernel cannot take */
    BIO *kernel;  /* OpenSSL's own BIO of the socket, which knows kTLS; NULL: not to be used */
} session;

/* --- the socket, as OpenSSL sees it --- */

static BIO_METHOD *method;
static pthread_once_t method_once = PTHREAD_ONCE_INIT;

static int follow(BIO *bio, nb_status status, size_t moved, int retry) {
    const nb_transport *transport = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (status == NB_OK) return (int)moved;
    if (status == NB_AGAIN) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    if (status == NB_SYSTEM) transport->tls->socket_error = errno;
    if (status == NB_EOF) transport->tls->ended = true;
    return status == NB_EOF ? 0 : -1;
}

static int socket_read(BIO *bio, char *buffer, int bytes) {
    const nb_transport *transport = BIO_get_data(bio);
    session *tls = transport->tls;
    size_t moved = 0;
    if (bytes <= 0) return 0;
    nb_status status = tls->drained ? NB_AGAIN : nb_net_read(transport->fd, buffer, (size_t)bytes, &moved);
    if (status == NB_OK) tls->heard = true;
    /* The poller tells of what comes later. */
    if (status == NB_OK) tls->drained = moved < (size_t)bytes;
    return follow(bio, status, moved, BIO_FLAGS_READ);
}

/* The kernel makes the records that are sent. OpenSSL has asked it to, with the keys. */
static bool in_kernel(const session *tls) { return tls->kernel && SENDS_BY_KERNEL(tls->kernel); }

/* A message of TLS itself, such as an alert: the BIO tells the kernel of its type. */
static int kernel_write(BIO *bio, session *tls, const char *bytes, int size) {
    int sent = BIO_write(tls->kernel, bytes, size);
    int error = errno;
    BIO_clear_retry_flags(bio);
    if (sent > 0) return sent;
    if (BIO_should_retry(tls->kernel)) {
        BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
    } else {
        tls->socket_error = error;
    }
    return -1;
}

static int socket_write(BIO *bio, const char *bytes, int size) {
    const nb_transport *transport = BIO_get_data(bio);
    struct iovec part = {(char *)(uintptr_t)bytes, (size_t)size};
    size_t moved = 0;
    if (size <= 0) return 0;
    if (in_kernel(transport->tls)) return kernel_write(bio, transport->tls, bytes, size);
    nb_status status = nb_net_writev(transport->fd, &part, 1, &moved);
    return follow(bio, status, moved, BIO_FLAGS_WRITE);
}

/* Commands of kTLS. OpenSSL keeps the names of three of them to itself, and their numbers reserved
 * (openssl/bio.h). BIO_CTRL_SET_KTLS has 0 for reading: that stays OpenSSL's, which knows of key
 * updates. */
enum { SET_KERNEL = 72, GET_KERNEL_SEND = 73, SET_KERNEL_TYPE = 74, CLEAR_KERNEL_TYPE = 75 };

static long kernel_ctrl(const session *tls, int command, long number, void *pointer) {
    switch (command) {
    case SET_KERNEL:
        return number ? BIO_ctrl(tls->kernel, command, number, pointer) : 0;
    case GET_KERNEL_SEND:
    case SET_KERNEL_TYPE:
    case CLEAR_KERNEL_TYPE:
        return BIO_ctrl(tls->kernel, command, number, pointer);
    default:
        return 0;
    }
}

static long socket_ctrl(BIO *bio, int command, long number, void *pointer) {
    const nb_transport *transport = BIO_get_data(bio);
    const session *tls = transport->tls;
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return tls->ended;
    return tls->kernel ? kernel_ctrl(tls, command, number, pointer) : 0;
}

/* Without it, a session makes its records itself. */
static void prepare_kernel(nb_transport *transport) {
    session *tls = transport->tls;
    if (nb_tls_context_kernel(tls->context)) tls->kernel = BIO_new_socket(transport->fd, BIO_NOCLOSE);
}

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "neverblock socket");
    if (!method) return;
    BIO_meth_set_read(method, socket_read);
    BIO_meth_set_write(method, socket_write);
    BIO_meth_set_ctrl(method, socket_ctrl);
}

static BIO *new_socket(nb_transport *transport) {
    pthread_once(&method_once, make_method);
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) return NULL;
    BIO_set_data(bio, transport);
    BIO_set_init(bio, 1);
    return bio;
}

/* --- reading and writing --- */

static void lock(nb_transport *transport) {
    pthread_mutex_lock(&transport->tls->lock);
    ERR_clear_error();
    transport->tls->socket_error = 0;
    transport->tls->drained = false;
}

static void unlock(nb_transport *transport) { pthread_mutex_unlock(&transport->tls->lock); }

/* The status of a call of OpenSSL that has returned `result` <= 0. */
static nb_status status_of(session *tls, int result) {
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return NB_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return NB_EOF;
    case SSL_ERROR_SYSCALL: /* OpenSSL 1.1.1: an end without close_notify */
        if (tls->ended && !tls->socket_error) return NB_EOF;
        break;
    default:
        break;
    }
    tls->broken = true;
    errno = tls->socket_error ? tls->socket_error : EPROTO;
    return NB_SYSTEM;
}

/* Fills the buffer, or empties the session. */
static nb_status read_records(nb_transport *transport, char *buffer, size_t bytes, size_t *moved) {
    session *tls = transport->tls;
    size_t total = 0;
    nb_status status = NB_OK;
    while (status == NB_OK && total < bytes) {
        size_t most = bytes - total < INT32_MAX ? bytes - total : INT32_MAX;
        int got = SSL_read(tls->ssl, buffer + total, (int)most);
        if (got > 0) {
            total += (size_t)got;
        } else {
            status = status_of(tls, got);
        }
    }
    transport->unread = status == NB_OK && SSL_has_pending(tls->ssl);
    if (total == 0) return status;
    /* What has ended the reading is met again by the next one. */
    if (status != NB_OK && status != NB_AGAIN) transport->unread = true;
    *moved = total;
    return NB_OK;
}

static nb_status tls_read(nb_transport *transport, void *buffer, size_t bytes, size_t *moved) {
    lock(transport);
    nb_status status = read_records(transport, buffer, bytes, moved);
    unlock(transport);
    return status;
}

static void drop_pending(session *tls) {
    nb_free(tls->pending);
    tls->pending = NULL;
    tls->pending_bytes = 0;
}

static nb_status keep_pending(session *tls, const char *bytes, size_t size) {
    tls->pending = nb_alloc(size);
    if (!tls->pending) { /* a part of the record may have left */
        tls->broken = true;
        errno = ENOMEM;
        return NB_SYSTEM;
    }
    memcpy(tls->pending, bytes, size);
    tls->pending_bytes = size;
    return NB_AGAIN;
}

/* Sends one record: what is pending, or else `bytes`. */
static nb_status send_record(session *tls, const char *bytes, size_t size) {
    int sent = tls->pending ? SSL_write(tls->ssl, tls->pending, (int)tls->pending_bytes)
                            : SSL_write(tls->ssl, bytes, (int)size);
    if (sent > 0) {
        drop_pending(tls);
        tls->ahead += (size_t)sent;
        return NB_OK;
    }
    nb_status status = status_of(tls, sent);
    if (status == NB_AGAIN && !tls->pending) status = keep_pending(tls, bytes, size);
    return status == NB_EOF ? NB_SYSTEM : status;
}

/* Bytes that were sent before they were offered again. */
static size_t take_ahead(session *tls, size_t offered) {
    size_t taken = tls->ahead < offered ? tls->ahead : offered;
    tls->ahead -= taken;
    return taken;
}

/* Copies bytes from the parts, after the first `skip` of them. */
static size_t gather(char *record, const struct iovec *parts, int count, size_t skip) {
    size_t total = 0;
    for (int i = 0; i < count && total < RECORD_BYTES; i++) {
        size_t from = skip < parts[i].iov_len ? skip : parts[i].iov_len;
        skip -= from;
        size_t bytes = parts[i].iov_len - from;
        if (bytes > RECORD_BYTES - total) bytes = RECORD_BYTES - total;
        if (bytes) memcpy(record + total, (const char *)parts[i].iov_base + from, bytes);
        total += bytes;
    }
    return total;
}

/* Where a record's bytes come from: memory, or a file. */
typedef struct source {
    const struct iovec *parts;
    int count;
    int file;
    uint64_t offset;
    size_t bytes;
} source;

/* *size: 0 at the end of the file. */
static nb_status fill(const source *from, size_t skip, char *record, size_t *size) {
    if (from->parts) {
        *size = gather(record, from->parts, from->count, skip);
        return NB_OK;
    }
    size_t most = from->bytes - skip < RECORD_BYTES ? from->bytes - skip : RECORD_BYTES;
    ssize_t got;
    do {
        got = pread(from->file, record, most, (off_t)(from->offset + skip));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return NB_SYSTEM;
    *size = (size_t)got;
    return got == 0 ? NB_EOF : NB_OK;
}

static nb_status send_from(nb_transport *transport, const source *from, size_t *moved) {
    session *tls = transport->tls;
    char record[RECORD_BYTES];
    size_t total = 0;
    nb_status status = NB_OK;
    while (status == NB_OK && total < from->bytes) {
        size_t size = 0;
        /* Before the lock is taken, as the disk may be slow. */
        if (!tls->pending && !tls->ahead) status = fill(from, total, record, &size);
        lock(transport);
        if (status == NB_OK && !tls->ahead) status = send_record(tls, record, size);
        total += take_ahead(tls, from->bytes - total);
        unlock(transport);
    }
    *moved = total;
    return status;
}

static nb_status tls_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    source from = {.parts = parts, .count = count};
    (void)more;
    for (int i = 0; i < count; i++) {
        from.bytes += parts[i].iov_len;
    }
    return send_from(transport, &from, moved);
}

static nb_status tls_sendfile(nb_transport *transport, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    source from = {.file = file_fd, .offset = offset, .bytes = bytes};
    return send_from(transport, &from, moved);
}

static nb_status tls_wait(nb_transport *transport, int timeout_ms) {
    return nb_net_wait_writable(transport->fd, timeout_ms);
}

static bool tls_peer_finished(nb_transport *transport) {
    char byte;
    session *tls = transport->tls;
    if (!tls->done) return nb_net_peer_finished(transport->fd);
    lock(transport);
    int got = SSL_peek(tls->ssl, &byte, 1);
    bool finished = got <= 0 && status_of(tls, got) != NB_AGAIN;
    unlock(transport);
    return finished;
}

/* --- records made by the kernel --- */

/* Nothing leaves once the client waits for other keys. */
static nb_status may_send(const session *tls) {
    if (!tls->broken) return NB_OK;
    errno = EPROTO;
    return NB_SYSTEM;
}

/* Bytes that follow may come late, and the kernel would keep the record open for them: `more` is
 * not passed on. */
static nb_status kernel_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    (void)more;
    lock(transport);
    nb_status status = may_send(transport->tls);
    if (status == NB_OK) status = nb_net_writev(transport->fd, parts, count, moved);
    unlock(transport);
    return status;
}

/* The call is made without the lock, as it may wait for the disk. What a client's new keys meet
 * meanwhile ends the connection, as it would a moment later. */
static nb_status kernel_sendfile(nb_transport *transport, int file_fd, uint64_t offset, size_t bytes, size_t *moved) {
    lock(transport);
    nb_status status = may_send(transport->tls);
    unlock(transport);
    return status == NB_OK ? nb_os_sendfile(transport->fd, file_fd, offset, bytes, moved) : status;
}

static nb_status kernel_read(nb_transport *transport, void *buffer, size_t bytes, size_t *moved) {
    lock(transport);
    nb_status status = read_records(transport, buffer, bytes, moved);
    if (transport->tls->rekeyed) {
        errno = EPROTO;
        status = NB_SYSTEM;
    }
    unlock(transport);
    return status;
}

/* RFC 8446 section 4.6.3. OpenSSL answers it by the keys of the kernel, which stay the old ones. */
static void note_key_update(int writes, int version, int type, const void *bytes, size_t size, SSL *ssl,
                            void *argument) {
    session *tls = argument;
    const unsigned char *message = bytes;
    (void)version, (void)ssl;
    if (writes || type != SSL3_RT_HANDSHAKE || size <= SSL3_HM_HEADER_LENGTH) return;
    if (message[0] != SSL3_MT_KEY_UPDATE || message[SSL3_HM_HEADER_LENGTH] != SSL_KEY_UPDATE_REQUESTED) return;
    tls->broken = tls->rekeyed = true;
}

/* --- the end --- */

/* Says that we send nothing more (close_notify). Does not wait for the client's. NB_AGAIN: the
 * socket takes nothing now. Where it cannot be said, NB_OK. */
static nb_status say_end(nb_transport *transport) {
    session *tls = transport->tls;
    nb_status status = NB_OK;
    lock(transport);
    if (tls->done && !tls->broken && !tls->pending && !tls->said) {
        int result = SSL_shutdown(tls->ssl);
        if (result < 0 && SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_WRITE) status = NB_AGAIN;
        tls->said = status == NB_OK;
    }
    ERR_clear_error();
    unlock(transport);
    return status;
}

static nb_status tls_finish(nb_transport *transport) {
    nb_status status = say_end(transport);
    if (status == NB_OK) nb_net_finish(transport->fd);
    return status;
}

static void tls_abort(nb_transport *transport, int reset) { nb_net_abort(transport->fd, reset != 0); }

static void free_session(session *tls) {
    drop_pending(tls);
    nb_free(tls->client);
    SSL_free(tls->ssl);
    BIO_free(tls->kernel);
    nb_tls_context_release(tls->context);
    pthread_mutex_destroy(&tls->lock);
    nb_free(tls);
}

static void tls_close(nb_transport *transport, int reset) {
    if (!reset) (void)say_end(transport);
    free_session(transport->tls);
    nb_net_close(transport->fd, reset != 0);
    *transport = (nb_transport){.kind = transport->kind, .fd = -1};
}

static const nb_transport_kind tls_kind = {
    .name = "tls",
    .read = tls_read,
    .writev = tls_writev,
    .sendfile = tls_sendfile,
    .wait = tls_wait,
    .peer_finished = tls_peer_finished,
    .finish = tls_finish,
    .abort = tls_abort,
    .close = tls_close,
};

static const nb_transport_kind kernel_kind = {
    .name = "tls in the kernel",
    .read = kernel_read,
    .writev = kernel_writev,
    .sendfile = kernel_sendfile,
    .wait = tls_wait,
    .peer_finished = tls_peer_finished,
    .finish = tls_finish,
    .abort = tls_abort,
    .close = tls_close,
};

nb_status nb_transport_tls_init(nb_transport *transport, int fd, nb_tls_context *context) {
    session *tls = nb_alloc_zero(1, sizeof(*tls));
    if (!tls) return NB_NO_MEMORY;
    if (pthread_mutex_init(&tls->lock, NULL) != 0) {
        nb_free(tls);
        return NB_NO_MEMORY;
    }
    tls->context = nb_tls_context_share(context);
    *transport = (nb_transport){.kind = &tls_kind, .fd = fd, .tls = tls};
    return NB_OK;
}

/* --- the handshake --- */

/* Of a client's certificate that was not accepted. */
static nb_handshake_outcome client_outcome(long verified) {
    switch (verified) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return NB_HANDSHAKE_client_expired;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return NB_HANDSHAKE_client_unknown;
    default:
        return NB_HANDSHAKE_client_invalid;
    }
}

static nb_handshake_outcome outcome_of(const SSL *ssl, int reason, int result) {
    switch (reason) {
    case SSL_R_HTTP_REQUEST:
        return NB_HANDSHAKE_plain;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_VERSION_NUMBER:
        return NB_HANDSHAKE_version;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        return NB_HANDSHAKE_cipher;
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return NB_HANDSHAKE_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return NB_HANDSHAKE_client_missing;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return client_outcome(SSL_get_verify_result(ssl));
    case ERR_R_MALLOC_FAILURE:
        return NB_HANDSHAKE_failed;
    default:
        break;
    }
    if (reason >= SSL_AD_REASON_OFFSET) return NB_HANDSHAKE_alert;
    return reason == 0 || result == 0 ? NB_HANDSHAKE_left : NB_HANDSHAKE_broken;
}

static void note_failure(const session *tls, int result, nb_tls_facts *facts) {
    unsigned long code = ERR_peek_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    facts->outcome = tls->socket_error ? NB_HANDSHAKE_left : outcome_of(tls->ssl, ERR_GET_REASON(code), result);
    if (!reason) return;
    size_t size = strnlen(reason, sizeof(facts->reason) - 1);
    memcpy(facts->reason, reason, size);
}

static nb_status begin(nb_transport *transport) {
    session *tls = transport->tls;
    SSL *ssl = nb_tls_context_open(tls->context, &tls->opening);
    BIO *bio = ssl ? new_socket(transport) : NULL;
    if (!bio) {
        SSL_free(ssl);
        return NB_NO_MEMORY;
    }
    prepare_kernel(transport);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    tls->ssl = ssl;
    return NB_OK;
}

static void note_agreement(const SSL *ssl, nb_tls_facts *facts) {
    const unsigned char *protocol = NULL;
    unsigned int size = 0;
    facts->outcome = SSL_session_reused(ssl) ? NB_HANDSHAKE_resumed : NB_HANDSHAKE_full;
    facts->version = (uint16_t)SSL_version(ssl);
    facts->cipher = SSL_get_cipher_name(ssl);
    SSL_get0_alpn_selected(ssl, &protocol, &size);
    if (size && size < sizeof(facts->protocol)) memcpy(facts->protocol, protocol, size);
}

/* --- the client's certificate --- */

static bool add_name(BIO *text, const X509_NAME *name) {
    return X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253) >= 0 && BIO_write(text, "", 1) == 1;
}

static bool add_serial(BIO *text, X509 *certificate) {
    return i2a_ASN1_INTEGER(text, X509_get_serialNumber(certificate)) > 0 && BIO_write(text, "", 1) == 1;
}

static bool write_certificate(BIO *text, X509 *certificate) {
    return BIO_write(text, "V", 1) == 1 && add_name(text, X509_get_subject_name(certificate)) &&
           add_name(text, X509_get_issuer_name(certificate)) && add_serial(text, certificate) &&
           PEM_write_bio_X509(text, certificate) == 1 && BIO_write(text, "", 1) == 1;
}

static nb_status keep_client(session *tls, const char *bytes, size_t size) {
    tls->client = nb_alloc(size);
    if (!tls->client) return NB_NO_MEMORY;
    memcpy(tls->client, bytes, size);
    tls->client_bytes = size;
    return NB_OK;
}

/* OpenSSL has verified it: else the handshake has failed. */
static nb_status note_client(session *tls) {
    if (SSL_get_verify_mode(tls->ssl) == SSL_VERIFY_NONE) return NB_OK;
    X509 *certificate = SSL_get_peer_certificate(tls->ssl);
    if (!certificate) return keep_client(tls, "N", 1);
    char *bytes;
    nb_status status = NB_NO_MEMORY;
    BIO *text = BIO_new(BIO_s_mem());
    if (text && write_certificate(text, certificate)) {
        long size = BIO_get_mem_data(text, &bytes);
        status = (size_t)size > NB_TLS_CLIENT_BYTES_MAX ? NB_OVER_LIMIT : keep_client(tls, bytes, (size_t)size);
    }
    BIO_free(text);
    X509_free(certificate);
    return status;
}

nb_slice nb_transport_tls_client(const nb_transport *transport) {
    const session *tls = transport->tls;
    return tls ? nb_slice_of(tls->client, tls->client_bytes) : nb_slice_of(NULL, 0);
}

static void serve_by_kernel(nb_transport *transport) {
    transport->kind = &kernel_kind;
    SSL_set_msg_callback(transport->tls->ssl, note_key_update);
    SSL_set_msg_callback_arg(transport->tls->ssl, transport->tls);
}

static nb_status take_step(nb_transport *transport, nb_tls_facts *facts) {
    session *tls = transport->tls;
    if (!tls->ssl && begin(transport) != NB_OK) {
        facts->outcome = NB_HANDSHAKE_failed;
        return NB_SYSTEM;
    }
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        nb_status noted = note_client(tls);
        if (noted != NB_OK) {
            facts->outcome = noted == NB_OVER_LIMIT ? NB_HANDSHAKE_client_invalid : NB_HANDSHAKE_failed;
            return NB_SYSTEM;
        }
        tls->done = true;
        facts->kernel = in_kernel(tls);
        if (facts->kernel) serve_by_kernel(transport);
        note_agreement(tls->ssl, facts);
        transport->unread = SSL_has_pending(tls->ssl);
        return NB_OK;
    }
    int error = SSL_get_error(tls->ssl, result);
    facts->wants_write = error == SSL_ERROR_WANT_WRITE;
    facts->heard = tls->heard;
    facts->heavy = error == SSL_ERROR_WANT_X509_LOOKUP || error == SSL_ERROR_WANT_CLIENT_HELLO_CB;
    if (facts->heavy || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return NB_AGAIN;
    note_failure(tls, result, facts);
    tls->broken = true;
    if (facts->outcome == NB_HANDSHAKE_plain) nb_net_turn_away(transport->fd, plain_answer, sizeof(plain_answer) - 1);
    return NB_SYSTEM;
}

nb_status nb_transport_tls_handshake(nb_transport *transport, nb_tls_effort effort, nb_tls_facts *facts) {
    memset(facts, 0, sizeof(*facts));
    lock(transport);
    transport->tls->opening.effort = effort;
    nb_status status = take_step(transport, facts);
    ERR_clear_error();
    unlock(transport);
    return status;
}

#endif
