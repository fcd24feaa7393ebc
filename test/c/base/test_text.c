/*
 * test_text.c - pieces become one text up to its bound; what is missing is told at the end.
 */
#include "base/text.h"

#include <string.h>

#include "base/alloc.h"
#include "support/test.h"

static void expect(nb_text *text, const char *expected) {
    assert_false(nb_text_failed(text));
    assert_int_equal(strlen(expected), text->size);
    assert_memory_equal(expected, text->bytes, text->size);
    nb_text_deinit(text);
}

static nb_text new_text(void) {
    nb_text text;
    nb_text_init(&text, 100000);
    return text;
}

static void pieces_follow_one_another(void **state) {
    (void)state;
    nb_text text = new_text();
    nb_text_add(&text, "a ");
    nb_text_format(&text, "%d%s", 7, "!");
    nb_text_add(&text, "");
    expect(&text, "a 7!");
}

static void seconds_are_decimal_and_as_short_as_they_can_be(void **state) {
    (void)state;
    static const struct {
        uint64_t ns;
        const char *seconds;
    } rows[] = {{0, "0"},          {64, "0.000000064"},           {250000000, "0.25"},
                {1000000000, "1"}, {UINT64_C(60000000000), "60"}, {1000000001, "1.000000001"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nb_text text = new_text();
        nb_text_seconds(&text, rows[i].ns);
        expect(&text, rows[i].seconds);
    }
}

static void a_string_of_json_is_quoted_rfc_8259_section_7(void **state) {
    (void)state;
    nb_text text = new_text();
    nb_text_json(&text, "a\"b\\c\n\x7f\xc3\xa9");
    expect(&text, "\"a\\\"b\\\\c\\u000a\\u007f\xc3\xa9\"");
}

static void a_label_of_prometheus_has_three_escapes(void **state) {
    (void)state;
    nb_text text = new_text();
    nb_text_label(&text, "a\"b\\c\nd\te\x7f\xc3\xa9");
    expect(&text, "\"a\\\"b\\\\c\\nd?e?\xc3\xa9\"");
}

static void it_grows_to_its_bound_and_no_further(void **state) {
    (void)state;
    nb_text text;
    nb_text_init(&text, 10000);
    for (int i = 0; i < 1000; i++)
        nb_text_add(&text, "0123456789");
    assert_false(nb_text_failed(&text));
    assert_int_equal(10000, text.size);
    nb_text_add(&text, "x");
    assert_true(nb_text_failed(&text));
    assert_int_equal(10000, text.size);
    nb_text_deinit(&text);
}

static void a_piece_that_is_too_long_for_one_format_fails(void **state) {
    (void)state;
    nb_text text = new_text();
    nb_text_format(&text, "%600d", 1);
    assert_true(nb_text_failed(&text));
    nb_text_deinit(&text);
}

static void without_memory_it_fails_and_leaks_nothing(void **state) {
    (void)state;
    long before = nb_alloc_live();
    nb_text text = new_text();
    nb_alloc_fail_at(1);
    nb_text_add(&text, "a");
    nb_alloc_fail_at(0);
    assert_true(nb_text_failed(&text));
    nb_text_add(&text, "b");
    assert_int_equal(0, text.size);
    nb_text_deinit(&text);
    assert_int_equal(before, nb_alloc_live());
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_one_another),
        cmocka_unit_test(seconds_are_decimal_and_as_short_as_they_can_be),
        cmocka_unit_test(a_string_of_json_is_quoted_rfc_8259_section_7),
        cmocka_unit_test(a_label_of_prometheus_has_three_escapes),
        cmocka_unit_test(it_grows_to_its_bound_and_no_further),
        cmocka_unit_test(a_piece_that_is_too_long_for_one_format_fails),
        cmocka_unit_test(without_memory_it_fails_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
