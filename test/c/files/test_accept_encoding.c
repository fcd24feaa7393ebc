/*
 * test_accept_encoding.c - Accept-Encoding (RFC 9110 section 12.5.3) against the available codings.
 */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "files/accept_encoding.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    GZIP = NB_ENCODING_BIT(NB_ENCODING_GZIP),
    BR = NB_ENCODING_BIT(NB_ENCODING_BR),
    ZSTD = NB_ENCODING_BIT(NB_ENCODING_ZSTD),
    ALL = GZIP | BR | ZSTD
};

static guarded memory;

typedef struct choice_case {
    const char *accept;
    unsigned available;
    const char *expected; /* "none" for NB_ENCODING_NONE */
} choice_case;

static const char *name_of(nb_encoding encoding) {
    return encoding == NB_ENCODING_NONE ? "none" : nb_encoding_name(encoding).data;
}

static void check(const choice_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t size = strlen(cases[i].accept);
        const nb_slice accept = {guarded_place(&memory, cases[i].accept, size), size};
        const char *const found = name_of(nb_encoding_choose(accept, cases[i].available));
        if (strcmp(found, cases[i].expected) != 0)
            fail_msg("\"%s\" of %#x: %s, not %s", cases[i].accept, cases[i].available, found, cases[i].expected);
    }
}

static void test_the_examples_of_the_rfc(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"compress, gzip", ALL, "gzip"},
        {"", ALL, "identity"},
        {"*", ALL, "zstd"},
        {"compress;q=0.5, gzip;q=1.0", ALL, "gzip"},
        {"gzip;q=1.0, identity; q=0.5, *;q=0", ALL, "gzip"},
        {"gzip;q=1.0, identity; q=0.5, *;q=0", BR, "identity"},
    };
    check(cases, COUNT(cases));
}

static void test_what_clients_send(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"gzip, deflate, br, zstd", ALL, "zstd"}, /* Chrome, Firefox */
        {"gzip, deflate, br", ALL, "br"},         /* Safari */
        {"gzip, deflate, br, zstd", GZIP, "gzip"},
        {"gzip, deflate, br, zstd", 0, "identity"},
        {"gzip;q=1.0,deflate;q=0.6,identity;q=0.3", ALL, "gzip"}, /* Net::HTTP */
        {"gzip;q=1.0,deflate;q=0.6,identity;q=0.3", BR, "identity"},
        {"identity", ALL, "identity"},            /* wget, media players */
        {"identity;q=1, *;q=0", ALL, "identity"}, /* Chrome for media */
        {"deflate", ALL, "identity"},
    };
    check(cases, COUNT(cases));
}

static void test_without_the_field_nothing_is_coded(void **state) {
    (void)state;
    assert_int_equal(nb_encoding_choose(nb_slice_of(NULL, 0), ALL), NB_ENCODING_IDENTITY);
}

/* The highest weight; among equals zstd, br, gzip, identity. */
static void test_the_highest_weight_wins(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"gzip, br, zstd", ALL, "zstd"},
        {"zstd, br, gzip", ALL, "zstd"},
        {"gzip, br", ALL, "br"},
        {"br, gzip", GZIP, "gzip"},
        {"zstd;q=0.8, br;q=0.9, gzip;q=0.7", ALL, "br"},
        {"zstd;q=0.8, br;q=0.9, gzip;q=0.7", ZSTD | GZIP, "zstd"},
        {"zstd;q=0.001, br;q=0.002", ALL, "br"},
        {"gzip;q=0.999, br;q=0.99, zstd;q=0.9", ALL, "gzip"},
        {"gzip, identity", ALL, "gzip"},
        {"gzip;q=0.5, identity", ALL, "identity"},
        {"gzip;q=0.5, identity;q=0.4", ALL, "gzip"},
        {"gzip;q=0.5, identity;q=0.5", ALL, "gzip"},
        {"gzip;q=0.001", ALL, "gzip"}, /* identity is the last choice if it is not named */
    };
    check(cases, COUNT(cases));
}

/* Section 12.4.2: a weight of 0 is "not acceptable". */
static void test_weight_zero_refuses(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"gzip;q=0", ALL, "identity"},
        {"gzip;q=0.0", ALL, "identity"},
        {"gzip;q=0.000", ALL, "identity"},
        {"gzip;q=0.", ALL, "identity"},
        {"gzip;q=0, br", ALL, "br"},
        {"br;q=0, gzip", ALL, "gzip"},
        {"zstd;q=0, *", ALL, "br"},
        {"identity;q=0", ALL, "none"},
        {"identity;q=0", 0, "none"},
        {"identity;q=0, gzip", ALL, "gzip"},
        {"identity;q=0, gzip", BR, "none"},
        {"identity;q=0, *;q=0", ALL, "none"},
        {"*;q=0", ALL, "none"},
        {"*;q=0, gzip", ALL, "gzip"},
        {"*;q=0, gzip", BR, "none"},
        {"*;q=0, identity", ALL, "identity"},
        {"*;q=0, identity;q=0.001", ALL, "identity"},
        {"identity;q=0, gzip;q=0", ALL, "none"},
    };
    check(cases, COUNT(cases));
}

static void test_a_star_is_all_that_is_not_named(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"*", 0, "identity"},
        {"*", GZIP, "gzip"},
        {"*;q=0.5, gzip", ALL, "gzip"},
        {"*;q=0.5, gzip;q=0.4", ALL, "zstd"},
        {"*;q=0.5, gzip;q=0.4", GZIP, "identity"},
        {"gzip;q=0.4, *;q=0.5", GZIP, "identity"},
        {"zstd;q=0, br;q=0, *", ALL, "gzip"},
        {"*, identity;q=0", 0, "none"},
        {"*, identity;q=0", BR, "br"},
        {"**", ALL, "identity"},
    };
    check(cases, COUNT(cases));
}

static void test_names_are_whole_and_of_any_case(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"GZIP", ALL, "gzip"},
        {"GZip, BR;q=0", ALL, "gzip"},
        {"IDENTITY;q=0", 0, "none"},
        {"x-gzip", ALL, "gzip"}, /* section 8.4.1.3 */
        {"X-GZIP;q=0.5, br;q=0.4", ALL, "gzip"},
        {"x-gzip;q=0, gzip", ALL, "identity"}, /* named twice */
        {"gzip, x-gzip;q=0", ALL, "identity"},
        {"gzip;q=0.2, gzip;q=0.9, br;q=0.5", ALL, "br"},
        {"gzip2", ALL, "identity"},
        {"xgzip", ALL, "identity"},
        {"gzi", ALL, "identity"},
        {"notgzip, brotli, zstandard", ALL, "identity"},
        {"x-br", ALL, "identity"},
        {"gzip-br", ALL, "identity"},
        {"gzip br", ALL, "identity"},
        {"\"gzip\"", ALL, "identity"},
    };
    check(cases, COUNT(cases));
}

/* Section 12.4.2: OWS ";" OWS "q=" qvalue; the name in any case. Section 5.6.1.2: empty
 * elements. */
static void test_white_space_and_case(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {" gzip", ALL, "gzip"},
        {"gzip \t", ALL, "gzip"},
        {"br ; q=0.1 , gzip;\tq=0.2", ALL, "gzip"},
        {"br;Q=0.1,gzip;Q=0.2", ALL, "gzip"},
        {"gzip ;q=0", ALL, "identity"},
        {"gzip; Q=0 ", ALL, "identity"},
        {",gzip", ALL, "gzip"},
        {"gzip,,", ALL, "gzip"},
        {", ,\t,", ALL, "identity"},
        {" ", ALL, "identity"},
    };
    check(cases, COUNT(cases));
}

/* An invalid element is skipped. */
static void test_an_element_that_does_not_fit_is_skipped(void **state) {
    (void)state;
    static const char *const weights[] = {
        "q=",     "q",       "q=x",         "q=2",       "q=1.1",   "q=1.001", "q=-1",     "q=0.1234", "q=.5",
        "q=00.5", "q=0,5",   "q=0.5x",      "q =0.5",    "q= 0.5",  "q=0..5",  "q=1.0000", "q=\"1\"",  "w=1",
        "",       "q=1;q=1", "level=1;q=1", "q=0.5;x=1", "q=1.00x", "q=10",    "q=0.0:",   "q=0.0/"};
    for (size_t i = 0; i < COUNT(weights); i++) {
        char accept[64] = "br;";
        strcat(accept, weights[i]);
        const choice_case alone = {accept, ALL, "identity"};
        check(&alone, 1);
        strcat(accept, ", gzip;q=0.001");
        const choice_case with_another = {accept, ALL, "gzip"};
        check(&with_another, 1);
    }
    static const choice_case cases[] = {
        {"identity;q=x", ALL, "identity"}, {"*;q=x", ALL, "identity"}, {";q=1", ALL, "identity"}};
    check(cases, COUNT(cases));
}

static void test_weights_are_thousandths(void **state) {
    (void)state;
    for (int thousandths = 0; thousandths <= 1000; thousandths++) {
        char accept[64];
        snprintf(accept, sizeof accept, "br;q=0.500, gzip;q=%d.%03d", thousandths / 1000, thousandths % 1000);
        const choice_case c = {accept, ALL, thousandths > 500 ? "gzip" : "br"};
        check(&c, 1);
    }
}

static void test_identity_is_always_there_and_other_bits_mean_nothing(void **state) {
    (void)state;
    static const choice_case cases[] = {
        {"gzip", ~0u, "gzip"}, {"", ~0u, "identity"}, {"br, deflate", ~(unsigned)BR, "identity"}};
    check(cases, COUNT(cases));
}

static void test_a_coding_has_a_name_and_an_ending(void **state) {
    (void)state;
    static const char *const names[] = {"identity", "gzip", "br", "zstd"}, *const endings[] = {"", ".gz", ".br",
                                                                                               ".zst"};
    for (unsigned i = 0; i < NB_ENCODING_COUNT; i++) {
        assert_string_equal(nb_encoding_name((nb_encoding)i).data, names[i]);
        assert_int_equal(nb_encoding_name((nb_encoding)i).size, strlen(names[i]));
        assert_string_equal(nb_encoding_extension((nb_encoding)i).data, endings[i]);
        assert_int_equal(nb_encoding_extension((nb_encoding)i).size, strlen(endings[i]));
    }
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(256);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_the_rfc),
        cmocka_unit_test(test_what_clients_send),
        cmocka_unit_test(test_without_the_field_nothing_is_coded),
        cmocka_unit_test(test_the_highest_weight_wins),
        cmocka_unit_test(test_weight_zero_refuses),
        cmocka_unit_test(test_a_star_is_all_that_is_not_named),
        cmocka_unit_test(test_names_are_whole_and_of_any_case),
        cmocka_unit_test(test_white_space_and_case),
        cmocka_unit_test(test_an_element_that_does_not_fit_is_skipped),
        cmocka_unit_test(test_weights_are_thousandths),
        cmocka_unit_test(test_identity_is_always_there_and_other_bits_mean_nothing),
        cmocka_unit_test(test_a_coding_has_a_name_and_an_ending),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
