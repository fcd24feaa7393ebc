/*
 * test_multipart.c - the pieces of multipart/byteranges (RFC 9110 section 14.6, RFC 2046 section
 * 5.1.1), written and parsed again.
 */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "files/multipart.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The whole body over a file whose byte at offset n is 'a' + n % 26. */
static size_t write_body(char *out, size_t room, const nb_multipart *multipart, const nb_range *ranges,
                         uint16_t count) {
    size_t at = 0;
    for (uint16_t i = 0; i < count; i++) {
        const size_t before = at;
        at += nb_multipart_part_write(out + at, multipart, ranges[i]);
        assert_in_range(at - before, 1, NB_MULTIPART_PART_BYTES_MAX + multipart->content_type.size);
        for (uint64_t n = 0; n < ranges[i].bytes; n++)
            out[at++] = (char)('a' + (ranges[i].offset + n) % 26);
    }
    nb_multipart_end_write(out + at, multipart);
    at += NB_MULTIPART_END_BYTES;
    assert_in_range(at, 1, room);
    return at;
}

/* Section 15.3.7.2. */
static void test_a_body_is_these_bytes(void **state) {
    (void)state;
    static const nb_range ranges[] = {{0, 3}, {24, 4}};
    char out[1024] = {0}, type[NB_MULTIPART_TYPE_BYTES + 1] = {0};
    nb_multipart multipart;
    nb_multipart_init(&multipart, UINT64_C(0xfedcba9876543210), NB_SLICE("text/plain; charset=utf-8"), 10000);
    const size_t bytes = write_body(out, sizeof out, &multipart, ranges, 2);
    assert_string_equal(out, "\r\n--0123456789abcdef\r\n"
                             "Content-Type: text/plain; charset=utf-8\r\n"
                             "Content-Range: bytes 0-2/10000\r\n\r\n"
                             "abc"
                             "\r\n--0123456789abcdef\r\n"
                             "Content-Type: text/plain; charset=utf-8\r\n"
                             "Content-Range: bytes 24-27/10000\r\n\r\n"
                             "yzab"
                             "\r\n--0123456789abcdef--\r\n");
    assert_int_equal(bytes, nb_multipart_bytes(&multipart, ranges, 2));
    nb_multipart_type_write(type, &multipart);
    assert_string_equal(type, "multipart/byteranges; boundary=0123456789abcdef");
}

static void test_a_file_without_a_type_has_parts_without_one(void **state) {
    (void)state;
    static const nb_range ranges[] = {{7, 1}};
    char out[1024] = {0};
    nb_multipart multipart;
    nb_multipart_init(&multipart, 0, nb_slice_of(NULL, 0), 8);
    assert_int_equal(write_body(out, sizeof out, &multipart, ranges, 1), nb_multipart_bytes(&multipart, ranges, 1));
    assert_string_equal(out,
                        "\r\n--0000000000000000\r\nContent-Range: bytes 7-7/8\r\n\r\nh\r\n--0000000000000000--\r\n");
}

static void test_the_length_is_what_is_written(void **state) {
    (void)state;
    static char out[65536];
    static const char type[] = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    nb_test_random random = {5};
    for (int round = 0; round < 3000; round++) {
        nb_range ranges[NB_RANGES_MAX];
        nb_multipart multipart;
        const uint64_t size = nb_test_random_next(&random) >> nb_test_random_below(&random, 60) | 1024;
        const uint16_t count = (uint16_t)(1 + nb_test_random_below(&random, NB_RANGES_MAX));
        nb_multipart_init(&multipart, nb_test_random_next(&random),
                          nb_slice_of(type, nb_test_random_below(&random, sizeof type)), size);
        for (uint16_t i = 0; i < count; i++) {
            const uint64_t bytes = 1 + nb_test_random_below(&random, 1000);
            ranges[i] = (nb_range){nb_test_random_below(&random, size - bytes + 1), bytes};
        }
        assert_int_equal(write_body(out, sizeof out, &multipart, ranges, count),
                         nb_multipart_bytes(&multipart, ranges, count));
    }
}

static void test_the_longest_part_fits_into_the_room_asked_for(void **state) {
    (void)state;
    char out[NB_MULTIPART_PART_BYTES_MAX + 3 + 1];
    nb_multipart multipart;
    nb_multipart_init(&multipart, UINT64_MAX, NB_SLICE("a/b"), UINT64_MAX);
    memset(out, 0x5a, sizeof out);
    const size_t bytes = nb_multipart_part_write(out, &multipart, (nb_range){UINT64_C(18446744073709551000), 615});
    assert_int_equal(bytes, NB_MULTIPART_PART_BYTES_MAX + 3);
    assert_int_equal(out[bytes], 0x5a);
    const nb_range all = {0, UINT64_C(18446744073709550000)};
    assert_true(nb_multipart_bytes(&multipart, &all, 1) > all.bytes);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_body_is_these_bytes),
        cmocka_unit_test(test_a_file_without_a_type_has_parts_without_one),
        cmocka_unit_test(test_the_length_is_what_is_written),
        cmocka_unit_test(test_the_longest_part_fits_into_the_room_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
