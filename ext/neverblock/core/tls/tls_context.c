/*
 * tls_context.c - see tls.h.
 */
#include "tls/tls.h"

#ifdef NB_HAVE_TLS

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/kernel_tls.h"

/* Names of all certificates together. */
#define NAMES_MAX 65536u
/* A host name (RFC 1035 section 2.3.4). */
#define NAME_BYTES_MAX 255u

/* One for each name of a certificate. Let's Encrypt takes at most 100 names. */
#define CHALLENGES_MAX 128u

/* Seconds for which a session may be resumed. */
#define SESSION_SECONDS 14400

typedef struct host {
    const char *name; /* in lower case; one of context->given */
    uint16_t certificate;
} host;

/* Certificates for the same names: one for each kind of key. */
typedef struct certificate {
    SSL_CTX *ssl;
    size_t first_host, host_count; /* its names in context->given */
} certificate;

/* What answers an ACME server for one name. */
typedef struct challenge {
    char *name; /* in lower case; owned */
    SSL_CTX *ssl;
} challenge;

struct nb_tls_context {
    _Atomic uint32_t references;
    nb_tls_settings settings;
    certificate *certificates;
    uint16_t count;
    char **given; /* all names, in the order in which they were added; owned */
    host *hosts;  /* sorted by name, each name once */
    size_t given_count, host_count;
    challenge *challenges;
    size_t challenge_count;
    nb_tls_certificate *facts; /* in the order in which they were added */
    size_t facts_count;
};

static nb_status fail(nb_tls_error *error, nb_tls_fault fault) {
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    error->fault = fault;
    error->detail[0] = '\0';
    if (reason) {
        size_t size = strlen(reason);
        if (size >= sizeof(error->detail)) size = sizeof(error->detail) - 1;
        memcpy(error->detail, reason, size);
        error->detail[size] = '\0';
    }
    ERR_clear_error();
    return NB_INVALID;
}

/* Of ALPN (RFC 7301 section 6), the best first. */
#ifdef NB_HAVE_HTTP2
#define PROTOCOLS "\x02h2\x08http/1.1"
#else
#define PROTOCOLS "\x08http/1.1"
#endif

void nb_tls_settings_default(nb_tls_settings *settings) {
    *settings = (nb_tls_settings){
        .version_min = NB_TLS_1_2,
        .version_max = NB_TLS_1_3,
        .ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
                   "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305",
        .suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256",
        .groups = "X25519:P-256:P-384",
        .protocols = NB_SLICE(PROTOCOLS),
        .kernel = true,
    };
}

/* --- records made by the kernel --- */

#if defined(SSL_OP_ENABLE_KTLS) && !defined(OPENSSL_NO_KTLS)
#define KERNEL_OPTION SSL_OP_ENABLE_KTLS
#else
#define KERNEL_OPTION 0
#endif

bool nb_tls_kernel(void) { return KERNEL_OPTION != 0 && nb_os_kernel_tls(); }

bool nb_tls_context_kernel(const nb_tls_context *context) { return context->settings.kernel && nb_tls_kernel(); }

/* --- choosing by name and protocol --- */

static int compare_hosts(const void *left, const void *right) {
    return strcmp(((const host *)left)->name, ((const host *)right)->name);
}

/* Looks among the first `count` hosts. */
static const host *find(const nb_tls_context *context, size_t count, const char *name) {
    host wanted = {.name = name};
    if (count == 0) return NULL;
    return bsearch(&wanted, context->hosts, count, sizeof(host), compare_hosts);
}

/* False: it is no host name. */
static bool lower(char out[NAME_BYTES_MAX + 1], const char *name, size_t size) {
    if (size > 1 && name[size - 1] == '.') size--;
    if (size == 0 || size > NAME_BYTES_MAX) return false;
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '\0') return false;
        out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]);
    }
    out[size] = '\0';
    return true;
}

/* A wildcard stands for one level (RFC 6125 section 6.4.3). */
static const host *find_host(const nb_tls_context *context, const char *asked) {
    char name[NAME_BYTES_MAX + 1];
    if (!lower(name, asked, strlen(asked))) return NULL;
    const host *found = find(context, context->host_count, name);
    char *dot = strchr(name, '.');
    if (found || !dot || dot == name) return found;
    dot[-1] = '*';
    return find(context, context->host_count, dot - 1);
}

/* As a client sends it that offers this protocol alone (RFC 8737 section 3). */
#define CHALLENGE_PROTOCOLS "\x0a" NB_TLS_CHALLENGE_PROTOCOL
static const unsigned char challenge_offer[] = "\0\x0b" CHALLENGE_PROTOCOLS;

static bool asks_for_challenge(SSL *ssl) {
    const unsigned char *offer;
    size_t bytes;
    int type = TLSEXT_TYPE_application_layer_protocol_negotiation;
    return SSL_client_hello_get0_ext(ssl, (unsigned)type, &offer, &bytes) == 1 &&
           bytes == sizeof(challenge_offer) - 1 && memcmp(offer, challenge_offer, bytes) == 0;
}

/* --- work that takes long --- */

/* SSL_CTX_get_app_data of one that has a key whose signatures take long. */
static char slow_key[1];

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
static bool is_p256(const EVP_PKEY *key) {
    char name[32];
    size_t size;
    return EVP_PKEY_get_group_name(key, name, sizeof(name), &size) == 1 && strcmp(name, SN_X9_62_prime256v1) == 0;
}
#else
static bool is_p256(EVP_PKEY *key) {
    return EC_GROUP_get_curve_name(EC_KEY_get0_group(EVP_PKEY_get0_EC_KEY(key))) == NID_X9_62_prime256v1;
}
#endif

static bool is_quick_key(EVP_PKEY *key) {
    if (EVP_PKEY_base_id(key) == EVP_PKEY_ED25519) return true;
    return EVP_PKEY_base_id(key) == EVP_PKEY_EC && is_p256(key);
}

/* Groups (RFC 8446 section 4.2.7) whose key exchange takes a few tens of microseconds. */
static bool is_quick(unsigned group) {
    enum { SECP256R1 = 0x0017, X25519 = 0x001d, X25519MLKEM768 = 0x11ec };
    return group == X25519 || group == SECP256R1 || group == X25519MLKEM768;
}

/* True: every key share of the client is of a quick group (RFC 8446 section 4.2.8). */
static bool shares_are_quick(SSL *ssl) {
    const unsigned char *shares;
    size_t bytes;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_key_share, &shares, &bytes) != 1) return true;
    for (size_t at = 2; at + 4 <= bytes; at += 4 + (size_t)(shares[at + 2] << 8 | shares[at + 3])) {
        if (!is_quick((unsigned)(shares[at] << 8 | shares[at + 1]))) return false;
    }
    return true;
}

static int look_at_hello(SSL *ssl, int *alert, void *argument) {
    const nb_tls_context *context = argument;
    nb_tls_opening *opening = SSL_get_app_data(ssl);
    (void)alert;
    if (opening->effort != NB_TLS_ALL && !shares_are_quick(ssl)) return SSL_CLIENT_HELLO_RETRY;
    opening->challenge = context->challenge_count > 0 && asks_for_challenge(ssl);
    return SSL_CLIENT_HELLO_SUCCESS;
}

/* Called before a key of the SSL_CTX is needed. A session that resumes does without. */
static int allow_key(SSL *ssl, void *argument) {
    const nb_tls_opening *opening = SSL_get_app_data(ssl);
    bool slow = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)) == slow_key;
    (void)argument;
    return opening->effort == NB_TLS_ALL || (opening->effort == NB_TLS_QUICK && !slow) ? 1 : -1;
}

/* False: there is no challenge for this name. An ACME server shows no certificate of its own. */
static bool answer_challenge(const nb_tls_context *context, SSL *ssl, const char *asked) {
    char name[NAME_BYTES_MAX + 1];
    if (!lower(name, asked, strlen(asked))) return false;
    for (size_t i = 0; i < context->challenge_count; i++) {
        if (strcmp(context->challenges[i].name, name) != 0) continue;
        SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
        return SSL_set_SSL_CTX(ssl, context->challenges[i].ssl) != NULL;
    }
    return false;
}

static int choose_certificate(SSL *ssl, int *alert, void *argument) {
    const nb_tls_context *context = argument;
    const char *asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const nb_tls_opening *opening = SSL_get_app_data(ssl);
    if (opening->challenge && asked && answer_challenge(context, ssl, asked)) return SSL_TLSEXT_ERR_OK;
    const host *found = asked ? find_host(context, asked) : NULL;
    (void)alert;
    if (found) SSL_set_SSL_CTX(ssl, context->certificates[found->certificate].ssl);
    return SSL_TLSEXT_ERR_OK;
}

/* RFC 7301 section 3.2: a client whose protocols are all unknown gets an alert. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *size, const unsigned char *offered,
                           unsigned int offered_size, void *argument) {
    const nb_slice *known = argument;
    unsigned char *found = NULL;
    (void)ssl;
    int result = SSL_select_next_proto(&found, size, (const unsigned char *)known->data, (unsigned int)known->size,
                                       offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* --- a SSL_CTX by the settings --- */

/* A key with a passphrase is an error: nobody is asked on a terminal. */
static int no_passphrase(char *buffer, int size, int writes, void *argument) {
    (void)buffer, (void)size, (void)writes, (void)argument;
    return -1;
}

/* Clients are told the names of the authorities (RFC 8446 section 4.2.4). */
static nb_status trust(SSL_CTX *ssl, X509 *authority) {
    bool added = X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), authority) && SSL_CTX_add_client_CA(ssl, authority);
    return added ? NB_OK : NB_INVALID;
}

static nb_status add_authorities(SSL_CTX *ssl, nb_slice pem, nb_tls_error *error) {
    BIO *from = BIO_new_mem_buf(pem.data, (int)pem.size);
    if (!from) return NB_NO_MEMORY;
    nb_status status = NB_OK;
    size_t count = 0;
    X509 *next;
    while (status == NB_OK && (next = PEM_read_bio_X509(from, NULL, no_passphrase, NULL))) {
        status = trust(ssl, next);
        X509_free(next);
        count++;
    }
    BIO_free(from);
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (status != NB_OK || count == 0 || !at_end) return fail(error, NB_TLS_FAULT_AUTHORITIES);
    ERR_clear_error();
    return NB_OK;
}

static nb_status set_verify(SSL_CTX *ssl, const nb_tls_settings *settings, nb_tls_error *error) {
    if (settings->verify == NB_TLS_VERIFY_NONE) return NB_OK;
    int mode = SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE;
    if (settings->verify == NB_TLS_VERIFY_REQUIRED) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ssl, mode, NULL);
    return add_authorities(ssl, settings->authorities, error);
}

/* A session resumes only where clients are asked for the same: else one that was made without a
 * certificate would pass where certificates are required. */
static nb_status set_session_context(SSL_CTX *ssl, const nb_tls_settings *settings) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    unsigned char verify = (unsigned char)settings->verify;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool made = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 && EVP_DigestUpdate(hash, &verify, 1) == 1 &&
                EVP_DigestUpdate(hash, settings->authorities.data, settings->authorities.size) == 1 &&
                EVP_DigestFinal_ex(hash, digest, &size) == 1 && SSL_CTX_set_session_id_context(ssl, digest, size) == 1;
    EVP_MD_CTX_free(hash);
    return made ? NB_OK : NB_NO_MEMORY;
}

static nb_status apply(nb_tls_context *context, SSL_CTX *ssl, nb_tls_error *error) {
    const nb_tls_settings *settings = &context->settings;
    uint64_t options = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION;
#ifdef SSL_OP_IGNORE_UNEXPECTED_EOF
    options |= SSL_OP_IGNORE_UNEXPECTED_EOF; /* requests have a length of their own */
#endif
    if (nb_tls_context_kernel(context)) options |= KERNEL_OPTION;
    SSL_CTX_set_options(ssl, options);
    SSL_CTX_set_mode(ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ssl, 1);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_timeout(ssl, SESSION_SECONDS);
    SSL_CTX_set_num_tickets(ssl, 1); /* a resumed session brings another */
    if (!SSL_CTX_set_min_proto_version(ssl, settings->version_min) ||
        !SSL_CTX_set_max_proto_version(ssl, settings->version_max))
        return fail(error, NB_TLS_FAULT_VERSIONS);
    if (!SSL_CTX_set_cipher_list(ssl, settings->ciphers)) return fail(error, NB_TLS_FAULT_CIPHERS);
    if (!SSL_CTX_set_ciphersuites(ssl, settings->suites)) return fail(error, NB_TLS_FAULT_SUITES);
    if (!SSL_CTX_set1_groups_list(ssl, settings->groups)) return fail(error, NB_TLS_FAULT_GROUPS);
    nb_status status = set_session_context(ssl, settings);
    if (status == NB_OK) status = set_verify(ssl, settings, error);
    if (status != NB_OK) return status;
    SSL_CTX_set_client_hello_cb(ssl, look_at_hello, context);
    SSL_CTX_set_cert_cb(ssl, allow_key, NULL);
    SSL_CTX_set_tlsext_servername_callback(ssl, choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(ssl, context);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, &context->settings.protocols);
    return nb_tls_tickets_install(ssl);
}

static nb_status make_ssl(nb_tls_context *context, SSL_CTX **result, nb_tls_error *error) {
    ERR_clear_error();
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    if (!ssl) return NB_NO_MEMORY;
    nb_status status = apply(context, ssl, error);
    if (status != NB_OK) SSL_CTX_free(ssl);
    *result = status == NB_OK ? ssl : NULL;
    return status;
}

/* --- certificates --- */

static nb_status add_chain(SSL_CTX *ssl, BIO *from, nb_tls_error *error) {
    X509 *next;
    SSL_CTX_clear_chain_certs(ssl); /* of the certificate just set */
    while ((next = PEM_read_bio_X509(from, NULL, no_passphrase, NULL))) {
        bool added = SSL_CTX_add1_chain_cert(ssl, next) == 1;
        X509_free(next);
        if (!added) return fail(error, NB_TLS_FAULT_CHAIN);
    }
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (!at_end) return fail(error, NB_TLS_FAULT_CHAIN);
    ERR_clear_error();
    return NB_OK;
}

static nb_status use_certificate(SSL_CTX *ssl, nb_slice pem, nb_tls_error *error) {
    BIO *from = BIO_new_mem_buf(pem.data, (int)pem.size);
    if (!from) return NB_NO_MEMORY;
    X509 *first = PEM_read_bio_X509_AUX(from, NULL, no_passphrase, NULL);
    nb_status status = first && SSL_CTX_use_certificate(ssl, first) ? NB_OK : fail(error, NB_TLS_FAULT_CERTIFICATE);
    X509_free(first);
    if (status == NB_OK) status = add_chain(ssl, from, error);
    BIO_free(from);
    return status;
}

static nb_status use_key(SSL_CTX *ssl, nb_slice pem, nb_tls_error *error) {
    BIO *from = BIO_new_mem_buf(pem.data, (int)pem.size);
    if (!from) return NB_NO_MEMORY;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(from, NULL, no_passphrase, NULL);
    BIO_free(from);
    if (!key) return fail(error, NB_TLS_FAULT_KEY);
    bool mine = X509_check_private_key(SSL_CTX_get0_certificate(ssl), key) == 1;
    nb_status status = NB_OK;
    if (!mine) {
        status = fail(error, NB_TLS_FAULT_MISMATCH);
    } else if (!SSL_CTX_use_PrivateKey(ssl, key) || (!is_quick_key(key) && !SSL_CTX_set_app_data(ssl, slow_key))) {
        status = fail(error, NB_TLS_FAULT_KEY);
    }
    EVP_PKEY_free(key);
    return status;
}

static nb_status load(SSL_CTX *ssl, nb_slice chain, nb_slice key, nb_tls_error *error) {
    ERR_clear_error();
    if (chain.size > INT32_MAX || key.size > INT32_MAX) return NB_OVER_LIMIT;
    nb_status status = use_certificate(ssl, chain, error);
    return status == NB_OK ? use_key(ssl, key, error) : status;
}

/* The certificates that were added for exactly these names. NULL: none. */
static certificate *same_names(const nb_tls_context *context, const nb_slice *names, size_t count) {
    for (uint16_t i = 0; i < context->count; i++) {
        certificate *found = &context->certificates[i];
        bool same = found->host_count == count;
        for (size_t j = 0; same && j < count; j++) {
            char name[NAME_BYTES_MAX + 1];
            same = lower(name, names[j].data, names[j].size) &&
                   strcmp(name, context->given[found->first_host + j]) == 0;
        }
        if (same && count > 0) return found;
    }
    return NULL;
}

static char *copy_of(const char *name) {
    size_t size = strlen(name) + 1;
    char *copy = nb_alloc(size);
    if (copy) memcpy(copy, name, size);
    return copy;
}

/* A name that another certificate has already stays that one's. */
static nb_status add_names(nb_tls_context *context, const nb_slice *names, size_t count) {
    certificate *added = &context->certificates[context->count - 1];
    size_t known = context->host_count;
    added->first_host = context->given_count;
    for (size_t i = 0; i < count; i++) {
        char name[NAME_BYTES_MAX + 1];
        if (!lower(name, names[i].data, names[i].size)) return NB_INVALID;
        char *copy = copy_of(name);
        if (!copy) return NB_NO_MEMORY;
        context->given[context->given_count++] = copy;
        added->host_count++;
        if (find(context, known, name)) continue;
        context->hosts[context->host_count++] = (host){copy, (uint16_t)(context->count - 1)};
    }
    qsort(context->hosts, context->host_count, sizeof(host), compare_hosts);
    return NB_OK;
}

static nb_status make_room(nb_tls_context *context, size_t count) {
    size_t total = context->given_count + count;
    if (total > NAMES_MAX || context->count == UINT16_MAX) return NB_FULL;
    certificate *certificates = nb_realloc(context->certificates, (context->count + 1u) * sizeof(certificate));
    if (certificates) context->certificates = certificates;
    char **given = nb_realloc(context->given, (total + 1) * sizeof(char *));
    if (given) context->given = given;
    host *hosts = nb_realloc(context->hosts, (total + 1) * sizeof(host));
    if (hosts) context->hosts = hosts;
    return certificates && given && hosts ? NB_OK : NB_NO_MEMORY;
}

static const char *kind_of(const EVP_PKEY *key) {
    switch (EVP_PKEY_base_id(key)) {
    case EVP_PKEY_EC:
        return "EC";
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS:
        return "RSA";
    case EVP_PKEY_ED25519:
        return "Ed25519";
    default:
        return "other";
    }
}

/* Seconds since 1970. False: out of memory, or not a time. */
static bool seconds_of(const ASN1_TIME *time, int64_t *seconds) {
    int days, rest;
    ASN1_TIME *start = ASN1_TIME_set(NULL, 0);
    bool known = start && ASN1_TIME_diff(&days, &rest, start, time) == 1;
    ASN1_TIME_free(start);
    if (known) *seconds = (int64_t)days * 86400 + rest;
    return known;
}

/* Notes what is told of the certificate that was loaded last. */
static nb_status note(nb_tls_context *context, const certificate *added) {
    X509 *loaded = SSL_CTX_get0_certificate(added->ssl);
    size_t size = (context->facts_count + 1) * sizeof(nb_tls_certificate);
    nb_tls_certificate *facts = nb_realloc(context->facts, size);
    if (!facts) return NB_NO_MEMORY;
    context->facts = facts;
    nb_tls_certificate *fact = &facts[context->facts_count];
    fact->name = added->host_count ? context->given[added->first_host] : "";
    fact->key = kind_of(X509_get0_pubkey(loaded));
    if (!seconds_of(X509_get0_notAfter(loaded), &fact->expires_s)) return NB_NO_MEMORY;
    context->facts_count++;
    return NB_OK;
}

const nb_tls_certificate *nb_tls_context_certificates(const nb_tls_context *context, size_t *count) {
    *count = context->facts_count;
    return context->facts;
}

nb_status nb_tls_context_add(nb_tls_context *context, const nb_slice *names, size_t count, nb_slice chain, nb_slice key,
                             nb_tls_error *error) {
    error->fault = NB_TLS_FAULT_NONE;
    error->detail[0] = '\0';
    const certificate *beside = same_names(context, names, count);
    if (beside) {
        nb_status loaded = load(beside->ssl, chain, key, error);
        return loaded == NB_OK ? note(context, beside) : loaded;
    }
    nb_status status = make_room(context, count);
    SSL_CTX *ssl = NULL;
    if (status == NB_OK) status = make_ssl(context, &ssl, error);
    if (status == NB_OK) status = load(ssl, chain, key, error);
    if (status != NB_OK) {
        SSL_CTX_free(ssl);
        return status;
    }
    context->certificates[context->count++] = (certificate){.ssl = ssl};
    status = add_names(context, names, count);
    return status == NB_OK ? note(context, &context->certificates[context->count - 1]) : status;
}

/* --- challenges --- */

static const nb_slice challenge_protocols = {CHALLENGE_PROTOCOLS, sizeof(CHALLENGE_PROTOCOLS) - 1};

static nb_status make_challenge(nb_tls_context *context, nb_slice chain, nb_slice key, SSL_CTX **result,
                                nb_tls_error *error) {
    SSL_CTX *ssl;
    nb_status status = make_ssl(context, &ssl, error);
    if (status != NB_OK) return status;
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, (void *)(uintptr_t)&challenge_protocols);
    status = load(ssl, chain, key, error);
    if (status != NB_OK) SSL_CTX_free(ssl);
    *result = ssl;
    return status;
}

nb_status nb_tls_context_add_challenge(nb_tls_context *context, nb_slice name, nb_slice chain, nb_slice key,
                                       nb_tls_error *error) {
    char lowered[NAME_BYTES_MAX + 1];
    SSL_CTX *ssl;
    error->fault = NB_TLS_FAULT_NONE;
    error->detail[0] = '\0';
    if (!lower(lowered, name.data, name.size)) return NB_INVALID;
    if (context->challenge_count == CHALLENGES_MAX) return NB_FULL;
    challenge *grown = nb_realloc(context->challenges, (context->challenge_count + 1) * sizeof(challenge));
    if (!grown) return NB_NO_MEMORY;
    context->challenges = grown;
    nb_status status = make_challenge(context, chain, key, &ssl, error);
    if (status != NB_OK) return status;
    char *copy = copy_of(lowered);
    if (!copy) {
        SSL_CTX_free(ssl);
        return NB_NO_MEMORY;
    }
    grown[context->challenge_count++] = (challenge){copy, ssl};
    return NB_OK;
}

/* --- life --- */

/* .data is NULL: out of memory. */
static nb_slice copy_of_slice(nb_slice bytes) {
    char *copy = nb_alloc(bytes.size + 1);
    if (copy && bytes.size) memcpy(copy, bytes.data, bytes.size);
    return nb_slice_of(copy, bytes.size);
}

nb_status nb_tls_context_create(const nb_tls_settings *settings, nb_tls_context **result, nb_tls_error *error) {
    error->fault = NB_TLS_FAULT_NONE;
    error->detail[0] = '\0';
    nb_tls_context *context = nb_alloc_zero(1, sizeof(*context));
    if (!context) return NB_NO_MEMORY;
    atomic_init(&context->references, 1);
    context->settings = *settings;
    context->settings.ciphers = copy_of(settings->ciphers);
    context->settings.suites = copy_of(settings->suites);
    context->settings.groups = copy_of(settings->groups);
    context->settings.protocols = copy_of_slice(settings->protocols);
    context->settings.authorities = copy_of_slice(settings->authorities);
    bool copied = context->settings.ciphers && context->settings.suites && context->settings.groups &&
                  context->settings.protocols.data && context->settings.authorities.data;
    SSL_CTX *trial = NULL;
    nb_status status = copied ? make_ssl(context, &trial, error) : NB_NO_MEMORY;
    SSL_CTX_free(trial);
    if (status != NB_OK) {
        nb_tls_context_release(context);
        context = NULL;
    }
    *result = context;
    return status;
}

nb_tls_context *nb_tls_context_share(nb_tls_context *context) {
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

static void free_text(const char *text) { nb_free((char *)(uintptr_t)text); }

void nb_tls_context_release(nb_tls_context *context) {
    if (!context || atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) > 1) return;
    for (uint16_t i = 0; i < context->count; i++) {
        SSL_CTX_free(context->certificates[i].ssl);
    }
    for (size_t i = 0; i < context->given_count; i++) {
        nb_free(context->given[i]);
    }
    for (size_t i = 0; i < context->challenge_count; i++) {
        nb_free(context->challenges[i].name);
        SSL_CTX_free(context->challenges[i].ssl);
    }
    nb_free(context->challenges);
    nb_free(context->certificates);
    nb_free(context->given);
    nb_free(context->hosts);
    nb_free(context->facts);
    free_text(context->settings.ciphers);
    free_text(context->settings.suites);
    free_text(context->settings.groups);
    free_text(context->settings.protocols.data);
    free_text(context->settings.authorities.data);
    nb_free(context);
}

struct ssl_st *nb_tls_context_open(nb_tls_context *context, nb_tls_opening *opening) {
    if (context->count == 0) return NULL;
    SSL *ssl = SSL_new(context->certificates[0].ssl);
    if (ssl && !SSL_set_app_data(ssl, opening)) {
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

const char *nb_tls_library(void) { return OpenSSL_version(OPENSSL_VERSION); }

#endif
