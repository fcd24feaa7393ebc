/*
 * test_decimal.c - numbers as digits: written as printf writes them, read as strtoull reads them,
 * and held where 64 bits end.
 */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check(uint64_t number) {
    char out[NB_DECIMAL_BYTES_MAX + 1], expected[32];
    size_t digits;
    memset(out, 0x5a, sizeof out);
    const int size = snprintf(expected, sizeof expected, "%" PRIu64, number);
    assert_ptr_equal(nb_decimal_put(out, number), out + size);
    assert_memory_equal(out, expected, (size_t)size);
    assert_int_equal(out[size], 0x5a);
    assert_true(nb_decimal_read(nb_slice_of(out, sizeof out), &digits) == number);
    assert_int_equal(digits, size);
}

static void test_numbers_come_back(void **state) {
    (void)state;
    for (uint64_t number = 0; number < 20000; number++)
        check(number);
    for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10) {
        check(power - 1);
        check(power);
        check(power + 1);
    }
    check(UINT64_MAX);
    nb_test_random random = {7};
    for (int i = 0; i < 20000; i++)
        check(nb_test_random_next(&random) >> nb_test_random_below(&random, 64));
}

static void test_numbers_past_64_bits_are_the_largest(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t number;
        size_t digits;
    } cases[] = {
        {"18446744073709551614", UINT64_MAX - 1, 20},    {"18446744073709551615", UINT64_MAX, 20},
        {"18446744073709551616", UINT64_MAX, 20},        {"18446744073709551619x", UINT64_MAX, 20},
        {"18446744073709551620", UINT64_MAX, 20},        {"184467440737095516150", UINT64_MAX, 21},
        {"99999999999999999999", UINT64_MAX, 20},        {"100000000000000000000000000000000", UINT64_MAX, 33},
        {"0000000000000000000000000000000012-", 12, 34},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t digits;
        assert_true(nb_decimal_read(nb_slice_of(cases[i].text, strlen(cases[i].text)), &digits) == cases[i].number);
        assert_int_equal(digits, cases[i].digits);
    }
}

static void test_what_begins_with_no_digit_has_none(void **state) {
    (void)state;
    static const char *const cases[] = {"", "-1", "+1", " 1", "x", "/", ":", "\xb2"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t digits = 9;
        assert_true(nb_decimal_read(nb_slice_of(cases[i], strlen(cases[i])), &digits) == 0);
        assert_int_equal(digits, 0);
    }
}

static void test_pairs_keep_their_zero(void **state) {
    (void)state;
    for (unsigned number = 0; number < 100; number++) {
        char out[3] = {0}, expected[16];
        snprintf(expected, sizeof expected, "%02u", number);
        assert_ptr_equal(nb_decimal_put_pair(out, number), out + 2);
        assert_string_equal(out, expected);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_numbers_past_64_bits_are_the_largest),
        cmocka_unit_test(test_what_begins_with_no_digit_has_none),
        cmocka_unit_test(test_pairs_keep_their_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
