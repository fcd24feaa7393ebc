/*
 * test_tls_effort.c - which steps of a handshake are left to others, by the kind of the key.
 */
#include "support/test.h"

#ifdef NB_HAVE_TLS

#include "base/alloc.h"
#include "support/tls_pair.h"

static tls_identity identity, rsa, p384;

/* Signatures with a key of P-256 take no longer than the key exchange, which the same step does. */
static void a_quick_key_needs_no_heavy_step_where_quick_work_is_allowed(void **state) {
    (void)state;
    const struct {
        const tls_identity *of;
        nb_tls_effort effort;
        int heavy;
    } cases[] = {{&identity, NB_TLS_QUICK, 0}, {&identity, NB_TLS_WITHOUT_KEY, 1}, {&identity, NB_TLS_ALL, 0},
                 {&rsa, NB_TLS_QUICK, 1},      {&p384, NB_TLS_QUICK, 1},           {&rsa, NB_TLS_ALL, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        pair p = {.effort = cases[i].effort};
        open_to(&p, tls_identity_context(cases[i].of), "one.example");
        assert_int_equal(NB_HANDSHAKE_full, p.facts.outcome);
        assert_int_equal(cases[i].heavy, p.heavy);
        close_pair(&p);
    }
}

/* Both kinds of key for one name: which one will sign is not known before. */
static void a_slow_key_beside_a_quick_one_is_left_to_others(void **state) {
    (void)state;
    const tls_identity *orders[][2] = {{&identity, &rsa}, {&rsa, &identity}};
    for (size_t i = 0; i < 2; i++) {
        pair p = {.effort = NB_TLS_QUICK};
        nb_tls_context *context = tls_identity_context(orders[i][0]);
        add(context, orders[i][1]);
        open_to(&p, context, "one.example");
        assert_int_equal(1, p.heavy);
        close_pair(&p);
    }
}

static int prepare(void **state) {
    (void)state;
    identity = tls_identity_make("one.example", TLS_KEY_EC);
    rsa = tls_identity_make("one.example", TLS_KEY_RSA);
    p384 = tls_identity_make("one.example", TLS_KEY_P384);
    return 0;
}

static int finish(void **state) {
    (void)state;
    tls_identity_free(&identity);
    tls_identity_free(&rsa);
    tls_identity_free(&p384);
    return nb_alloc_live() == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_key_needs_no_heavy_step_where_quick_work_is_allowed),
        cmocka_unit_test(a_slow_key_beside_a_quick_one_is_left_to_others),
    };
    nb_test_alarm(120);
    return cmocka_run_group_tests(tests, prepare, finish);
}

#else

#include "transport/transport.h"

static void nothing_without_openssl(void **state) {
    (void)state;
    nb_tls_facts facts;
    nb_transport transport = {.fd = -1};
    assert_status(NB_UNSUPPORTED, nb_transport_tls_handshake(&transport, NB_TLS_ALL, &facts));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_without_openssl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
