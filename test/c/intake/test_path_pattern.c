/*
 * test_path_pattern.c - which paths a pattern matches, and the pattern of a path.
 */
#include "intake/path_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

/* The path lies in memory of exactly its size, so that ASan sees a byte read beyond it. */
static bool matches(const char *pattern, const char *path) {
    size_t size = strlen(path);
    char *exact = malloc(size ? size : 1);
    memcpy(exact, path, size);
    bool found = nb_path_pattern_matches(text(pattern), nb_slice_of(exact, size));
    free(exact);
    return found;
}

static void what_has_no_place_takes_itself_alone(void **state) {
    (void)state;
    assert_true(matches("/reports", "/reports"));
    const char *const others[] = {"", "/", "/report", "/reports/", "/reportss", "/Reports"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(matches("/reports", others[i]));
}

static void a_part_is_a_byte_or_more_without_slash_and_dot(void **state) {
    (void)state;
    assert_true(matches("/r/\1/export", "/r/7/export"));
    assert_true(matches("/r/\1", "/r/a-b"));
    assert_true(matches("/r/\1.\1", "/r/7.json"));
    assert_true(matches("/\1-\1", "/a--b"));
    assert_true(matches("/\1-\1.x", "/a-b-c.x"));
    assert_false(matches("/r/\1", "/r/"));
    assert_false(matches("/r/\1", "/r/7.json"));
    assert_false(matches("/r/\1", "/r/7/8"));
    assert_false(matches("/r/\1.\1", "/r/7"));
    assert_false(matches("/r/\1/export", "/r/7/exports"));
}

static void the_rest_is_a_byte_or_more_of_any_kind(void **state) {
    (void)state;
    assert_true(matches("/f/\2", "/f/a/b.c/d"));
    assert_true(matches("/f/\2/x", "/f/x/x/x"));
    assert_true(matches("/f/\2/\1.y", "/f/a.b/c/d.y"));
    assert_true(matches("/\2/a/\2/b", "/0/a/a/b/b"));
    assert_false(matches("/f/\2", "/f/"));
    assert_false(matches("/f/\2/x", "/f/x"));
    assert_false(matches("/f/\2/\1.y", "/f/a/b/c.z"));
}

static void a_segment_with_a_digit_is_one_from_slash_to_slash(void **state) {
    (void)state;
    assert_true(matches("/r/\3/x", "/r/7/x"));
    assert_true(matches("/r/\3", "/r/a7.json"));
    assert_false(matches("/r/\3", "/r/a"));
    assert_false(matches("/r/\3", "/r/"));
    assert_false(matches("/r/\3", "/r/a/7"));
}

static void paths_of_one_pattern_differ_in_segments_with_digits(void **state) {
    (void)state;
    char out[64];
    static const struct {
        const char *path, *pattern;
    } rows[] = {{"/", "/"},           {"/r", "/r"},         {"/r/17/x", "/r/\3/x"},
                {"/r/a17b", "/r/\3"}, {"/17/18", "/\3/\3"}, {"/r/17/", "/r/\3/"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = nb_path_pattern_of(text(rows[i].path), out, sizeof out);
        assert_int_equal(strlen(rows[i].pattern), size);
        assert_memory_equal(rows[i].pattern, out, size);
        assert_true(matches(rows[i].pattern, rows[i].path));
    }
    assert_int_equal(0, nb_path_pattern_of(text("/abc"), out, 3));
}

static void patterns_are_paths_with_places_and_shown_with_signs(void **state) {
    (void)state;
    char shown[16];
    const char *const wrong[] = {"", "r", "\1", "/a b", "/a?b", "/a#b", "/\x7f", "/\4", "/\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(nb_path_pattern_is(text(wrong[i])));
    assert_false(nb_path_pattern_is(nb_slice_of("/a\0b", 4)));
    assert_true(nb_path_pattern_is(text("/a/\1.\1/\2/\3/*:")));
    assert_true(nb_path_pattern_is(text("/\xc3\xa9/\xff\\")));
    nb_path_pattern_show(text("/a/\1.\2/\3"), shown, sizeof shown);
    assert_string_equal("/a/:.*/0", shown);
    nb_path_pattern_show(text("/\xc3\xa9"), shown, sizeof shown);
    assert_string_equal("/%C3%A9", shown);
    nb_path_pattern_show(text("/\xc3\xa9"), shown, 7);
    assert_string_equal("/%C3", shown);
    nb_path_pattern_show(text("/"), shown, 1);
    assert_string_equal("", shown);
}

static void a_path_sent_without_encoding_is_meant_by_the_encoded_one(void **state) {
    (void)state;
    assert_true(matches("/caf%C3%A9/\1", "/caf\xc3\xa9/7"));
    assert_true(matches("/caf%c3%a9/\1", "/caf\xc3%a9/7"));
    assert_true(matches("/caf%C3%A9", "/caf%C3%A9"));
    assert_true(matches("/\2%C3%A9", "/\xc3\xa9\xc3\xa9"));
    assert_true(matches("/caf\xc3\xa9", "/caf\xc3\xa9"));
    const char *const others[] = {"/caf",       "/caf\xc3", "/caf\xc3\xa8",    "/caf\xe9",
                                  "/caf%c3%a9", "/cafe",    "/caf\xc3\xa9\xa9"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(matches("/caf%C3%A9", others[i]));
    assert_false(matches("/%41", "/A"));
    assert_false(matches("/%C", "/\xc0"));
    assert_false(matches("/%", "/\xc0"));
}

/* Written another way: every place tries every length. */
static bool takes(const char *pattern, const char *path) {
    if (!*pattern) return !*path;
    if (*pattern == '\3') {
        size_t size = strcspn(path, "/");
        return strcspn(path, "1") < size && takes(pattern + 1, path + size);
    }
    if (*pattern != '\1' && *pattern != '\2') return *path == *pattern && takes(pattern + 1, path + 1);
    for (const char *end = path; *end && (*pattern == '\2' || (*end != '/' && *end != '.')); end++) {
        if (takes(pattern + 1, end + 1)) return true;
    }
    return false;
}

static void many_made_patterns_take_what_trying_every_length_finds(void **state) {
    (void)state;
    static const char of_patterns[] = "\1\2\3/a.", of_paths[] = "/a.1";
    unsigned seed = 1, found = 0;
    for (int i = 0; i < 200000; i++) {
        char pattern[9] = "/", path[13] = "/";
        size_t sizes[] = {1 + (seed = seed * 1103515245u + 12345u) / 65536u % 7, 1 + seed / 8u % 11};
        for (size_t j = 1; j < sizes[0]; j++)
            pattern[j] = of_patterns[(seed = seed * 1103515245u + 12345u) / 65536u % 6];
        for (size_t j = 1; j < sizes[1]; j++)
            path[j] = of_paths[(seed = seed * 1103515245u + 12345u) / 65536u % 4];
        assert_int_equal(takes(pattern, path), matches(pattern, path));
        found += takes(pattern, path);
    }
    assert_true(found > 1000);
}

/* A pattern, and what a path that it does not match repeats before it ends. */
typedef struct costly {
    const char *pattern, *begin, *repeated, *end;
} costly;

static const costly costlies[] = {
    {"/\2-\1", "/", "-", "."},
    {"/\2\1", "/", "a", "."},
    {"/\2-\1.\1.\1x", "/", "-a.", "b"},
    {"/\2-\1-\1x", "/", "-", "."},
    {"/\2a\1/\2-\1x", "/aa/", "-", "."},
    {"/\2a\2a\2-\1-\1", "/", "a-", "."},
    {"/\2.\2.\2/\1.\1", "/", "a/.", "a"},
    {"/\2\3x", "/", "1", "/"},
    {"/\2-\3x", "/", "-", "1"},
    {"/\1\3x", "/", "1", "1"},
    {"/\1\3/\3x", "/", "a", "1/1"},
    {"/\2-\1\3/\1x", "/", "-a.", "-a1/b"},
    {"/\2-\1\3/\1/\3x", "/", "-a1/", "b"},
    {"/\2%C3\1", "/", "\xc3", "."},
};

/* With work that grows with the square of its size, each of these paths takes hours. */
static void long_paths_are_searched_once(void **state) {
    (void)state;
    enum { BYTES = 4 << 20 };
    for (size_t i = 0; i < sizeof costlies / sizeof *costlies; i++) {
        const costly *c = &costlies[i];
        size_t size = strlen(c->begin), repeated = strlen(c->repeated);
        char *path = malloc(BYTES);
        memcpy(path, c->begin, size);
        for (; size + repeated + strlen(c->end) <= BYTES; size += repeated)
            memcpy(path + size, c->repeated, repeated);
        memcpy(path + size, c->end, strlen(c->end));
        size += strlen(c->end);
        assert_false(nb_path_pattern_matches(text(c->pattern), nb_slice_of(path, size)));
        free(path);
    }
}

int main(void) {
    nb_test_alarm(300);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_no_place_takes_itself_alone),
        cmocka_unit_test(a_part_is_a_byte_or_more_without_slash_and_dot),
        cmocka_unit_test(the_rest_is_a_byte_or_more_of_any_kind),
        cmocka_unit_test(a_segment_with_a_digit_is_one_from_slash_to_slash),
        cmocka_unit_test(paths_of_one_pattern_differ_in_segments_with_digits),
        cmocka_unit_test(a_path_sent_without_encoding_is_meant_by_the_encoded_one),
        cmocka_unit_test(patterns_are_paths_with_places_and_shown_with_signs),
        cmocka_unit_test(many_made_patterns_take_what_trying_every_length_finds),
        cmocka_unit_test(long_paths_are_searched_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
