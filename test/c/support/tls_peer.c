/*
 * tls_peer.c - see tls_peer.h.
 */
#ifdef NB_HAVE_TLS

#include "support/tls_peer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

#include "support/test.h"

static EVP_PKEY *make_key(tls_key_kind kind) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(kind == TLS_KEY_RSA ? EVP_PKEY_RSA : EVP_PKEY_EC, NULL);
    EVP_PKEY *key = NULL;
    assert_non_null(context);
    assert_int_equal(1, EVP_PKEY_keygen_init(context));
    if (kind == TLS_KEY_RSA) {
        assert_int_equal(1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048));
    } else {
        int curve = kind == TLS_KEY_EC ? NID_X9_62_prime256v1 : NID_secp384r1;
        assert_int_equal(1, EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve));
    }
    assert_int_equal(1, EVP_PKEY_keygen(context, &key));
    EVP_PKEY_CTX_free(context);
    return key;
}

static char *text_of(BIO *bio) {
    char *bytes;
    long size = BIO_get_mem_data(bio, &bytes);
    char *copy = malloc((size_t)size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, (size_t)size);
    copy[size] = '\0';
    BIO_free(bio);
    return copy;
}

static void add_comment(X509 *made, size_t bytes) {
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'c', bytes);
    ASN1_IA5STRING *comment = ASN1_IA5STRING_new();
    assert_int_equal(1, ASN1_STRING_set(comment, text, (int)bytes));
    assert_int_equal(1, X509_add1_ext_i2d(made, NID_netscape_comment, comment, 0, X509V3_ADD_DEFAULT));
    ASN1_IA5STRING_free(comment);
    free(text);
}

static X509 *make_certificate(EVP_PKEY *key, nb_slice name, long seconds, size_t comment_bytes) {
    X509 *made = X509_new();
    assert_non_null(made);
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), seconds);
    X509_NAME *subject = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name.data, (int)name.size, -1, 0);
    X509_set_issuer_name(made, subject);
    X509_set_pubkey(made, key);
    if (comment_bytes) add_comment(made, comment_bytes);
    assert_true(X509_sign(made, key, EVP_sha256()) > 0);
    return made;
}

static tls_identity make_identity(const char *names, tls_key_kind kind, long seconds, size_t comment_bytes) {
    tls_identity identity = {0};
    for (const char *at = names; *at && identity.count < 4;) {
        size_t size = strcspn(at, " ");
        identity.names[identity.count++] = nb_slice_of(at, size);
        at += size + strspn(at + size, " ");
    }
    EVP_PKEY *key = make_key(kind);
    X509 *certificate = make_certificate(key, identity.count ? identity.names[0] : NB_SLICE("none"), seconds,
                                         comment_bytes);
    BIO *chain = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
    assert_int_equal(1, PEM_write_bio_X509(chain, certificate));
    assert_int_equal(1, PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL));
    identity.chain = text_of(chain);
    identity.key = text_of(secret);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return identity;
}

tls_identity tls_identity_make(const char *names, tls_key_kind kind) {
    return tls_identity_make_until(names, kind, 86400);
}

tls_identity tls_identity_make_until(const char *names, tls_key_kind kind, long seconds) {
    return make_identity(names, kind, seconds, 0);
}

tls_identity tls_identity_make_large(const char *names, tls_key_kind kind, size_t comment_bytes) {
    return make_identity(names, kind, 86400, comment_bytes);
}

void tls_identity_free(tls_identity *identity) {
    free(identity->chain);
    free(identity->key);
}

nb_tls_context *tls_identity_context(const tls_identity *identity) {
    nb_tls_settings settings;
    nb_tls_context *context;
    nb_tls_error error;
    nb_tls_settings_default(&settings);
    assert_status(NB_OK, nb_tls_context_create(&settings, &context, &error));
    assert_status(NB_OK, nb_tls_context_add(context, identity->names, identity->count,
                                            nb_slice_of(identity->chain, strlen(identity->chain)),
                                            nb_slice_of(identity->key, strlen(identity->key)), &error));
    return context;
}

static int keep_session(SSL *ssl, SSL_SESSION *session) {
    tls_client *client = SSL_get_app_data(ssl);
    SSL_SESSION_free(client->session);
    client->session = session;
    return 1;
}

void tls_client_open(tls_client *client, int fd, const char *name) {
    *client = (tls_client){.context = SSL_CTX_new(TLS_client_method())};
    assert_non_null(client->context);
    SSL_CTX_set_session_cache_mode(client->context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client->context, keep_session);
    tls_client_again(client, fd, name);
}

void tls_client_again(tls_client *client, int fd, const char *name) {
    client->ssl = SSL_new(client->context);
    assert_non_null(client->ssl);
    SSL_set_app_data(client->ssl, client);
    assert_int_equal(1, SSL_set_fd(client->ssl, fd));
    if (name) assert_true(SSL_set_tlsext_host_name(client->ssl, name) == 1);
    if (client->session) assert_int_equal(1, SSL_set_session(client->ssl, client->session));
    SSL_set_connect_state(client->ssl);
}

void tls_client_show(tls_client *client, const tls_identity *identity) {
    BIO *chain = BIO_new_mem_buf(identity->chain, -1), *secret = BIO_new_mem_buf(identity->key, -1);
    X509 *certificate = PEM_read_bio_X509(chain, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(secret, NULL, NULL, NULL);
    assert_int_equal(1, SSL_use_certificate(client->ssl, certificate));
    assert_int_equal(1, SSL_use_PrivateKey(client->ssl, key));
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(chain);
    BIO_free(secret);
}

bool tls_client_step(tls_client *client) { return SSL_do_handshake(client->ssl) == 1; }

void tls_client_server(const tls_client *client, char *name, size_t room) {
    X509 *certificate = SSL_get_peer_certificate(client->ssl);
    assert_non_null(certificate);
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, (int)room);
    X509_free(certificate);
}

/* A session whose connection was not shut down cannot be resumed. */
void tls_client_close(tls_client *client) {
    SSL_shutdown(client->ssl);
    SSL_free(client->ssl);
    client->ssl = NULL;
}

void tls_client_free(tls_client *client) {
    SSL_free(client->ssl);
    SSL_SESSION_free(client->session);
    SSL_CTX_free(client->context);
}

#else
typedef int nb_no_tls_peer; /* a file must not be empty */
#endif
