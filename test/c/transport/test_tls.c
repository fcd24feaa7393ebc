/*
 * test_tls.c - the TLS transport: handshakes, bytes both ways, small windows, the end, and what a
 * client may do wrong. The client is OpenSSL's, over a pair of sockets that do not block.
 */
#include "transport/transport.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

#ifdef NB_HAVE_TLS

#include <stdio.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "os/file.h"
#include "support/tls_pair.h"
#include "tls/tls.h"

static tls_identity identity, other, rsa, expired;

static void send_text(pair *p, const char *text) {
    size_t moved = 0;
    struct iovec parts[] = {{(char *)(uintptr_t)text, 1}, {(char *)(uintptr_t)text + 1, strlen(text) - 1}};
    assert_status(NB_OK, p->near.kind->writev(&p->near, parts, 2, 0, &moved));
    assert_int_equal(strlen(text), moved);
}

static void expect(pair *p, const char *text) {
    char got[256] = "";
    assert_int_equal(strlen(text), SSL_read(p->client.ssl, got, sizeof(got) - 1));
    assert_string_equal(text, got);
}

static void bytes_go_and_come(void **state) {
    (void)state;
    pair p = {0};
    char bytes[16];
    size_t moved = 99;
    open_to(&p, tls_identity_context(&identity), "one.example");
    assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
    assert_int_equal(NB_TLS_1_3, p.facts.version);
    assert_status(NB_AGAIN, p.near.kind->read(&p.near, bytes, sizeof bytes, &moved));
    assert_int_equal(99, moved);
    send_text(&p, "hello");
    expect(&p, "hello");
    assert_int_equal(3, SSL_write(p.client.ssl, "xyz", 3));
    assert_status(NB_OK, p.near.kind->read(&p.near, bytes, 2, &moved));
    assert_int_equal(2, moved);
    assert_true(p.near.unread); /* nothing is left in the socket, and one byte here */
    assert_status(NB_OK, p.near.kind->read(&p.near, bytes, 2, &moved));
    assert_int_equal(1, moved);
    assert_false(p.near.unread);
    close_pair(&p);
}

static void asks_for_keys(pair *p) {
    char byte;
    size_t moved;
    if (SSL_key_update(p->client.ssl, SSL_KEY_UPDATE_REQUESTED) != 1) return;
    (void)SSL_do_handshake(p->client.ssl);
    assert_status(NB_AGAIN, p->near.kind->read(&p->near, &byte, 1, &moved));
}

/* Sends `size` bytes of a pattern through a socket that is often full, with limits that change from
 * call to call, and checks that the client gets each byte once. rekeys: the client asks for new
 * keys (RFC 8446 section 4.6.3), which are told before the next record. */
static void sends_through_a_narrow_socket(pair *p, uint8_t *bytes, size_t size, int file, bool rekeys) {
    int small = 4096;
    nb_test_random random = {7};
    size_t sent = 0, seen = 0;
    uint8_t got[3000];
    (void)setsockopt(p->near.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    while (seen < size) {
        size_t most = size - sent, moved = 0;
        size_t limit = 1 + nb_test_random_below(&random, 40000);
        if (most > limit) most = limit;
        if (most > 0) {
            size_t half = most / 2;
            struct iovec parts[] = {{bytes + sent, half}, {bytes + sent + half, most - half}};
            bool by_file = file >= 0 && nb_test_random_below(&random, 2);
            nb_status status = by_file ? p->near.kind->sendfile(&p->near, file, sent, most, &moved)
                                       : p->near.kind->writev(&p->near, parts, 2, 0, &moved);
            assert_true(status == NB_OK || status == NB_AGAIN);
            assert_true(moved <= most);
            sent += moved;
            if (rekeys && status == NB_OK) asks_for_keys(p);
        }
        int read = SSL_read(p->client.ssl, got, (int)nb_test_random_below(&random, sizeof(got)) + 1);
        if (read <= 0) continue;
        assert_memory_equal(bytes + seen, got, (size_t)read);
        seen += (size_t)read;
    }
    assert_int_equal(size, sent);
}

static void every_byte_leaves_once(void **state) {
    (void)state;
    pair p = {0};
    size_t size = 700000;
    int file;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 251);
    assert_status(NB_OK, nb_file_temporary("/tmp", &file));
    assert_status(NB_OK, nb_file_write_all(file, (const char *)bytes, size));
    open_to(&p, tls_identity_context(&identity), NULL);
    for (int rekeys = 0; rekeys < 2; rekeys++) {
        sends_through_a_narrow_socket(&p, bytes, size, -1, rekeys);
        sends_through_a_narrow_socket(&p, bytes, size, file, rekeys);
    }
    close_pair(&p);
    free(bytes);
    close(file);
}

static void a_file_that_ends_early_is_told(void **state) {
    (void)state;
    pair p = {0};
    int file;
    size_t moved;
    assert_status(NB_OK, nb_file_temporary("/tmp", &file));
    assert_status(NB_OK, nb_file_write_all(file, "0123456789", 10));
    open_to(&p, tls_identity_context(&identity), NULL);
    assert_status(NB_EOF, p.near.kind->sendfile(&p.near, file, 3, 100, &moved));
    assert_int_equal(7, moved);
    expect(&p, "3456789");
    assert_status(NB_EOF, p.near.kind->sendfile(&p.near, file, 10, 1, &moved));
    assert_int_equal(0, moved);
    close_pair(&p);
    close(file);
}

static void the_client_ends_in_order(void **state) {
    (void)state;
    pair p = {0};
    char byte;
    size_t moved;
    open_to(&p, tls_identity_context(&identity), NULL);
    assert_false(p.near.kind->peer_finished(&p.near));
    assert_int_equal(1, SSL_write(p.client.ssl, "z", 1));
    SSL_shutdown(p.client.ssl);
    assert_false(p.near.kind->peer_finished(&p.near));
    assert_status(NB_OK, p.near.kind->read(&p.near, &byte, 1, &moved));
    assert_true(p.near.unread);
    assert_true(p.near.kind->peer_finished(&p.near));
    assert_status(NB_EOF, p.near.kind->read(&p.near, &byte, 1, &moved));
    send_text(&p, "still sent");
    close_pair(&p);
}

/* Many clients send no close_notify. */
static void the_client_ends_without_a_word(void **state) {
    (void)state;
    pair p = {0};
    char byte;
    size_t moved;
    open_to(&p, tls_identity_context(&identity), NULL);
    shutdown(p.far, SHUT_WR);
    assert_true(p.near.kind->peer_finished(&p.near));
    assert_status(NB_EOF, p.near.kind->read(&p.near, &byte, 1, &moved));
    send_text(&p, "still sent");
    expect(&p, "still sent");
    close_pair(&p);
}

static void our_end_is_told(void **state) {
    (void)state;
    pair p = {0};
    char byte;
    open_to(&p, tls_identity_context(&identity), NULL);
    assert_status(NB_OK, p.near.kind->finish(&p.near));
    assert_int_equal(0, SSL_read(p.client.ssl, &byte, 1));
    assert_int_equal(SSL_RECEIVED_SHUTDOWN, SSL_get_shutdown(p.client.ssl) & SSL_RECEIVED_SHUTDOWN);
    close_pair(&p);
}

static void our_end_waits_for_a_client_that_takes_nothing(void **state) {
    (void)state;
    pair p = {0};
    int small = 4096;
    char byte = 'x', got[64];
    struct iovec part = {&byte, 1};
    size_t moved;
    open_to(&p, tls_identity_context(&identity), NULL);
    assert_int_equal(-1, SSL_read(p.client.ssl, got, 1)); /* the tickets */
    (void)setsockopt(p.near.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    while (p.near.kind->writev(&p.near, &part, 1, 0, &moved) == NB_OK) {
    }
    /* The record that was too much has room now, and fills the socket again. */
    while (p.near.kind->writev(&p.near, &part, 1, 0, &moved) == NB_AGAIN)
        assert_int_equal(1, SSL_read(p.client.ssl, got, 1));
    assert_status(NB_AGAIN, p.near.kind->finish(&p.near));
    while (SSL_read(p.client.ssl, got, sizeof(got)) > 0) {
    }
    assert_int_equal(0, SSL_get_shutdown(p.client.ssl));
    assert_status(NB_OK, p.near.kind->finish(&p.near));
    assert_int_equal(0, SSL_read(p.client.ssl, got, 1));
    assert_int_equal(SSL_RECEIVED_SHUTDOWN, SSL_get_shutdown(p.client.ssl) & SSL_RECEIVED_SHUTDOWN);
    close_pair(&p);
}

static void a_cut_connection_is_an_end(void **state) {
    (void)state;
    pair p = {0};
    char byte = 'x';
    size_t moved;
    struct iovec part = {&byte, 1};
    open_to(&p, tls_identity_context(&identity), NULL);
    close(p.far);
    p.far = -1;
    nb_status status = p.near.kind->read(&p.near, &byte, 1, &moved);
    assert_true(status == NB_EOF || status == NB_SYSTEM); /* a reset: the tickets were not read */
    /* And no SIGPIPE. */
    assert_status(NB_SYSTEM, p.near.kind->writev(&p.near, &part, 1, 0, &moved));
    close_pair(&p);
}

/* The client has its ticket, and the connection is over. */
static void take_ticket(pair *p) {
    char bytes[16];
    send_text(p, "x");
    /* The tickets come before it. */
    assert_int_equal(1, SSL_read(p->client.ssl, bytes, sizeof(bytes)));
    assert_non_null(p->client.session);
    tls_client_close(&p->client);
    p->near.kind->close(&p->near, 0);
    close(p->far);
}

/* The client comes again, and offers its ticket. */
static nb_status come_again(pair *p, nb_tls_context *context) {
    int ends[2];
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    p->far = ends[1];
    assert_status(NB_OK, nb_transport_tls_init(&p->near, ends[0], context));
    tls_client_again(&p->client, p->far, "one.example");
    return shake(p);
}

static void sessions_resume_also_after_a_new_key(void **state) {
    (void)state;
    pair p = {0};
    nb_tls_context *context = tls_identity_context(&identity);
    open_to(&p, context, "one.example");
    for (int i = 0; i < 4; i++) {
        take_ticket(&p);
        if (i == 1) nb_tls_tickets_rotate();
        assert_status(NB_OK, come_again(&p, context));
        assert_int_equal(NB_HANDSHAKE_resumed, p.facts.outcome);
    }
    close_pair(&p);
}

/* A light step leaves the private key alone, and slow groups. */
static void a_session_that_resumes_needs_no_heavy_step(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *groups; /* of the client that comes again */
        int heavy;
    } cases[] = {{TLS1_2_VERSION, "X25519:P-256", 0},
                 {TLS1_3_VERSION, "X25519", 0},
                 {TLS1_3_VERSION, "P-256", 0},
                 {TLS1_3_VERSION, "P-384", 1},
                 {TLS1_3_VERSION, "P-521:P-256", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        pair p = {0};
        nb_tls_context *context = tls_identity_context(&rsa);
        open_pair(&p, context);
        tls_client_open(&p.client, p.far, "one.example");
        assert_int_equal(1, SSL_CTX_set_max_proto_version(p.client.context, cases[i].version));
        assert_int_equal(1, SSL_set_max_proto_version(p.client.ssl, cases[i].version));
        assert_status(NB_OK, shake(&p));
        assert_int_equal(1, p.heavy);
        take_ticket(&p);
        assert_int_equal(1, SSL_CTX_set1_groups_list(p.client.context, cases[i].groups));
        assert_status(NB_OK, come_again(&p, context));
        assert_int_equal(NB_HANDSHAKE_resumed, p.facts.outcome);
        assert_int_equal(cases[i].heavy, p.heavy);
        close_pair(&p);
    }
}

static nb_tls_context *verifying(nb_tls_verify verify, const char *authorities) {
    nb_tls_settings settings;
    nb_tls_context *context;
    nb_tls_error error;
    nb_tls_settings_default(&settings);
    settings.verify = verify;
    settings.authorities = nb_slice_of(authorities, strlen(authorities));
    assert_status(NB_OK, nb_tls_context_create(&settings, &context, &error));
    assert_status(NB_OK, nb_tls_context_add(context, identity.names, identity.count,
                                            nb_slice_of(identity.chain, strlen(identity.chain)),
                                            nb_slice_of(identity.key, strlen(identity.key)), &error));
    return context;
}

/* All contexts of the process have the same ticket keys. */
static void a_session_does_not_resume_where_clients_are_asked_for_something_else(void **state) {
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    nb_tls_context *optional = verifying(NB_TLS_VERIFY_OPTIONAL, other.chain);
    nb_tls_context *same = verifying(NB_TLS_VERIFY_OPTIONAL, other.chain);
    nb_tls_context *others = verifying(NB_TLS_VERIFY_OPTIONAL, rsa.chain);
    nb_tls_context *required = verifying(NB_TLS_VERIFY_REQUIRED, other.chain);
    for (size_t i = 0; i < 2; i++) {
        pair p = {0};
        open_pair(&p, tls_identity_context(&identity));
        tls_client_open(&p.client, p.far, NULL);
        assert_int_equal(1, SSL_CTX_set_max_proto_version(p.client.context, versions[i]));
        assert_int_equal(1, SSL_set_max_proto_version(p.client.ssl, versions[i]));
        assert_status(NB_OK, shake(&p));
        take_ticket(&p);
        assert_status(NB_OK, come_again(&p, optional));
        assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
        take_ticket(&p);
        assert_status(NB_OK, come_again(&p, same));
        assert_int_equal(NB_HANDSHAKE_resumed, p.facts.outcome);
        take_ticket(&p);
        assert_status(NB_OK, come_again(&p, others));
        assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
        take_ticket(&p);
        assert_status(NB_SYSTEM, come_again(&p, required));
        assert_int_equal(NB_HANDSHAKE_client_missing, p.facts.outcome);
        close_pair(&p);
    }
    nb_tls_context_release(optional);
    nb_tls_context_release(same);
    nb_tls_context_release(others);
    nb_tls_context_release(required);
}

static void an_old_ticket_is_a_full_handshake(void **state) {
    (void)state;
    pair p = {0};
    open_to(&p, tls_identity_context(&identity), "one.example");
    take_ticket(&p);
    nb_tls_tickets_rotate();
    nb_tls_tickets_rotate();
    assert_status(NB_OK, come_again(&p, p.context));
    assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
    close_pair(&p);
}

static void the_name_chooses_the_certificate(void **state) {
    (void)state;
    nb_tls_context *context = tls_identity_context(&identity);
    add(context, &other);
    serves_as(context, NULL, "one.example");
    serves_as(context, "unknown.example", "one.example");
    serves_as(context, "two.example", "two.example");
    serves_as(context, "TWO.Example", "two.example");
    serves_as(context, "any.two.example", "two.example");
    serves_as(context, "a.b.two.example", "one.example");
    nb_tls_context_release(context);
}

/* A client that knows RSA alone gets the RSA certificate of the same name. */
static void two_kinds_of_keys_stand_side_by_side(void **state) {
    (void)state;
    pair p = {0};
    nb_tls_context *context = tls_identity_context(&identity);
    add(context, &rsa);
    open_pair(&p, context);
    tls_client_open(&p.client, p.far, "one.example");
    SSL_set_max_proto_version(p.client.ssl, TLS1_2_VERSION);
    assert_int_equal(1, SSL_set_cipher_list(p.client.ssl, "ECDHE-RSA-AES128-GCM-SHA256"));
    assert_status(NB_OK, shake(&p));
    assert_int_equal(NB_TLS_1_2, p.facts.version);
    close_pair(&p);
}

#ifdef NB_HAVE_HTTP2
#define BEST_PROTOCOL "h2"
#else
#define BEST_PROTOCOL "http/1.1"
#endif

static void protocols_are_agreed_upon(void **state) {
    (void)state;
    pair p = {0};
    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    assert_int_equal(0, SSL_set_alpn_protos(p.client.ssl, (const unsigned char *)"\x08http/1.1\x02h2", 12));
    assert_status(NB_OK, shake(&p));
    assert_string_equal(BEST_PROTOCOL, p.facts.protocol);
    close_pair(&p);
    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    assert_int_equal(0, SSL_set_alpn_protos(p.client.ssl, (const unsigned char *)"\x08http/1.1", 9));
    assert_status(NB_OK, shake(&p));
    assert_string_equal("http/1.1", p.facts.protocol);
    close_pair(&p);
}

static void a_failure_says_why(void **state) {
    (void)state;
    pair p = {0};
    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    assert_int_equal(0, SSL_set_alpn_protos(p.client.ssl, (const unsigned char *)"\x02h9", 3));
    assert_int_equal(NB_HANDSHAKE_protocol, fails(&p));

    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    SSL_set_security_level(p.client.ssl, 0);
    SSL_set_min_proto_version(p.client.ssl, TLS1_VERSION);
    SSL_set_max_proto_version(p.client.ssl, TLS1_1_VERSION);
    assert_int_equal(NB_HANDSHAKE_version, fails(&p));

    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    SSL_set_max_proto_version(p.client.ssl, TLS1_2_VERSION);
    assert_int_equal(1, SSL_set_cipher_list(p.client.ssl, "ECDHE-RSA-AES128-GCM-SHA256"));
    assert_int_equal(NB_HANDSHAKE_cipher, fails(&p));

    open_pair(&p, tls_identity_context(&identity));
    tls_client_open(&p.client, p.far, NULL);
    SSL_set_verify(p.client.ssl, SSL_VERIFY_PEER, NULL); /* which does not know our certificate */
    assert_int_equal(NB_HANDSHAKE_alert, fails(&p));
}

/* Of a server that trusts `other` alone. */
static nb_handshake_outcome fails_with(const tls_identity *shown) {
    pair p = {0};
    open_pair(&p, verifying(NB_TLS_VERIFY_OPTIONAL, other.chain));
    tls_client_open(&p.client, p.far, NULL);
    tls_client_show(&p.client, shown);
    return fails(&p);
}

static void a_clients_certificate_says_why(void **state) {
    (void)state;
    pair p = {0};
    assert_int_equal(NB_HANDSHAKE_client_unknown, fails_with(&identity));
    open_pair(&p, verifying(NB_TLS_VERIFY_REQUIRED, other.chain));
    tls_client_open(&p.client, p.far, NULL);
    assert_int_equal(NB_HANDSHAKE_client_missing, fails(&p));
    open_pair(&p, verifying(NB_TLS_VERIFY_REQUIRED, other.chain));
    tls_client_open(&p.client, p.far, NULL);
    tls_client_show(&p.client, &other);
    assert_status(NB_OK, shake(&p));
    assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
    close_pair(&p);
    open_pair(&p, verifying(NB_TLS_VERIFY_REQUIRED, expired.chain));
    tls_client_open(&p.client, p.far, NULL);
    tls_client_show(&p.client, &expired);
    assert_int_equal(NB_HANDSHAKE_client_expired, fails(&p));
}

/* Its text goes with each request, in a record of a ring. */
static void a_clients_certificate_that_is_too_large_is_not_valid(void **state) {
    (void)state;
    pair p = {0};
    tls_identity large = tls_identity_make_large("large.example", TLS_KEY_EC, 60000);
    open_pair(&p, verifying(NB_TLS_VERIFY_REQUIRED, large.chain));
    tls_client_open(&p.client, p.far, NULL);
    tls_client_show(&p.client, &large);
    assert_int_equal(NB_HANDSHAKE_client_invalid, fails(&p));
    tls_identity_free(&large);
}

static void what_is_told_of_certificates(void **state) {
    (void)state;
    size_t count;
    int64_t now_s = nb_clock_wall_s();
    nb_tls_context *context = tls_identity_context(&identity);
    add(context, &rsa);
    add(context, &other);
    add(context, &expired);
    const nb_tls_certificate *each = nb_tls_context_certificates(context, &count);
    assert_int_equal(4, count);
    const struct {
        const char *name, *key;
        int64_t left_s;
    } wanted[] = {{"one.example", "EC", 86400},
                  {"one.example", "RSA", 86400},
                  {"two.example", "EC", 86400},
                  {"old.example", "EC", -60}};
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(wanted[i].name, each[i].name);
        assert_string_equal(wanted[i].key, each[i].key);
        /* Made when the tests began, a while ago. */
        assert_true(each[i].expires_s <= now_s + wanted[i].left_s);
        assert_true(each[i].expires_s > now_s + wanted[i].left_s - 3600);
    }
    nb_tls_context_release(context);
}

/* The client has written these bytes, and nothing else. */
static nb_handshake_outcome fails_on(const char *bytes, size_t size, char *answer, size_t room) {
    pair p = {0};
    open_pair(&p, tls_identity_context(&identity));
    assert_int_equal(size, write(p.far, bytes, size));
    nb_status status = nb_transport_tls_handshake(&p.near, NB_TLS_WITHOUT_KEY, &p.facts);
    if (status == NB_AGAIN) {
        shutdown(p.far, SHUT_WR);
        status = nb_transport_tls_handshake(&p.near, NB_TLS_WITHOUT_KEY, &p.facts);
    }
    assert_status(NB_SYSTEM, status);
    ssize_t got = read(p.far, answer, room - 1);
    answer[got > 0 ? got : 0] = '\0';
    nb_handshake_outcome outcome = p.facts.outcome;
    p.near.kind->close(&p.near, 0);
    close(p.far);
    nb_tls_context_release(p.context);
    return outcome;
}

static void bytes_that_are_no_tls_are_told_apart(void **state) {
    (void)state;
    char answer[512];
    const char *request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_int_equal(NB_HANDSHAKE_plain, fails_on(request, strlen(request), answer, sizeof answer));
    assert_non_null(strstr(answer, "400 Bad Request"));
    assert_non_null(strstr(answer, "https://"));
    assert_int_equal(NB_HANDSHAKE_left, fails_on("", 0, answer, sizeof answer));
    assert_int_equal(NB_HANDSHAKE_left, fails_on("\x16\x03\x01", 3, answer, sizeof answer));
    assert_int_equal(NB_HANDSHAKE_broken, fails_on("\x16\x03\x01\0\x05hello", 10, answer, sizeof answer));
}

/* A client's first message comes in pieces of every size, with a step for each. */
static void the_first_message_comes_in_pieces(void **state) {
    (void)state;
    char hello[8192];
    static char protocols[3000];
    for (size_t i = 0; i < sizeof protocols; i += 100)
        protocols[i] = 99;
    memcpy(protocols + sizeof protocols - 100, "\x08http/1.1\x5a", 10);
    for (size_t piece = 1; piece < 5000; piece = piece * 2 + 1) {
        pair p = {0};
        int ends[2];
        open_pair(&p, tls_identity_context(&identity));
        /* The client is at the other end of a second pair: what it sends is carried over. */
        assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
        tls_client_open(&p.client, ends[0], NULL);
        assert_int_equal(0, SSL_set_alpn_protos(p.client.ssl, (const unsigned char *)protocols, sizeof protocols));
        assert_false(tls_client_step(&p.client));
        ssize_t size = read(ends[1], hello, sizeof hello);
        assert_true(size > 3000);
        nb_status status = NB_AGAIN;
        for (size_t at = 0; at < (size_t)size; at += piece) {
            size_t most = (size_t)size - at < piece ? (size_t)size - at : piece;
            assert_int_equal(most, write(p.far, hello + at, most));
            status = nb_transport_tls_handshake(&p.near, NB_TLS_WITHOUT_KEY, &p.facts);
            assert_status(NB_AGAIN, status);
            assert_int_equal(at + most == (size_t)size, p.facts.heavy);
        }
        assert_status(NB_AGAIN, nb_transport_tls_handshake(&p.near, NB_TLS_ALL, &p.facts));
        assert_true(read(p.far, hello, sizeof hello) > 500); /* the server's messages */
        tls_client_free(&p.client);
        p.near.kind->close(&p.near, 0);
        close(p.far);
        close(ends[0]);
        close(ends[1]);
        nb_tls_context_release(p.context);
    }
}

static nb_tls_fault refused(const char *chain, const char *key) {
    nb_tls_settings settings;
    nb_tls_context *context;
    nb_tls_error error;
    nb_slice name = NB_SLICE("one.example");
    nb_tls_settings_default(&settings);
    assert_status(NB_OK, nb_tls_context_create(&settings, &context, &error));
    assert_status(NB_INVALID, nb_tls_context_add(context, &name, 1, pem(chain), pem(key), &error));
    nb_tls_context_release(context);
    return error.fault;
}

static void a_bad_certificate_says_why(void **state) {
    (void)state;
    char broken[4096];
    assert_int_equal(NB_TLS_FAULT_CERTIFICATE, refused("", identity.key));
    assert_int_equal(NB_TLS_FAULT_CERTIFICATE, refused(identity.key, identity.key));
    assert_int_equal(NB_TLS_FAULT_KEY, refused(identity.chain, ""));
    assert_int_equal(NB_TLS_FAULT_KEY, refused(identity.chain, identity.chain));
    assert_int_equal(NB_TLS_FAULT_MISMATCH, refused(identity.chain, other.key));
    assert_int_equal(NB_TLS_FAULT_MISMATCH, refused(identity.chain, rsa.key));
    snprintf(broken, sizeof broken, "%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", identity.chain);
    assert_int_equal(NB_TLS_FAULT_CHAIN, refused(broken, identity.key));
}

static nb_tls_fault setting_refused(nb_tls_settings settings) {
    nb_tls_context *context = NULL;
    nb_tls_error error;
    assert_status(NB_INVALID, nb_tls_context_create(&settings, &context, &error));
    assert_null(context);
    return error.fault;
}

static void a_bad_setting_says_why(void **state) {
    (void)state;
    nb_tls_settings settings, wrong;
    nb_tls_settings_default(&settings);
    wrong = settings;
    wrong.ciphers = "NO-SUCH-CIPHER";
    assert_int_equal(NB_TLS_FAULT_CIPHERS, setting_refused(wrong));
    wrong = settings;
    wrong.suites = "TLS_NONE";
    assert_int_equal(NB_TLS_FAULT_SUITES, setting_refused(wrong));
    wrong = settings;
    wrong.groups = "P-1";
    assert_int_equal(NB_TLS_FAULT_GROUPS, setting_refused(wrong));
    wrong = settings;
    wrong.version_min = 9;
    assert_int_equal(NB_TLS_FAULT_VERSIONS, setting_refused(wrong));
}

/* Each allocation of the core's own fails once. */
static void want_of_memory_leaves_nothing(void **state) {
    (void)state;
    nb_tls_settings settings;
    nb_tls_error error;
    nb_tls_settings_default(&settings);
    for (unsigned long nth = 1; nth < 30; nth++) {
        nb_tls_context *context = NULL;
        nb_alloc_fail_at(nth);
        nb_status status = nb_tls_context_create(&settings, &context, &error);
        if (status == NB_OK)
            status = nb_tls_context_add(context, other.names, other.count, pem(other.chain), pem(other.key), &error);
        if (status == NB_OK)
            status = nb_tls_context_add_challenge(context, other.names[0], pem(other.chain), pem(other.key), &error);
        nb_alloc_fail_at(0);
        assert_true(status == NB_OK || status == NB_NO_MEMORY);
        nb_tls_context_release(context);
        if (status == NB_OK) return;
    }
    fail_msg("it never succeeded");
}

static int prepare(void **state) {
    (void)state;
    identity = tls_identity_make("one.example", TLS_KEY_EC);
    other = tls_identity_make("two.example *.two.example", TLS_KEY_EC);
    rsa = tls_identity_make("one.example", TLS_KEY_RSA);
    expired = tls_identity_make_until("old.example", TLS_KEY_EC, -60);
    return 0;
}

static int finish(void **state) {
    (void)state;
    tls_identity_free(&identity);
    tls_identity_free(&other);
    tls_identity_free(&rsa);
    tls_identity_free(&expired);
    return nb_alloc_live() == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_and_come),
        cmocka_unit_test(every_byte_leaves_once),
        cmocka_unit_test(a_file_that_ends_early_is_told),
        cmocka_unit_test(the_client_ends_in_order),
        cmocka_unit_test(the_client_ends_without_a_word),
        cmocka_unit_test(our_end_is_told),
        cmocka_unit_test(our_end_waits_for_a_client_that_takes_nothing),
        cmocka_unit_test(a_cut_connection_is_an_end),
        cmocka_unit_test(sessions_resume_also_after_a_new_key),
        cmocka_unit_test(a_session_that_resumes_needs_no_heavy_step),
        cmocka_unit_test(a_session_does_not_resume_where_clients_are_asked_for_something_else),
        cmocka_unit_test(an_old_ticket_is_a_full_handshake),
        cmocka_unit_test(the_name_chooses_the_certificate),
        cmocka_unit_test(two_kinds_of_keys_stand_side_by_side),
        cmocka_unit_test(protocols_are_agreed_upon),
        cmocka_unit_test(a_failure_says_why),
        cmocka_unit_test(a_clients_certificate_says_why),
        cmocka_unit_test(a_clients_certificate_that_is_too_large_is_not_valid),
        cmocka_unit_test(what_is_told_of_certificates),
        cmocka_unit_test(bytes_that_are_no_tls_are_told_apart),
        cmocka_unit_test(the_first_message_comes_in_pieces),
        cmocka_unit_test(a_bad_certificate_says_why),
        cmocka_unit_test(a_bad_setting_says_why),
        cmocka_unit_test(want_of_memory_leaves_nothing),
    };
    nb_test_alarm(120);
    return cmocka_run_group_tests(tests, prepare, finish);
}

#else

static void nothing_without_openssl(void **state) {
    (void)state;
    nb_transport transport;
    assert_status(NB_UNSUPPORTED, nb_transport_tls_init(&transport, 0, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_without_openssl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
