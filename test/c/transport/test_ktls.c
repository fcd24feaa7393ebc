/*
 * test_ktls.c - the TLS transport where the kernel makes the records that are sent. The kernel's
 * part is played here, as most machines of a test have no kTLS: setsockopt(2) takes the keys that
 * OpenSSL gives, and send(2), sendmsg(2) and sendfile(2) make records of AES-128-GCM, some bytes a
 * call, as linux/Documentation/networking/tls.rst describes. A client of OpenSSL reads them.
 * Where this machine's kernel has kTLS, the last test has it do the same.
 */
#include "transport/transport.h"

#include "support/test.h"
#include "tls/tls.h"

#if defined(__linux__) && defined(NB_HAVE_TLS) && __has_include(<linux/tls.h>)

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/file.h"
#include "support/tls_peer.h"

#ifndef SOL_TLS
#define SOL_TLS 282
#endif

#define RECORD_BYTES 16384
#define QUEUE_BYTES 70000

/* --- the kernel's part --- */

typedef struct kernel {
    bool present;                      /* it has the module; else calls go to the real kernel */
    bool refuses;                      /* it takes no keys */
    int fd;                            /* the only connection with kTLS; -1: none */
    bool sends;                        /* it has the keys */
    size_t most;                       /* plain bytes of one call */
    uint64_t number;                   /* of the next record */
    size_t by_send, by_file, messages; /* plain bytes and messages that it took */
    struct tls12_crypto_info_aes_gcm_128 keys;
    size_t queued, left; /* sealed bytes; those that the socket did not take */
    unsigned char queue[QUEUE_BYTES];
} kernel;

static kernel fake;

static void reset_kernel(void) {
    memset(&fake, 0, sizeof fake);
    fake.present = true;
    fake.fd = -1;
    fake.most = RECORD_BYTES;
}

/* Sends what is sealed. False: the socket is full. */
static bool push(void) {
    while (fake.left > 0) {
        long sent = syscall(SYS_sendto, fake.fd, fake.queue + (fake.queued - fake.left), fake.left,
                            MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
        if (sent <= 0) return false;
        fake.left -= (size_t)sent;
    }
    fake.queued = 0;
    return true;
}

static void put_number(unsigned char out[8], uint64_t number) {
    for (int i = 7; i >= 0; i--, number >>= 8)
        out[i] = (unsigned char)number;
}

/* RFC 8446 section 5.2, RFC 5288 section 3. */
static void seal(unsigned char type, const unsigned char *bytes, size_t size) {
    bool tls13 = fake.keys.info.version == TLS_1_3_VERSION;
    unsigned char nonce[12], number[8], extra[13], *record = fake.queue + fake.queued;
    size_t extra_bytes = tls13 ? 5 : 13, head = tls13 ? 5 : 13, body = size + (tls13 ? 1 : 0);
    int moved;
    put_number(number, fake.number++);
    memcpy(nonce, fake.keys.salt, 4);
    memcpy(nonce + 4, fake.keys.iv, 8);
    for (int i = 0; i < 8 && tls13; i++)
        nonce[4 + i] ^= number[i];
    if (!tls13) memcpy(nonce + 4, number, 8);
    record[0] = tls13 ? 23 : type;
    record[1] = record[2] = 3;
    record[3] = (unsigned char)((head - 5 + body + 16) >> 8);
    record[4] = (unsigned char)(head - 5 + body + 16);
    if (tls13) {
        memcpy(extra, record, 5);
    } else {
        memcpy(record + 5, nonce + 4, 8);
        memcpy(extra, number, 8);
        memcpy(extra + 8, record, 3);
        extra[11] = (unsigned char)(size >> 8);
        extra[12] = (unsigned char)size;
    }
    memcpy(record + head, bytes, size);
    if (tls13) record[head + size] = type;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    assert_non_null(cipher);
    assert_int_equal(1, EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, fake.keys.key, nonce));
    assert_int_equal(1, EVP_EncryptUpdate(cipher, NULL, &moved, extra, (int)extra_bytes));
    assert_int_equal(1, EVP_EncryptUpdate(cipher, record + head, &moved, record + head, (int)body));
    assert_int_equal(1, EVP_EncryptFinal_ex(cipher, record + head + body, &moved));
    assert_int_equal(1, EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, record + head + body));
    EVP_CIPHER_CTX_free(cipher);
    fake.queued += head + body + 16;
    fake.left += head + body + 16;
}

static ssize_t take(unsigned char type, const void *bytes, size_t size) {
    if (!push()) {
        errno = EAGAIN;
        return -1;
    }
    size_t taken = size < fake.most ? size : fake.most;
    seal(type, bytes, taken);
    (void)push();
    return (ssize_t)taken;
}

static bool with_kernel(int fd) { return fake.present && fake.sends && fd == fake.fd; }

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    if (fake.present && level == IPPROTO_TCP && name == TCP_ULP) {
        struct sockaddr_storage peer;
        socklen_t peer_room = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &peer_room) != 0) {
            errno = ENOTCONN;
            return -1;
        }
        fake.fd = fd;
        return 0;
    }
    if (fake.present && level == SOL_TLS) {
        if (fake.refuses || name != TLS_TX || fd != fake.fd || size != sizeof fake.keys) {
            errno = ENOPROTOOPT;
            return -1;
        }
        memcpy(&fake.keys, value, sizeof fake.keys);
        for (int i = 0; i < 8; i++)
            fake.number = fake.number << 8 | fake.keys.rec_seq[i];
        fake.sends = true;
        return 0;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, size);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    if (!with_kernel(fd)) return (ssize_t)syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
    ssize_t sent = take(23, bytes, size);
    if (sent > 0) fake.by_send += (size_t)sent;
    return sent;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (!with_kernel(fd)) return (ssize_t)syscall(SYS_sendmsg, fd, message, flags);
    unsigned char type = 23, bytes[RECORD_BYTES];
    size_t size = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        size_t part = message->msg_iov[i].iov_len;
        if (part > sizeof bytes - size) part = sizeof bytes - size;
        if (part) memcpy(bytes + size, message->msg_iov[i].iov_base, part);
        size += part;
    }
    const struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (!control) return send(fd, bytes, size, flags);
    assert_int_equal(SOL_TLS, control->cmsg_level);
    assert_int_equal(TLS_SET_RECORD_TYPE, control->cmsg_type);
    type = *CMSG_DATA(control);
    ssize_t sent = take(type, bytes, size);
    if (sent > 0) fake.messages++;
    return sent;
}

ssize_t sendfile(int fd, int file, off_t *offset, size_t size) {
    if (!with_kernel(fd)) return (ssize_t)syscall(SYS_sendfile, fd, file, offset, size);
    char bytes[RECORD_BYTES];
    ssize_t got = pread(file, bytes, size < sizeof bytes ? size : sizeof bytes, *offset);
    if (got <= 0) return got;
    ssize_t sent = take(23, bytes, (size_t)got);
    if (sent > 0) fake.by_file += (size_t)sent;
    return sent;
}

/* --- a connection --- */

typedef struct pair {
    nb_tls_context *context;
    nb_transport near;
    tls_client client;
    int far;
    nb_tls_facts facts;
} pair;

static tls_identity identity;

static nb_tls_context *context_with(bool kernel_wanted) {
    nb_tls_settings settings;
    nb_tls_context *context;
    nb_tls_error error;
    nb_tls_settings_default(&settings);
    assert_true(settings.kernel);
    settings.kernel = kernel_wanted;
    assert_status(NB_OK, nb_tls_context_create(&settings, &context, &error));
    assert_status(NB_OK, nb_tls_context_add(context, identity.names, identity.count,
                                            nb_slice_of(identity.chain, strlen(identity.chain)),
                                            nb_slice_of(identity.key, strlen(identity.key)), &error));
    return context;
}

static void connect_ends(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0 && ends[1] >= 0);
    assert_int_equal(0, bind(listener, (struct sockaddr *)&address, size));
    assert_int_equal(0, listen(listener, 1));
    assert_int_equal(0, getsockname(listener, (struct sockaddr *)&address, &size));
    assert_int_equal(0, connect(ends[1], (struct sockaddr *)&address, size));
    ends[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(ends[0] >= 0);
    assert_int_equal(0, fcntl(ends[1], F_SETFL, O_NONBLOCK));
    close(listener);
}

/* Bytes take a moment from one end to the other. */
static void await_bytes(int fd) {
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    (void)poll(&waited, 1, 1);
}

static void shake_hands(pair *p, nb_tls_context *context, int version) {
    int ends[2];
    connect_ends(ends);
    *p = (pair){.context = context, .far = ends[1]};
    assert_status(NB_OK, nb_transport_tls_init(&p->near, ends[0], context));
    tls_client_open(&p->client, p->far, "one.example");
    SSL_set_min_proto_version(p->client.ssl, version);
    SSL_set_max_proto_version(p->client.ssl, version);
    assert_int_equal(1, SSL_set_ciphersuites(p->client.ssl, "TLS_AES_128_GCM_SHA256"));
    assert_int_equal(1, SSL_set_cipher_list(p->client.ssl, "ECDHE-ECDSA-AES128-GCM-SHA256"));
    nb_status status = NB_AGAIN;
    bool client_done = false;
    for (int i = 0; i < 10000 && (status == NB_AGAIN || !client_done); i++) {
        client_done = tls_client_step(&p->client);
        if (status == NB_AGAIN) status = nb_transport_tls_handshake(&p->near, NB_TLS_ALL, &p->facts);
        if (fake.present) (void)push();
        await_bytes(p->far);
    }
    assert_status(NB_OK, status);
    assert_true(client_done);
}

static void close_pair(pair *p) {
    tls_client_free(&p->client);
    p->near.kind->close(&p->near, 0);
    close(p->far);
    nb_tls_context_release(p->context);
}

/* Returns how many bytes the client has read; 0: none yet. */
static size_t client_reads(pair *p, void *bytes, size_t room) {
    if (fake.present) (void)push();
    int got = SSL_read(p->client.ssl, bytes, (int)room);
    if (got > 0) return (size_t)got;
    assert_int_equal(SSL_ERROR_WANT_READ, SSL_get_error(p->client.ssl, got));
    await_bytes(p->far);
    return 0;
}

static void expect(pair *p, const char *text) {
    char got[256] = "";
    size_t size = 0;
    while (size < strlen(text))
        size += client_reads(p, got + size, strlen(text) - size);
    assert_string_equal(text, got);
}

static void send_text(pair *p, const char *text) {
    size_t moved = 0;
    struct iovec parts[] = {{(char *)(uintptr_t)text, 1}, {(char *)(uintptr_t)text + 1, strlen(text) - 1}};
    assert_status(NB_OK, p->near.kind->writev(&p->near, parts, 2, 1, &moved));
    assert_int_equal(strlen(text), moved);
}

static nb_status server_reads(pair *p, char *bytes, size_t room, size_t *moved) {
    nb_status status = NB_AGAIN;
    for (int i = 0; i < 10000 && status == NB_AGAIN; i++) {
        status = p->near.kind->read(&p->near, bytes, room, moved);
        if (status == NB_AGAIN) await_bytes(p->near.fd);
    }
    return status;
}

static void server_hears(pair *p, const char *text) {
    char bytes[64];
    size_t moved = 0;
    assert_int_equal(strlen(text), SSL_write(p->client.ssl, text, (int)strlen(text)));
    assert_status(NB_OK, server_reads(p, bytes, sizeof bytes, &moved));
    assert_int_equal(strlen(text), moved);
    assert_memory_equal(text, bytes, moved);
}

/* --- tests --- */

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static int begin(void **state) {
    (void)state;
    reset_kernel();
    return 0;
}

static void needs_openssl_3(void) {
    if (!nb_tls_kernel()) skip();
}

static void bytes_leave_by_the_kernel(void **state) {
    (void)state;
    needs_openssl_3();
    for (size_t i = 0; i < 2; i++) {
        pair p = {0};
        reset_kernel();
        shake_hands(&p, context_with(true), versions[i]);
        assert_true(p.facts.kernel);
        size_t messages = fake.messages;
        send_text(&p, "hello");
        expect(&p, "hello");
        server_hears(&p, "and back");
        send_text(&p, "more");
        expect(&p, "more");
        assert_int_equal(9, fake.by_send);
        assert_int_equal(messages, fake.messages);
        if (versions[i] == TLS1_3_VERSION) assert_non_null(p.client.session); /* the ticket */
        close_pair(&p);
    }
}

/* Sends a pattern by bytes and by ranges of a file, with limits that change from call to call,
 * while the client reads slowly. */
static void sends_all(pair *p, uint8_t *bytes, size_t size, int file) {
    nb_test_random random = {7};
    size_t sent = 0, seen = 0;
    bool was_full = false;
    while (seen < size) {
        uint8_t got[3000];
        size_t most = size - sent, moved = 0, limit = 1 + nb_test_random_below(&random, 60000);
        if (most > limit) most = limit;
        fake.most = 1 + nb_test_random_below(&random, RECORD_BYTES);
        if (most > 0) {
            struct iovec parts[] = {{bytes + sent, most / 2}, {bytes + sent + most / 2, most - most / 2}};
            nb_status status = nb_test_random_below(&random, 2)
                                   ? p->near.kind->sendfile(&p->near, file, sent, most, &moved)
                                   : p->near.kind->writev(&p->near, parts, 2, 0, &moved);
            assert_true(status == NB_OK || status == NB_AGAIN);
            was_full = was_full || (status == NB_AGAIN && moved == 0);
            assert_true(moved <= most);
            sent += moved;
        }
        size_t read = client_reads(p, got, 1 + nb_test_random_below(&random, sizeof(got)));
        assert_memory_equal(bytes + seen, got, read);
        seen += read;
    }
    assert_int_equal(size, sent);
    assert_true(was_full);
}

static int pattern(uint8_t **bytes, size_t size) {
    int file;
    *bytes = malloc(size);
    assert_non_null(*bytes);
    for (size_t i = 0; i < size; i++)
        (*bytes)[i] = (uint8_t)(i * 31 + i / 251);
    assert_status(NB_OK, nb_file_temporary("/tmp", &file));
    assert_status(NB_OK, nb_file_write_all(file, (const char *)*bytes, size));
    return file;
}

#define PATTERN_BYTES 9000000

static void files_leave_by_the_kernel(void **state) {
    (void)state;
    needs_openssl_3();
    uint8_t *bytes;
    int file = pattern(&bytes, PATTERN_BYTES);
    for (size_t i = 0; i < 2; i++) {
        pair p = {0};
        size_t moved;
        reset_kernel();
        shake_hands(&p, context_with(true), versions[i]);
        sends_all(&p, bytes, PATTERN_BYTES, file);
        assert_true(fake.by_file > 0 && fake.by_send > 0);
        assert_int_equal(PATTERN_BYTES, fake.by_file + fake.by_send);
        assert_status(NB_EOF, p.near.kind->sendfile(&p.near, file, PATTERN_BYTES, 1, &moved));
        close_pair(&p);
    }
    free(bytes);
    close(file);
}

static void our_end_is_told(void **state) {
    (void)state;
    needs_openssl_3();
    for (size_t i = 0; i < 2; i++) {
        pair p = {0};
        char byte;
        reset_kernel();
        shake_hands(&p, context_with(true), versions[i]);
        send_text(&p, "end");
        expect(&p, "end");
        p.near.kind->finish(&p.near);
        int got = 0;
        for (int tries = 0; tries < 10000; tries++) {
            got = SSL_read(p.client.ssl, &byte, 1);
            if (SSL_get_error(p.client.ssl, got) != SSL_ERROR_WANT_READ) break;
            await_bytes(p.far);
        }
        assert_int_equal(SSL_ERROR_ZERO_RETURN, SSL_get_error(p.client.ssl, got));
        close_pair(&p);
    }
}

static void a_client_that_asks_for_other_keys_ends_the_connection(void **state) {
    (void)state;
    needs_openssl_3();
    pair p = {0};
    char bytes[16];
    size_t moved;
    struct iovec part = {bytes, 1};
    shake_hands(&p, context_with(true), TLS1_3_VERSION);
    /* It changes its own keys: that is between it and OpenSSL. */
    assert_int_equal(1, SSL_key_update(p.client.ssl, SSL_KEY_UPDATE_NOT_REQUESTED));
    server_hears(&p, "x");
    send_text(&p, "still there");
    expect(&p, "still there");
    assert_int_equal(1, SSL_key_update(p.client.ssl, SSL_KEY_UPDATE_REQUESTED));
    assert_int_equal(1, SSL_write(p.client.ssl, "y", 1));
    assert_status(NB_SYSTEM, server_reads(&p, bytes, sizeof bytes, &moved));
    assert_int_equal(EPROTO, errno);
    size_t taken = fake.by_send;
    assert_status(NB_SYSTEM, p.near.kind->writev(&p.near, &part, 1, 0, &moved));
    assert_status(NB_SYSTEM, p.near.kind->sendfile(&p.near, p.far, 0, 1, &moved));
    assert_int_equal(taken, fake.by_send);
    assert_int_equal(0, fake.by_file);
    close_pair(&p);
}

static void serves_without(bool wanted, int version) {
    pair p = {0};
    shake_hands(&p, context_with(wanted), version);
    assert_false(p.facts.kernel);
    send_text(&p, "hello");
    expect(&p, "hello");
    server_hears(&p, "and back");
    assert_int_equal(0, fake.by_send + fake.messages);
    close_pair(&p);
}

static void a_kernel_that_takes_no_keys_is_not_used(void **state) {
    (void)state;
    needs_openssl_3();
    for (size_t i = 0; i < 2; i++) {
        reset_kernel();
        fake.refuses = true;
        serves_without(true, versions[i]);
        assert_true(fake.fd >= 0); /* it was asked */
    }
}

static void the_setting_leaves_the_kernel_alone(void **state) {
    (void)state;
    needs_openssl_3();
    for (size_t i = 0; i < 2; i++) {
        reset_kernel();
        serves_without(false, versions[i]);
        assert_int_equal(-1, fake.fd); /* it was not asked */
    }
}

static void a_client_that_is_gone_is_told(void **state) {
    (void)state;
    needs_openssl_3();
    pair p = {0};
    char byte = 'x';
    size_t moved = 0;
    struct iovec part = {&byte, 1};
    nb_status status = NB_OK;
    shake_hands(&p, context_with(true), TLS1_3_VERSION);
    fake.present = false; /* whose socket the real kernel has */
    close(p.far);
    for (int i = 0; i < 10000 && status == NB_OK; i++)
        status = p.near.kind->writev(&p.near, &part, 1, 0, &moved);
    assert_status(NB_SYSTEM, status);
    close_pair(&p);
}

/* The same connection, with the kernel that runs here. */
static void this_kernel_does_it(void **state) {
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    fake.present = false;
    int result = setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls");
    bool has = result == 0 || errno == ENOTCONN;
    close(fd);
    if (!has || !nb_tls_kernel()) skip();
    uint8_t *bytes;
    int file = pattern(&bytes, PATTERN_BYTES);
    for (size_t i = 0; i < 2; i++) {
        pair p = {0};
        shake_hands(&p, context_with(true), versions[i]);
        assert_true(p.facts.kernel);
        send_text(&p, "hello");
        expect(&p, "hello");
        server_hears(&p, "and back");
        sends_all(&p, bytes, PATTERN_BYTES, file);
        close_pair(&p);
    }
    free(bytes);
    close(file);
}

static int prepare(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN); /* as the process that has the transport does */
    nb_test_alarm(120);
    identity = tls_identity_make("one.example", TLS_KEY_EC);
    return 0;
}

static int finish(void **state) {
    (void)state;
    tls_identity_free(&identity);
    return nb_alloc_live() == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bytes_leave_by_the_kernel, begin),
        cmocka_unit_test_setup(files_leave_by_the_kernel, begin),
        cmocka_unit_test_setup(our_end_is_told, begin),
        cmocka_unit_test_setup(a_client_that_asks_for_other_keys_ends_the_connection, begin),
        cmocka_unit_test_setup(a_kernel_that_takes_no_keys_is_not_used, begin),
        cmocka_unit_test_setup(the_setting_leaves_the_kernel_alone, begin),
        cmocka_unit_test_setup(a_client_that_is_gone_is_told, begin),
        cmocka_unit_test_setup(this_kernel_does_it, begin),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}

#else

static void needs_linux_and_openssl(void **state) {
    (void)state;
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(needs_linux_and_openssl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
