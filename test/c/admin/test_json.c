/*
 * test_json.c - objects of the admin pages: commas, and bytes of unknown origin.
 */
#include "admin/json.h"

#include <string.h>

#include "support/test.h"

static nb_text text;

static void expect(const char *json) {
    nb_text_add_bytes(&text, "", 1);
    assert_false(nb_text_failed(&text));
    assert_string_equal(json, text.bytes);
    nb_text_deinit(&text);
}

static void commas_come_between(void **state) {
    (void)state;
    nb_text_init(&text, 1000);
    nb_text_add(&text, "{");
    nb_json_number(&text, "a", 1);
    nb_json_begin(&text, "b", '[');
    nb_json_string(&text, NULL, "x\"");
    nb_json_flag(&text, NULL, true);
    nb_text_add(&text, "]");
    nb_json_seconds(&text, "c", 1500000000);
    nb_json_seconds(&text, "d", -1);
    nb_text_add(&text, "}");
    expect("{\"a\":1,\"b\":[\"x\\\"\",true],\"c\":1.5,\"d\":0}");
}

static void what_is_no_utf8_is_not_shown(void **state) {
    (void)state;
    char longer[2 * NB_JSON_BYTES_MAX];
    memset(longer, 'x', sizeof longer);
    nb_text_init(&text, 10000);
    nb_json_bytes(&text, NULL, nb_slice_of("\xc3\xa9 \xff\x01", 5));
    expect("\"\xc3\xa9 ?\\u0001\"");
    nb_text_init(&text, 10000);
    nb_json_bytes(&text, NULL, nb_slice_of(longer, sizeof longer));
    assert_int_equal(NB_JSON_BYTES_MAX + 2, text.size);
    nb_text_deinit(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_come_between),
        cmocka_unit_test(what_is_no_utf8_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
