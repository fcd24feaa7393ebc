/*
 * tls_peer.h - what the tests of TLS need beside the server's side: certificates made on the spot,
 * and a client by OpenSSL that never waits.
 */
#ifndef NB_TEST_TLS_PEER_H
#define NB_TEST_TLS_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "tls/tls.h"

typedef enum tls_key_kind { TLS_KEY_EC, TLS_KEY_P384, TLS_KEY_RSA } tls_key_kind;

/* A self-signed certificate whose common name is the first of the names. */
typedef struct tls_identity {
    char *chain, *key; /* PEM */
    nb_slice names[4];
    size_t count;
} tls_identity;

/* names: separated by spaces, at most four. */
tls_identity tls_identity_make(const char *names, tls_key_kind kind);
/* The same with an end, in seconds from now. */
tls_identity tls_identity_make_until(const char *names, tls_key_kind kind, long seconds);
/* The same with a comment of so many bytes. */
tls_identity tls_identity_make_large(const char *names, tls_key_kind kind, size_t comment_bytes);
void tls_identity_free(tls_identity *identity);
/* A context by the default settings with this one certificate. */
nb_tls_context *tls_identity_context(const tls_identity *identity);

typedef struct tls_client {
    SSL_CTX *context;
    SSL *ssl;
    SSL_SESSION *session; /* the last ticket that came */
} tls_client;

/* Uses the descriptor, which does not block and stays the caller's. name: for SNI; NULL: none. */
void tls_client_open(tls_client *client, int fd, const char *name);
/* The same with a context of the caller's, whose `session` is offered where it is set. */
void tls_client_again(tls_client *client, int fd, const char *name);
/* Has it show this certificate when it is asked. */
void tls_client_show(tls_client *client, const tls_identity *identity);
/* True: its side of the handshake is done. */
bool tls_client_step(tls_client *client);
/* The common name of the server's certificate. */
void tls_client_server(const tls_client *client, char *name, size_t room);
/* Ends the connection, keeps the context and the session. */
void tls_client_close(tls_client *client);
void tls_client_free(tls_client *client);

#endif
