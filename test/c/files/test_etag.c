/*
 * test_etag.c - the ETag of a file (RFC 9110 section 8.8.3): what changes it, what does not, and
 * when it is weak.
 */
#include "support/test.h"

#include <string.h>

#include "files/etag.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define SECOND_NS INT64_C(1000000000)
#define NOW_NS (INT64_C(1795330000) * SECOND_NS)

static const char *tag(int64_t modified_ns, uint64_t size, nb_encoding encoding, int64_t now_ns) {
    static char out[4][NB_ETAG_BYTES_MAX + 1];
    static unsigned next;
    char *const text = out[next++ % 4];
    const nb_file_facts facts = {.modified_ns = modified_ns, .size = size, .inode = next, .changed_ns = next};
    memset(text, 0x5a, sizeof out[0]);
    const size_t bytes = nb_etag_write(text, &facts, encoding, now_ns);
    assert_in_range(bytes, 5, NB_ETAG_BYTES_MAX);
    assert_int_equal(text[bytes], 0x5a);
    text[bytes] = 0;
    return text;
}

static void test_a_tag_is_time_size_and_coding(void **state) {
    (void)state;
    assert_string_equal(tag(0x123456789abcdef, 0xfedcba, NB_ENCODING_IDENTITY, NOW_NS), "\"123456789abcdef-fedcba\"");
    assert_string_equal(tag(0x123456789abcdef, 0, NB_ENCODING_GZIP, NOW_NS), "\"123456789abcdef-0-gzip\"");
    assert_string_equal(tag(0x123456789abcdef, 0, NB_ENCODING_BR, NOW_NS), "\"123456789abcdef-0-br\"");
    assert_string_equal(tag(0x123456789abcdef, 0, NB_ENCODING_ZSTD, NOW_NS), "\"123456789abcdef-0-zstd\"");
    assert_string_equal(tag(0, 0, NB_ENCODING_IDENTITY, NOW_NS), "\"0-0\"");
}

static void test_each_change_changes_the_tag(void **state) {
    (void)state;
    static const struct {
        int64_t modified_ns;
        uint64_t size;
        nb_encoding encoding;
    } files[] = {{NOW_NS + 1, 10, NB_ENCODING_IDENTITY}, {NOW_NS + 2, 10, NB_ENCODING_IDENTITY},
                 {NOW_NS + 1, 11, NB_ENCODING_IDENTITY}, {NOW_NS + 1, 10, NB_ENCODING_GZIP},
                 {NOW_NS + 1, 10, NB_ENCODING_BR},       {NOW_NS + 1, 10, NB_ENCODING_ZSTD},
                 {1, 10, NB_ENCODING_IDENTITY},          {-1, 10, NB_ENCODING_IDENTITY}};
    for (size_t i = 0; i < COUNT(files); i++)
        for (size_t j = 0; j < COUNT(files); j++) {
            const char *const a = tag(files[i].modified_ns, files[i].size, files[i].encoding, NOW_NS);
            const char *const b = tag(files[j].modified_ns, files[j].size, files[j].encoding, NOW_NS);
            /* Inode and ctime differ in each, and do not count. */
            assert_int_equal(strcmp(a, b) == 0, i == j);
        }
}

/* Section 8.8.1: weak while the file may change unnoticed. */
static void test_a_tag_of_whole_seconds_is_weak_while_they_are_young(void **state) {
    (void)state;
    static const struct {
        int64_t modified_ns;
        bool weak;
    } cases[] = {
        {NOW_NS, true},
        {NOW_NS - SECOND_NS, true},
        {NOW_NS - NB_ETAG_COARSE_NS, false},
        {NOW_NS - 60 * SECOND_NS, false},
        {NOW_NS + SECOND_NS, true}, /* ahead of the clock */
        {NOW_NS + 3600 * SECOND_NS, true},
        {NOW_NS - 1, false}, /* a file system that counts finer */
        {NOW_NS - 1000, false},
        {NOW_NS + 1, false},
        {0, false},
        {INT64_MIN, false},
        {-SECOND_NS, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tag(cases[i].modified_ns, 7, NB_ENCODING_IDENTITY, NOW_NS)[0] == 'W', cases[i].weak);
    assert_string_equal(tag(NOW_NS, 255, NB_ENCODING_BR, NOW_NS) + 2,
                        tag(NOW_NS, 255, NB_ENCODING_BR, NOW_NS + 60 * SECOND_NS));
}

static void test_the_longest_tag_fits(void **state) {
    (void)state;
    const char *const longest = tag(-SECOND_NS, UINT64_MAX, NB_ENCODING_GZIP, -SECOND_NS);
    assert_int_equal(strlen(longest), NB_ETAG_BYTES_MAX);
    assert_int_equal(longest[0], 'W');
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tag_is_time_size_and_coding),
        cmocka_unit_test(test_each_change_changes_the_tag),
        cmocka_unit_test(test_a_tag_of_whole_seconds_is_weak_while_they_are_young),
        cmocka_unit_test(test_the_longest_tag_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
