/*
 * test_tls_challenge.c - what answers an ACME server over TLS (TLS-ALPN-01, RFC 8737), and that no
 * other client notices it.
 */
#include "support/test.h"

#ifdef NB_HAVE_TLS

#include "base/alloc.h"
#include "support/tls_pair.h"

static tls_identity identity, other;

static nb_tls_context *with_challenge(nb_tls_verify verify) {
    nb_tls_settings settings;
    nb_tls_context *context;
    nb_tls_error error;
    nb_tls_settings_default(&settings);
    settings.verify = verify;
    settings.authorities = pem(identity.chain);
    assert_status(NB_OK, nb_tls_context_create(&settings, &context, &error));
    add(context, &identity);
    assert_status(NB_OK, nb_tls_context_add_challenge(context, NB_SLICE("One.Example"), pem(other.chain),
                                                      pem(other.key), &error));
    return context;
}

static void ask(pair *p, nb_tls_context *context, const char *name, const char *offer) {
    open_pair(p, context);
    tls_client_open(&p->client, p->far, name);
    assert_int_equal(0, SSL_set_alpn_protos(p->client.ssl, (const unsigned char *)offer, (unsigned int)strlen(offer)));
}

/* RFC 8737 section 3: the protocol alone and the name choose the certificate of a challenge. The
 * ACME server shows no certificate of its own. */
static void a_challenge_is_answered_by_its_certificate(void **state) {
    (void)state;
    const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        pair p = {0};
        char name[64] = "";
        ask(&p, with_challenge(NB_TLS_VERIFY_REQUIRED), "ONE.example", "\x0a" NB_TLS_CHALLENGE_PROTOCOL);
        SSL_set_max_proto_version(p.client.ssl, versions[i]);
        assert_status(NB_OK, shake(&p));
        assert_string_equal(NB_TLS_CHALLENGE_PROTOCOL, p.facts.protocol);
        tls_client_server(&p.client, name, sizeof(name));
        assert_string_equal("two.example", name);
        close_pair(&p);
    }
}

static void a_challenge_changes_nothing_for_others(void **state) {
    (void)state;
    pair p = {0};
    nb_tls_context *context = with_challenge(NB_TLS_VERIFY_NONE);
    serves_as(context, "one.example", "one.example");
    serves_as(context, NULL, "one.example");
    ask(&p, nb_tls_context_share(context), "one.example", "\x08http/1.1\x0a" NB_TLS_CHALLENGE_PROTOCOL);
    assert_status(NB_OK, shake(&p));
    assert_string_equal("http/1.1", p.facts.protocol);
    close_pair(&p);
    ask(&p, nb_tls_context_share(context), "three.example", "\x0a" NB_TLS_CHALLENGE_PROTOCOL);
    assert_int_equal(NB_HANDSHAKE_protocol, fails(&p));
    ask(&p, nb_tls_context_share(context), NULL, "\x0a" NB_TLS_CHALLENGE_PROTOCOL);
    assert_int_equal(NB_HANDSHAKE_protocol, fails(&p));
    nb_tls_context_release(context);
    ask(&p, tls_identity_context(&identity), "one.example", "\x0a" NB_TLS_CHALLENGE_PROTOCOL);
    assert_int_equal(NB_HANDSHAKE_protocol, fails(&p));
}

static void a_bad_challenge_is_refused(void **state) {
    (void)state;
    nb_tls_context *context = tls_identity_context(&identity);
    nb_tls_error error;
    nb_slice name = NB_SLICE("one.example");
    assert_status(NB_INVALID,
                  nb_tls_context_add_challenge(context, NB_SLICE(""), pem(other.chain), pem(other.key), &error));
    assert_status(NB_INVALID, nb_tls_context_add_challenge(context, name, pem(other.chain), pem(identity.key), &error));
    assert_int_equal(NB_TLS_FAULT_MISMATCH, error.fault);
    nb_status status = NB_OK;
    int count = 0;
    for (; count < 1000 && status == NB_OK; count++)
        status = nb_tls_context_add_challenge(context, name, pem(other.chain), pem(other.key), &error);
    assert_status(NB_FULL, status);
    nb_tls_context_release(context);
}

static int prepare(void **state) {
    (void)state;
    identity = tls_identity_make("one.example", TLS_KEY_EC);
    other = tls_identity_make("two.example", TLS_KEY_RSA);
    return 0;
}

static int finish(void **state) {
    (void)state;
    tls_identity_free(&identity);
    tls_identity_free(&other);
    return nb_alloc_live() == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_challenge_is_answered_by_its_certificate),
        cmocka_unit_test(a_challenge_changes_nothing_for_others),
        cmocka_unit_test(a_bad_challenge_is_refused),
    };
    nb_test_alarm(120);
    return cmocka_run_group_tests(tests, prepare, finish);
}

#else

#include "tls/tls.h"

static void nothing_without_openssl(void **state) {
    (void)state;
    nb_tls_error error;
    nb_slice text = NB_SLICE("x");
    assert_status(NB_UNSUPPORTED, nb_tls_context_add_challenge(NULL, text, text, text, &error));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_without_openssl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
