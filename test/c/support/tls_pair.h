/*
 * tls_pair.h - the TLS transport and a client of OpenSSL's, over a pair of sockets that do not
 * block. For the tests of tls.c.
 */
#ifndef NB_TEST_TLS_PAIR_H
#define NB_TEST_TLS_PAIR_H

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"
#include "support/tls_peer.h"
#include "tls/tls.h"
#include "transport/transport.h"

typedef struct pair {
    nb_tls_context *context;
    nb_transport near;
    tls_client client;
    int far;
    nb_tls_facts facts;
    nb_tls_effort effort; /* of each step, at first */
    int heavy;            /* steps that were left to others */
} pair;

static void open_pair(pair *p, nb_tls_context *context) {
    int ends[2];
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    p->context = context;
    p->far = ends[1];
    assert_status(NB_OK, nb_transport_tls_init(&p->near, ends[0], context));
}

/* Until both sides are done, or the server's has failed. Steps do what p->effort lets them, but for
 * those that such a one has left. */
static nb_status shake(pair *p) {
    nb_status status = NB_AGAIN;
    bool client_done = false;
    p->heavy = 0;
    p->facts.heavy = false;
    for (int i = 0; i < 100 && (status == NB_AGAIN || (status == NB_OK && !client_done)); i++) {
        client_done = tls_client_step(&p->client);
        if (status == NB_AGAIN)
            status = nb_transport_tls_handshake(&p->near, p->facts.heavy ? NB_TLS_ALL : p->effort, &p->facts);
        if (p->facts.heavy) p->heavy++;
    }
    return status;
}

static void open_to(pair *p, nb_tls_context *context, const char *name) {
    open_pair(p, context);
    tls_client_open(&p->client, p->far, name);
    assert_status(NB_OK, shake(p));
}

static void close_pair(pair *p) {
    tls_client_free(&p->client);
    if (p->near.fd >= 0) p->near.kind->close(&p->near, 0);
    close(p->far);
    nb_tls_context_release(p->context);
}

static nb_slice pem(const char *text) { return nb_slice_of(text, strlen(text)); }

static void add(nb_tls_context *context, const tls_identity *added) {
    nb_tls_error error;
    assert_status(NB_OK,
                  nb_tls_context_add(context, added->names, added->count, pem(added->chain), pem(added->key), &error));
}

static void serves_as(nb_tls_context *context, const char *asked, const char *server) {
    pair p;
    char name[64] = "";
    open_to(&p, nb_tls_context_share(context), asked);
    tls_client_server(&p.client, name, sizeof(name));
    assert_string_equal(server, name);
    close_pair(&p);
}

static inline nb_handshake_outcome fails(pair *p) {
    assert_status(NB_SYSTEM, shake(p));
    nb_handshake_outcome outcome = p->facts.outcome;
    close_pair(p);
    return outcome;
}

#endif
