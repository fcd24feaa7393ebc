/*
 * test_utf8.c - what is UTF-8 stays, what is not becomes a question mark, and no character is cut.
 */
#include "base/utf8.h"

#include <string.h>

#include "support/test.h"

static void scrubbed(const char *bytes, const char *expected) {
    char out[64];
    nb_utf8_scrub(out, sizeof out, bytes, strlen(bytes));
    assert_string_equal(expected, out);
}

static void characters_stay(void **state) {
    (void)state;
    static const char *const whole[] = {"",
                                        "a~",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "\xc3\xa9t\xc3\xa9"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        scrubbed(whole[i], whole[i]);
}

/* RFC 3629, section 10: no overlong forms, no surrogates, nothing past U+10FFFF. */
static void all_else_does_not(void **state) {
    (void)state;
    scrubbed("\x80", "?");
    scrubbed("a\xc0\x80", "a??");
    scrubbed("\xc1\xbf", "??");
    scrubbed("\xe0\x9f\xbf", "???");
    scrubbed("\xed\xa0\x80", "???");
    scrubbed("\xf0\x8f\xbf\xbf", "????");
    scrubbed("\xf4\x90\x80\x80", "????");
    scrubbed("\xf5\xff", "??");
    scrubbed("\xe2\x82", "??");
    scrubbed("\xe2\x82z", "??z");
    scrubbed("\xc3", "?");
}

static void it_is_cut_between_two_characters(void **state) {
    (void)state;
    char out[5];
    nb_utf8_scrub(out, sizeof out, "abc\xc3\xa9", 5);
    assert_string_equal("abc", out);
    nb_utf8_scrub(out, sizeof out, "ab\xc3\xa9z", 5);
    assert_string_equal("ab\xc3\xa9", out);
    nb_utf8_scrub(out, 1, "a", 1);
    assert_string_equal("", out);
}

static void what_may_be_shown_is_no_control_character(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t visible, character;
    } rows[] = {{"a", 1, 1},        {" ", 1, 1},    {"\xc2\xa0", 2, 2}, {"\xc3\xa9z", 2, 2}, {"\xf0\x9f\x98\x80", 4, 4},
                {"\x1b[", 0, 1},    {"\x7f", 0, 1}, {"\xc2\x9b", 0, 2}, {"\xc2\x80", 0, 2},  {"\xc2", 0, 0},
                {"\xe2\x82", 0, 0}, {"\xff", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(rows[i].visible, nb_utf8_visible(rows[i].bytes, strlen(rows[i].bytes)));
        assert_int_equal(rows[i].character, nb_utf8_character(rows[i].bytes, strlen(rows[i].bytes)));
    }
}

static void as_url(const char *bytes, size_t room, const char *expected) {
    char out[64];
    assert_int_equal(strlen(expected), nb_utf8_as_url(out, room, bytes, strlen(bytes)));
    assert_string_equal(expected, out);
}

static void what_may_not_be_shown_is_encoded_as_in_a_url(void **state) {
    (void)state;
    as_url("GET /caf\xc3\xa9?%e9 HTTP/1.1", 64, "GET /caf\xc3\xa9?%e9 HTTP/1.1");
    as_url("/\x1b[2J\t\x7f\xc2\x9b\xe9", 64, "/%1B[2J%09%7F%C2%9B%E9");
    as_url("ab\xc3\xa9", 5, "ab\xc3\xa9");
    as_url("ab\xc3\xa9", 4, "ab");
    as_url("a\xff", 5, "a%FF");
    as_url("a\xff", 4, "a");
    as_url("a", 1, "");
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_stay),
        cmocka_unit_test(all_else_does_not),
        cmocka_unit_test(it_is_cut_between_two_characters),
        cmocka_unit_test(what_may_be_shown_is_no_control_character),
        cmocka_unit_test(what_may_not_be_shown_is_encoded_as_in_a_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
