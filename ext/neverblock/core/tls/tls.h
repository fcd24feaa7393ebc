/*
 * tls.h - what a listener serves TLS with: certificates by host name, versions, ciphers, and the
 * protocols of ALPN. The work is OpenSSL's (1.1.1 to 3.x). Without it (no NB_HAVE_TLS) every
 * creation is NB_UNSUPPORTED.
 *
 * A context does not change once a listener has it. A renewed certificate comes with another
 * context, and connections keep the one that they began with.
 *
 * Ownership: contexts are counted. Each holder releases its share.
 * Threads: nb_tls_context_add belongs to the creator, before others have the context. All else: any
 * thread.
 */
#ifndef NB_TLS_TLS_H
#define NB_TLS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

struct ssl_st; /* SSL of OpenSSL */

typedef struct nb_tls_context nb_tls_context;

/* Why a context could not be made. `detail` is OpenSSL's reason, such as "bad decrypt"; "": it has
 * none. */
typedef enum nb_tls_fault {
    NB_TLS_FAULT_NONE,
    NB_TLS_FAULT_CERTIFICATE, /* no PEM certificate, or one that OpenSSL refuses */
    NB_TLS_FAULT_CHAIN,       /* a certificate after the first is refused */
    NB_TLS_FAULT_KEY,         /* no PEM key without a passphrase, or one that OpenSSL refuses */
    NB_TLS_FAULT_MISMATCH,    /* the key is not the certificate's */
    NB_TLS_FAULT_VERSIONS,
    NB_TLS_FAULT_CIPHERS,
    NB_TLS_FAULT_SUITES,
    NB_TLS_FAULT_GROUPS,
    NB_TLS_FAULT_AUTHORITIES, /* no PEM certificate among them, or one that OpenSSL refuses */
} nb_tls_fault;

#define NB_TLS_DETAIL_BYTES 160u
typedef struct nb_tls_error {
    nb_tls_fault fault;
    char detail[NB_TLS_DETAIL_BYTES];
} nb_tls_error;

/* The protocol of ALPN that asks for the certificate of a challenge (RFC 8737 section 6.2). Such a
 * connection ends when its handshake is done. */
#define NB_TLS_CHALLENGE_PROTOCOL "acme-tls/1"

/* Numbers of protocol versions (RFC 8446 section 4.2.1). */
#define NB_TLS_1_2 0x0303
#define NB_TLS_1_3 0x0304

/* Whether clients show a certificate. */
typedef enum nb_tls_verify {
    NB_TLS_VERIFY_NONE,     /* they are not asked */
    NB_TLS_VERIFY_OPTIONAL, /* they may; one that is not valid ends the handshake */
    NB_TLS_VERIFY_REQUIRED,
} nb_tls_verify;

typedef struct nb_tls_settings {
    uint16_t version_min, version_max;
    const char *ciphers; /* of TLS 1.2, in OpenSSL's form */
    const char *suites;  /* of TLS 1.3 */
    const char *groups;  /* for the key exchange */
    /* Protocols for ALPN, the best first, each with a byte of length before it (RFC 7301 section
     * 3.1). */
    nb_slice protocols;
    nb_tls_verify verify;
    nb_slice authorities; /* PEM: certificates that those of clients are verified by */
    bool kernel;          /* the kernel makes the records that are sent, where it can */
} nb_tls_settings;

/* Mozilla's intermediate list without the slow finite-field Diffie-Hellman; h2, where the build has
 * it, and http/1.1. */
void nb_tls_settings_default(nb_tls_settings *settings);

/* The settings are copied. NB_INVALID: *error says why. NB_NO_MEMORY. NB_UNSUPPORTED. */
nb_status nb_tls_context_create(const nb_tls_settings *settings, nb_tls_context **context, nb_tls_error *error);
/* Adds a certificate. The first one serves clients that name no host, or an unknown one. Two
 * certificates with the same names and keys of two kinds (RSA, EC) stand side by side.
 * names: of hosts, "*.example.org" for all of one level; `count` of them.
 * chain: PEM, the server's certificate first. key: PEM, without a passphrase.
 * NB_INVALID: *error says why, or a name is none. NB_FULL: too many names. NB_NO_MEMORY. After a
 * failure the context can only be released. */
nb_status nb_tls_context_add(nb_tls_context *context, const nb_slice *names, size_t count, nb_slice chain, nb_slice key,
                             nb_tls_error *error);
/* Adds what answers an ACME server that asks whether `name` is this server's, by TLS-ALPN-01
 * (RFC 8737): a connection whose only protocol is NB_TLS_CHALLENGE_PROTOCOL gets this certificate.
 * The statuses are those of nb_tls_context_add. */
nb_status nb_tls_context_add_challenge(nb_tls_context *context, nb_slice name, nb_slice chain, nb_slice key,
                                       nb_tls_error *error);
nb_tls_context *nb_tls_context_share(nb_tls_context *context);
/* NULL is fine. */
void nb_tls_context_release(nb_tls_context *context);

/* What is told of a certificate. Owned by its context. */
typedef struct nb_tls_certificate {
    const char *name;  /* its first one, in lower case; "": it has none */
    const char *key;   /* "EC", "RSA", "Ed25519" or "other" */
    int64_t expires_s; /* since 1970 */
} nb_tls_certificate;

/* The certificates of a context, in the order in which they were added. *count is 0 and the result
 * may be NULL where there are none. */
const nb_tls_certificate *nb_tls_context_certificates(const nb_tls_context *context, size_t *count);

/* Whether connections may have their records made by the kernel: the context says so, and this
 * kernel and the OpenSSL of this build can (3.0 and newer). */
bool nb_tls_context_kernel(const nb_tls_context *context);
/* The same of this machine and this build. */
bool nb_tls_kernel(void);

/* What work a step of a handshake may do. A key exchange by a slow group (P-384, P-521) takes long,
 * and so does work with a key of RSA (a millisecond) or of a slow curve. P-256 and Ed25519 are
 * quick: a few tens of microseconds. */
typedef enum nb_tls_effort {
    NB_TLS_WITHOUT_KEY, /* nothing with the server's private key, and nothing that takes long */
    NB_TLS_QUICK,       /* nothing that takes long */
    NB_TLS_ALL,
} nb_tls_effort;

/* What a context keeps of a connection while its handshake goes on. */
typedef struct nb_tls_opening {
    /* A step stops before work that it may not do. SSL_get_error is SSL_ERROR_WANT_X509_LOOKUP or
     * SSL_ERROR_WANT_CLIENT_HELLO_CB then. Set before each step. */
    nb_tls_effort effort;
    bool challenge; /* the client asks for the certificate of a challenge */
} nb_tls_opening;

/* A server's side of a new connection. NULL: out of memory. The caller frees it (SSL_free), and
 * keeps *opening, zeroed before, until the handshake is done. */
struct ssl_st *nb_tls_context_open(nb_tls_context *context, nb_tls_opening *opening);

/* "OpenSSL 3.0.19 ..."; NULL: this build has no TLS. */
const char *nb_tls_library(void);

/* --- session tickets (RFC 8446 section 4.6.1, RFC 5077) ---
 *
 * One set of keys serves all contexts and loops of the process, so that a session resumes on every
 * connection. A key seals tickets for NB_TLS_TICKET_KEY_NS, and opens them for as long again. */
#define NB_TLS_TICKET_KEY_NS (INT64_C(8) * 3600 * 1000000000)
/* Makes the next ticket be sealed with a new key. For tests. */
void nb_tls_tickets_rotate(void);
/* Installs the keys in a SSL_CTX. NB_SYSTEM: no random bytes. */
struct ssl_ctx_st;
nb_status nb_tls_tickets_install(struct ssl_ctx_st *context);

#endif
