/*
 * test_proxy_header.c - headers of the PROXY protocol: each form, each way to be wrong, each
 * cut; and the kept inputs of the fuzzer.
 */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "http1/guarded.h"
#include "transport/proxy_header.h"

#define NB_FUZZ_ENTRY fuzz_proxy_header
static int fuzz_proxy_header(const uint8_t *data, size_t size);
#include "fuzz/fuzz_proxy_header.c"
#include "fuzz/replay.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define TCP4_ADDRESSES "\xc0\x00\x02\x2a\x7f\x00\x00\x01\xdc\x04\x01\xbb"
#define TCP6_ADDRESSES                                                 \
    "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07" \
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xdc\x04\x01\xbb"
#define MAPPED_ADDRESSES                                               \
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xc0\x00\x02\x2a" \
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\xdc\x04\x01\xbb"

typedef struct proxy_case {
    const char *bytes;
    size_t size;
    const char *named; /* "ADDRESS PORT", "" for nobody */
} proxy_case;

#define CASE(literal, expected) \
    { literal, sizeof(literal) - 1, expected }
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const proxy_case good[] = {
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 56324 443\r\n", "192.0.2.42 56324"),
    CASE("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255 65535"),
    CASE("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0 0"),
    CASE("PROXY TCP6 2001:DB8::7 ::1 56324 443\r\n", "2001:db8::7 56324"),
    CASE("PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535"),
    CASE("PROXY TCP6 ::ffff:192.0.2.42 ::1 56324 443\r\n", "192.0.2.42 56324"),
    CASE("PROXY UNKNOWN\r\n", ""),
    CASE("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", ""),
    CASE(SIGNATURE "\x21\x11\x00\x0c" TCP4_ADDRESSES, "192.0.2.42 56324"),
    CASE(SIGNATURE "\x21\x21\x00\x24" TCP6_ADDRESSES, "2001:db8::7 56324"),
    CASE(SIGNATURE "\x21\x21\x00\x24" MAPPED_ADDRESSES, "192.0.2.42 56324"),
    CASE(SIGNATURE "\x21\x11\x00\x10" TCP4_ADDRESSES "\x04\x00\x01x", "192.0.2.42 56324"),
    CASE(SIGNATURE "\x20\x00\x00\x00", ""),
    CASE(SIGNATURE "\x20\x11\x00\x0c" TCP4_ADDRESSES, ""),
    CASE(SIGNATURE "\x21\x00\x00\x03"
                   "abc",
         ""),
};

static const proxy_case bad[] = {
    CASE("GET / HTTP/1.1\r\n", NULL),
    CASE("\x16\x03\x01\x02", NULL),
    CASE("PROXY\r\n", NULL),
    CASE("proxy TCP4 192.0.2.42 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY TCP4\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 56324\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 56324 443 \r\n", NULL),
    CASE("PROXY TCP4  192.0.2.42 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 56324 443\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 65536 443\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 056 443\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 -1 443\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42 127.0.0.1 56324 4x3\r\n", NULL),
    CASE("PROXY TCP4 192.0.2 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY TCP4 192.0.2.42\0 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY TCP4 ::1 ::1 56324 443\r\n", NULL),
    CASE("PROXY TCP6 192.0.2.42 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY UDP4 192.0.2.42 127.0.0.1 56324 443\r\n", NULL),
    CASE("PROXY UNKNOWNS\r\n", NULL),
    CASE("PROXY UNKNOWN 345678901234567890123456789012345678901234567890123456789012345678901234567890"
         "1234567890123456789012345",
         NULL),
    CASE(SIGNATURE "\x11\x11\x00\x0c" TCP4_ADDRESSES, NULL), /* version */
    CASE(SIGNATURE "\x22\x11\x00\x0c" TCP4_ADDRESSES, NULL), /* command */
    CASE(SIGNATURE "\x21\x12\x00\x0c" TCP4_ADDRESSES, NULL), /* datagrams */
    CASE(SIGNATURE "\x21\x11\x00\x0b" TCP4_ADDRESSES, NULL), /* addresses that are cut */
    CASE(SIGNATURE "\x21\x21\x00\x0c" TCP4_ADDRESSES, NULL),
    CASE(SIGNATURE "\x21\x31\x00\x0c" TCP4_ADDRESSES, NULL),
};

static guarded memory;

static nb_status parse(const char *bytes, size_t size, nb_proxy_header *header) {
    return nb_proxy_header_parse(nb_slice_of(guarded_place(&memory, bytes, size), size), header);
}

static void test_each_header_names_its_client(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        nb_proxy_header header;
        char named[100] = "";
        assert_int_equal(NB_OK, parse(good[i].bytes, good[i].size, &header));
        if (header.has_client) snprintf(named, sizeof named, "%s %d", header.client.address, header.client.port);
        assert_string_equal(good[i].named, named);
        assert_int_equal(good[i].size, header.size);
    }
}

static void test_what_follows_is_the_clients(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        char bytes[400];
        nb_proxy_header header;
        memcpy(bytes, good[i].bytes, good[i].size);
        memcpy(bytes + good[i].size, "PROXY \r\n\n", 9);
        assert_int_equal(NB_OK, parse(bytes, good[i].size + 9, &header));
        assert_int_equal(good[i].size, header.size);
    }
}

static void test_a_header_that_is_cut_is_incomplete(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        nb_proxy_header header;
        for (size_t size = 0; size < good[i].size; size++)
            assert_int_equal(NB_INCOMPLETE, parse(good[i].bytes, size, &header));
    }
}

static void test_a_client_behind_a_unix_socket_has_no_address(void **state) {
    (void)state;
    char bytes[16 + 216] = SIGNATURE "\x21\x31\x00\xd8/run/client.sock";
    nb_proxy_header header;
    assert_int_equal(NB_OK, parse(bytes, sizeof bytes, &header));
    assert_true(header.has_client);
    assert_string_equal("", header.client.address);
}

static void test_each_other_beginning_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        nb_proxy_header header;
        nb_status status = parse(bad[i].bytes, bad[i].size, &header);
        if (status != NB_INVALID) fail_msg("%zu: %s", i, nb_status_name(status));
    }
}

static void test_a_header_has_a_bound(void **state) {
    (void)state;
    nb_proxy_header header;
    const char largest[] = SIGNATURE "\x20\x00\x0f\xf0", larger[] = SIGNATURE "\x20\x00\x0f\xf1";
    assert_int_equal(NB_INCOMPLETE, parse(largest, sizeof largest - 1, &header));
    assert_int_equal(NB_OVER_LIMIT, parse(larger, sizeof larger - 1, &header));
}

static void test_kept_inputs_hold(void **state) {
    (void)state;
    replay("proxy_header", fuzz_proxy_header);
}

int main(void) {
    nb_test_alarm(100);
    memory = guarded_create(8192);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_header_names_its_client),
        cmocka_unit_test(test_what_follows_is_the_clients),
        cmocka_unit_test(test_a_header_that_is_cut_is_incomplete),
        cmocka_unit_test(test_a_client_behind_a_unix_socket_has_no_address),
        cmocka_unit_test(test_each_other_beginning_is_refused),
        cmocka_unit_test(test_a_header_has_a_bound),
        cmocka_unit_test(test_kept_inputs_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
