/*
 * test_trace_context.c - traceparent (W3C Trace Context, section 3.2): valid values of this and of
 * later versions, and each way in which one is invalid. Values end at a guarded page.
 */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http/trace_context.h"
#include "http1/guarded.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define REST "-00f067aa0ba902b7-01"
#define VALID "00-" ID REST

static guarded memory;

static bool found(const char *bytes, size_t size, nb_slice *id) {
    static const char untouched[] = "untouched";
    *id = nb_slice_of(untouched, sizeof untouched);
    const bool valid = nb_trace_context_id(nb_slice_of(guarded_place(&memory, bytes, size), size), id);
    if (!valid) assert_ptr_equal(id->data, untouched);
    return valid;
}

static void test_the_id_of_valid_values(void **state) {
    (void)state;
    static const char *const values[] = {
        VALID,                                  /* the recommendation's own */
        "00-" ID "-00f067aa0ba902b7-00",        /* not sampled */
        "00-" ID "-00f067aa0ba902b7-ff",        /* flags that are not known */
        "01-" ID REST,                          /* a later version */
        "cc-" ID REST "-what-the-future-holds", /* and more behind it */
        "fe-" ID REST "-",
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        nb_slice id;
        if (!found(values[i], strlen(values[i]), &id)) fail_msg("\"%s\" is invalid", values[i]);
        assert_int_equal(id.size, NB_TRACE_ID_DIGITS);
        assert_memory_equal(id.data, ID, NB_TRACE_ID_DIGITS);
    }
}

static void test_invalid_values(void **state) {
    (void)state;
    static const char *const values[] = {
        "ff-" ID REST, /* a version that is not allowed */
        VALID "-more", /* version 00 has no more */
        VALID "-",
        "01-" ID REST "more", /* no dash before it */
        "01-" ID REST ".",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", /* no trace id */
        "00-" ID "-0000000000000000-01",                           /* no parent id */
        "00-4BF92F3577B34DA6A3CE929D0E0E4736" REST,                /* upper case */
        "00-" ID "-00F067AA0BA902B7-01",
        "0A-" ID REST,
        "00-" ID "-00f067aa0ba902b7-0A",
        "0x-" ID REST,
        "00-4bf92f3577b34da6a3ce929d0e0e473g" REST,
        "00_" ID REST,
        "00-" ID "_00f067aa0ba902b7-01",
        "00-" ID "-00f067aa0ba902b7_01",
        " " VALID,
        VALID "," VALID, /* two fields in one */
    };
    for (size_t i = 0; i < COUNT(values); i++) {
        nb_slice id;
        if (found(values[i], strlen(values[i]), &id)) fail_msg("\"%s\" is valid", values[i]);
    }
}

static void test_what_is_too_short_is_invalid_and_nothing_beyond_is_read(void **state) {
    (void)state;
    for (size_t size = 0; size < sizeof VALID - 1; size++) {
        nb_slice id;
        assert_false(found(VALID, size, &id));
    }
}

/* Any other byte in any place makes it invalid, save digits in the place of digits. */
static void test_each_byte_counts(void **state) {
    (void)state;
    char text[sizeof VALID];
    for (size_t at = 0; at < sizeof VALID - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, VALID, sizeof text);
            text[at] = (char)byte;
            nb_slice id;
            const bool digit = byte && strchr("0123456789abcdef", byte), dash = VALID[at] == '-';
            assert_int_equal(found(text, sizeof VALID - 1, &id), dash ? byte == '-' : digit);
        }
    }
}

static void test_an_id_is_a_number_of_128_bits(void **state) {
    (void)state;
    nb_slice digits;
    assert_true(nb_trace_context_id(NB_SLICE(VALID), &digits));
    nb_trace_id id = nb_trace_id_read(digits);
    char text[NB_TRACE_ID_DIGITS + 1];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
    assert_memory_equal(digits.data, text, NB_TRACE_ID_DIGITS);
    assert_false(nb_trace_id_is_none(id));
    assert_true(nb_trace_id_is_none((nb_trace_id){0, 0}));
}

int main(void) {
    nb_test_alarm(60);
    memory = guarded_create(128);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_id_of_valid_values),
        cmocka_unit_test(test_invalid_values),
        cmocka_unit_test(test_what_is_too_short_is_invalid_and_nothing_beyond_is_read),
        cmocka_unit_test(test_each_byte_counts),
        cmocka_unit_test(test_an_id_is_a_number_of_128_bits),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    guarded_destroy(&memory);
    return failed;
}
