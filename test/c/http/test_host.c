/*
 * test_host.c - uri-host [":" port] by a table, and every short text of an IP literal compared with
 * inet_pton.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <string.h>

#include "http1/guarded.h"
#include "http/host.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static guarded memory;

static bool valid(const char *text, nb_port_rule port) {
    const size_t size = strlen(text);
    return nb_host_is_valid(nb_slice_of(guarded_place(&memory, text, size), size), port);
}

static void test_hosts_are_judged_by_the_grammar(void **state) {
    (void)state;
    static const char *const good[] = {"a",
                                       "test",
                                       "TEST.example",
                                       "a.b.c.",
                                       "a_b",
                                       "xn--bcher-kva.example",
                                       "127.0.0.1",
                                       "999.1.1.1",
                                       "a%20b",
                                       "%c3%A9",
                                       "a~b!$&'()*+;=",
                                       "[1:2:3:4:5:6:7::]",
                                       "[::2:3:4:5:6:7:8]",
                                       "[1:2:3:4:5::1.2.3.4]",
                                       "[::1:2:3:4:5:1.2.3.4]",
                                       "[1:2:3:4:5:6:1.2.3.4]",
                                       "[::]",
                                       "[::1]",
                                       "[1:2:3:4:5:6:7:8]",
                                       "[1::8]",
                                       "[::ffff:1.2.3.4]",
                                       "[v1.x]",
                                       "[VF.a:b:c]",
                                       "0",
                                       "-"};
    static const char *const bad[] = {"",
                                      ":",
                                      ":80",
                                      "a@b",
                                      "@",
                                      "a,b",
                                      "a b",
                                      " a",
                                      "a/",
                                      "/",
                                      "a?b",
                                      "a#b",
                                      "a\\b",
                                      "a\"b",
                                      "a<b",
                                      "a|b",
                                      "a^b",
                                      "a{b}",
                                      "a`b",
                                      "a[b]",
                                      "[",
                                      "]",
                                      "[]",
                                      "[a",
                                      "a]",
                                      "[::1",
                                      "::1",
                                      "[::1]x",
                                      "[::1]]",
                                      "[::1%eth0]",
                                      "[v.xx]",
                                      "[v1./]",
                                      "[v1.@a]",
                                      "[1:2:3:4:5:6::1.2.3.4]",
                                      "[1:2:3:4:5:1.2.3.4]",
                                      "[v1]",
                                      "[v1.]",
                                      "[v.x]",
                                      "[vg.x]",
                                      "[v1.a/b]",
                                      "%",
                                      "a%2",
                                      "a%zz",
                                      "a\tb",
                                      "a\x7f",
                                      "a\xe9",
                                      "[1:2:3:4:5:6:7]",
                                      "[1:2:3:4:5:6:7:8:9]",
                                      "[1::2::3]",
                                      "[:1]",
                                      "[1:]",
                                      "[12345::]",
                                      "[::1.2.3]",
                                      "[::1.2.3.256]",
                                      "[::1.2.3.04]",
                                      "[1:2:3:4:5:6:7:1.2.3.4]",
                                      "[::g]",
                                      "[:::]",
                                      "[1:2:3:4:5:6:7:8::]"};
    char with_port[64];
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!valid(good[i], NB_PORT_OPTIONAL)) fail_msg("%s is refused", good[i]);
        assert_false(valid(good[i], NB_PORT_REQUIRED));
        strcat(strcpy(with_port, good[i]), ":8080");
        assert_true(valid(with_port, NB_PORT_OPTIONAL));
        assert_true(valid(with_port, NB_PORT_REQUIRED));
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (valid(bad[i], NB_PORT_OPTIONAL)) fail_msg("%s is accepted", bad[i]);
        strcat(strcpy(with_port, bad[i]), ":80");
        if (valid(with_port, NB_PORT_OPTIONAL)) fail_msg("%s is accepted", with_port);
    }
}

static void test_ports_are_numbers_up_to_65535(void **state) {
    (void)state;
    static const char *const good[] = {"a:0", "a:1", "a:80", "a:00080", "a:65535", "[::1]:9"};
    static const char *const bad[] = {"a:",   "a:65536", "a:99999", "a:000080", "a:123456", "a:-1",   "a:+1",   "a: 1",
                                      "a:1 ", "a:x",     "a:1x",    "a:80:80",  "a::80",    "[::1]:", "[::1]80"};
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!valid(good[i], NB_PORT_OPTIONAL)) fail_msg("%s is refused", good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (valid(bad[i], NB_PORT_OPTIONAL)) fail_msg("%s is accepted", bad[i]);
    }
}

static bool tolerated(const char *text, nb_compliance compliance) {
    const size_t size = strlen(text);
    return nb_host_is_tolerated(nb_slice_of(guarded_place(&memory, text, size), size), compliance);
}

static void test_what_else_is_taken_for_a_host_is_for_the_compliance_to_say(void **state) {
    (void)state;
    static const char *const common[] = {"a:", "a.b:", "%41:", "[::1]:"};
    static const char *const lenient[] = {"a,b",
                                          "a,b:80",
                                          ",",
                                          "b\xc3\xbc"
                                          "cher:80",
                                          "\xff",
                                          "a:000080",
                                          "a:0000000000",
                                          "[::1]:00000080",
                                          "[fe80::1%25eth0]",
                                          "[fe80::1%eth0]:80",
                                          "[fe80::1%25a.b]:",
                                          "a,%20b"};
    static const char *const never[] = {
        "",    ":",      ":80",    "a::",     "a:80:",     "a:65536",   "a:0065536",  "a:8x",  "a b",       "a/",
        "a@b", "a?",     "a#",     "a\\",     "\"a\"",     "<a>",       "a|b",        "a%zz",  ",%4",       "[::1",
        "[]",  "[::1%]", "[%25a]", "[a%25b]", "[::1%a b]", "[::1%a%b]", "[v1.a%25b]", "a\x7f", "a\xc3:\xb2"};
    for (size_t i = 0; i < COUNT(common); i++) {
        assert_false(valid(common[i], NB_PORT_OPTIONAL));
        assert_false(valid(common[i], NB_PORT_REQUIRED));
        assert_false(tolerated(common[i], NB_COMPLIANCE_STRICT));
        if (!tolerated(common[i], NB_COMPLIANCE_COMMON)) fail_msg("%s is refused", common[i]);
        if (!tolerated(common[i], NB_COMPLIANCE_LENIENT)) fail_msg("%s is refused", common[i]);
    }
    for (size_t i = 0; i < COUNT(lenient); i++) {
        assert_false(valid(lenient[i], NB_PORT_OPTIONAL));
        if (tolerated(lenient[i], NB_COMPLIANCE_COMMON)) fail_msg("%s is accepted", lenient[i]);
        if (!tolerated(lenient[i], NB_COMPLIANCE_LENIENT)) fail_msg("%s is refused", lenient[i]);
    }
    for (size_t i = 0; i < COUNT(never); i++) {
        if (tolerated(never[i], NB_COMPLIANCE_LENIENT)) fail_msg("%s is accepted", never[i]);
    }
}

static void test_a_host_ends_at_the_colon_of_its_port(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "a.b", "[::1]", "[fe80::1%25a]"};
    char text[64];
    for (size_t i = 0; i < COUNT(hosts); i++) {
        const size_t size = strlen(hosts[i]);
        assert_int_equal(size, nb_host_size(nb_slice_of(hosts[i], size)));
        assert_int_equal(size, nb_host_size(nb_slice_of(strcat(strcpy(text, hosts[i]), ":"), size + 1)));
        assert_int_equal(size, nb_host_size(nb_slice_of(strcat(strcpy(text, hosts[i]), ":80"), size + 3)));
    }
}

/* All texts of seven letters, and random longer ones. */
static void check_address(const char *text) {
    struct in6_addr address;
    char bracketed[80];
    strcat(strcat(strcpy(bracketed, "["), text), "]");
    const bool expected = inet_pton(AF_INET6, text, &address) == 1;
    if (valid(bracketed, NB_PORT_OPTIONAL) != expected)
        fail_msg("%s is %s", bracketed, expected ? "refused" : "accepted");
}

static void test_ip_literals_are_what_the_system_takes_for_ipv6(void **state) {
    (void)state;
    static const char letters[] = {'1', ':', '.', 'f'};
    char text[64] = "";
    for (size_t length = 1; length <= 7; length++) {
        for (size_t n = 0; n < (size_t)1 << (2 * length); n++) {
            for (size_t i = 0; i < length; i++)
                text[i] = letters[n >> (2 * i) & 3];
            text[length] = 0;
            check_address(text);
        }
    }
    nb_test_random random = {7};
    static const char *const parts[] = {":",  ":",     "::", "1",    "ffff", "0", "1.2.3.4", "255.255.255.255",
                                        "10", "abcde", ".",  "1.2.3"};
    for (int round = 0; round < 300000; round++) {
        text[0] = 0;
        for (uint64_t i = 1 + nb_test_random_below(&random, 17); i > 0 && strlen(text) < 40; i--) {
            strcat(text, parts[nb_test_random_below(&random, COUNT(parts))]);
        }
        check_address(text);
    }
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(4096);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_are_judged_by_the_grammar),
        cmocka_unit_test(test_ports_are_numbers_up_to_65535),
        cmocka_unit_test(test_what_else_is_taken_for_a_host_is_for_the_compliance_to_say),
        cmocka_unit_test(test_a_host_ends_at_the_colon_of_its_port),
        cmocka_unit_test(test_ip_literals_are_what_the_system_takes_for_ipv6),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
