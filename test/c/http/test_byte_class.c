/*
 * test_byte_class.c - the scans find the right byte at every place, and read nothing beyond the
 * end. Compared with the grammar written out.
 */
#include "support/test.h"

#include "http/byte_class.h"
#include "http1/guarded.h"
#include "http/head.h"

#define LONGEST 70u

static bool is_alnum(unsigned c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
static bool is_in(unsigned c, const char *set) { return c != 0 && c < 0x80 && strchr(set, (int)c) != NULL; }
static bool is_token(unsigned c) { return is_alnum(c) || is_in(c, "!#$%&'*+-.^_`|~"); }
static bool is_strict_target(unsigned c) { return is_alnum(c) || is_in(c, "-._~:/?[]@!$&'()*+,;=%^`{|}"); }
static bool is_target(unsigned c) { return is_strict_target(c) || c == '\\' || c >= 0x80; }
static bool is_value(unsigned c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }
static bool is_host(unsigned c) { return is_alnum(c) || is_in(c, "-._~!$&'()*+;="); }
static bool is_hex(unsigned c) { return is_alnum(c) && (c <= '9' || (c | 0x20) <= 'f'); }
static bool is_digit(unsigned c) { return c >= '0' && c <= '9'; }
static bool is_quoted(unsigned c) { return is_value(c) && c != '"' && c != '\\'; }

static void test_the_table_is_the_grammar(void **state) {
    (void)state;
    static const struct {
        unsigned bit;
        bool (*is)(unsigned);
    } classes[] = {{NB_BYTE_TOKEN, is_token},   {NB_BYTE_TARGET, is_target},
                   {NB_BYTE_VALUE, is_value},   {NB_BYTE_HOST, is_host},
                   {NB_BYTE_HEX, is_hex},       {NB_BYTE_DIGIT, is_digit},
                   {NB_BYTE_QUOTED, is_quoted}, {NB_BYTE_STRICT_TARGET, is_strict_target}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        for (unsigned c = 0; c < 256; c++) {
            if (nb_byte_is((char)c, classes[i].bit) != classes[i].is(c))
                fail_msg("class %u, byte 0x%02x", classes[i].bit, c);
        }
    }
}

/* Every byte at every place of every length. The text ends at a guarded page, and the scan begins
 * at every eighth place. */
static void check_scan(const char *(*scan)(const char *, const char *, const char *), bool (*is)(unsigned),
                       char filler) {
    guarded memory = guarded_create(LONGEST);
    for (size_t size = 1; size <= LONGEST; size++) {
        char *const base = memory.end - size;
        memset(base, filler, size);
        assert_ptr_equal(scan(base, base, memory.end), memory.end);
        for (size_t at = 0; at < size; at++) {
            for (unsigned c = 0; c < 256; c++) {
                base[at] = (char)c;
                const char *const expected = is(c) ? memory.end : base + at;
                for (size_t from = 0; from <= at; from += 7) {
                    if (scan(base, base + from, memory.end) != expected)
                        fail_msg("byte 0x%02x at %zu of %zu", c, at, size);
                }
            }
            base[at] = filler;
        }
    }
    guarded_destroy(&memory);
}

static void test_token_scan_stops_at_the_first_other_byte(void **state) {
    (void)state;
    check_scan(nb_scan_token, is_token, 'a');
    check_scan(nb_scan_token, is_token, '_');
}

static void test_target_scan_stops_at_the_first_other_byte(void **state) {
    (void)state;
    check_scan(nb_scan_target, is_target, '/');
}

static void test_value_scan_stops_at_the_first_other_byte(void **state) {
    (void)state;
    check_scan(nb_scan_value, is_value, ' ');
}

static void test_scans_stay_inside_when_the_end_is_not_the_end_of_the_memory(void **state) {
    (void)state;
    static const char bytes[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaaaaaaaaaaaaaaaaa";
    for (size_t end = 0; end <= 40; end++) {
        for (size_t from = 0; from <= end; from++) {
            assert_ptr_equal(nb_scan_value(bytes, bytes + from, bytes + end), bytes + end);
            assert_ptr_equal(nb_scan_token(bytes, bytes + from, bytes + end), bytes + end);
            assert_ptr_equal(nb_scan_target(bytes, bytes + from, bytes + end), bytes + end);
        }
    }
}

static void test_tokens_and_values_of_an_application_are_judged_whole(void **state) {
    (void)state;
    assert_false(nb_is_token(nb_slice_of("", 0)));
    assert_true(nb_is_token(NB_SLICE("X-Accept-Some_Thing.of.42")));
    assert_false(nb_is_token(NB_SLICE("X-Accept-Some Thing")));
    assert_false(nb_is_token(NB_SLICE("X-Accept-Some-Thing:")));
    assert_true(nb_is_field_value(nb_slice_of("", 0)));
    assert_true(nb_is_field_value(nb_slice_of(NULL, 0)));
    assert_true(nb_is_field_value(NB_SLICE("text/html; charset=\"utf-8\"\t\xc3\xa9")));
    assert_false(nb_is_field_value(NB_SLICE("text/html\r\nSet-Cookie: a=b")));
    assert_false(nb_is_field_value(NB_SLICE("text/html\n")));
    assert_false(nb_is_field_value(NB_SLICE("text/html\0")));
    assert_false(nb_is_field_value(NB_SLICE("text/html\x7f")));
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_is_the_grammar),
        cmocka_unit_test(test_token_scan_stops_at_the_first_other_byte),
        cmocka_unit_test(test_target_scan_stops_at_the_first_other_byte),
        cmocka_unit_test(test_value_scan_stops_at_the_first_other_byte),
        cmocka_unit_test(test_scans_stay_inside_when_the_end_is_not_the_end_of_the_memory),
        cmocka_unit_test(test_tokens_and_values_of_an_application_are_judged_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
