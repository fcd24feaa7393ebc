/*
 * test_mime.c - media types by the longest known ending.
 */
#include "files/mime.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "http1/guarded.h"
#include "support/test.h"

static nb_mime *mime;
static guarded memory;
static long live;

static int set_up(void **state) {
    (void)state;
    live = nb_alloc_live();
    memory = guarded_create(4096);
    return nb_mime_create(&mime) == NB_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    nb_mime_destroy(mime);
    guarded_destroy(&memory);
    return nb_alloc_live() == live ? 0 : -1;
}

static nb_slice slice(const char *text) { return nb_slice_of(text, strlen(text)); }

static nb_status add(const char *ending, const char *type) { return nb_mime_add(mime, slice(ending), slice(type)); }

static void expect(const char *type, const char *path) {
    size_t size = strlen(path);
    nb_slice found = nb_mime_find(mime, nb_slice_of(guarded_place(&memory, path, size), size));
    if (!nb_slice_equal(found, slice(type))) fail_msg("%s is %.*s, not %s", path, (int)found.size, found.data, type);
}

static void the_longest_ending_counts_in_any_case(void **state) {
    (void)state;
    assert_status(NB_OK, add(".html", "text/html"));
    assert_status(NB_OK, add("gz", "application/gzip"));
    assert_status(NB_OK, add(".Tar.GZ", "application/x-gtar"));
    expect("text/html", "a.html");
    expect("text/html", "a/b.c/d.HtMl");
    expect("text/html", "a.b.html");
    expect("application/gzip", "a.gz");
    expect("application/gzip", "a.html.gz");
    expect("application/x-gtar", "a.tar.gz");
    expect("application/x-gtar", "a.b.TAR.gz");
    expect("application/gzip", "a.xtar.gz");
}

static void what_is_not_known_is_bytes(void **state) {
    (void)state;
    assert_status(NB_OK, add("html", "text/html"));
    static const char *const paths[] = {"",
                                        "a",
                                        "a.",
                                        "a.htm",
                                        "a.htmlx",
                                        "html",
                                        ".html",
                                        "a/.html",
                                        "a.html/b",
                                        "a/",
                                        "...",
                                        "a.html.",
                                        "a.0123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        expect(NB_MIME_DEFAULT, paths[i]);
}

static void a_later_row_replaces_an_earlier_one(void **state) {
    (void)state;
    assert_status(NB_OK, add("js", "application/javascript"));
    assert_status(NB_OK, add(".JS", "text/javascript"));
    expect("text/javascript", "a.js");
}

static void rows_are_checked(void **state) {
    (void)state;
    assert_status(NB_INVALID, add("", "a/b"));
    assert_status(NB_INVALID, add(".", "a/b"));
    assert_status(NB_INVALID, add("a b", "a/b"));
    assert_status(NB_INVALID, add("a/b", "a/b"));
    assert_status(NB_INVALID, add("\xc3\xa9", "a/b"));
    assert_status(NB_INVALID, add("a", ""));
    assert_status(NB_INVALID, add("a", "a/b\r\nx: y"));
    char text[NB_MIME_TYPE_BYTES_MAX + 2];
    memset(text, 'a', sizeof text);
    assert_status(NB_OK, nb_mime_add(mime, nb_slice_of(text, NB_MIME_ENDING_BYTES_MAX),
                                     nb_slice_of(text, NB_MIME_TYPE_BYTES_MAX)));
    assert_status(NB_OVER_LIMIT, nb_mime_add(mime, nb_slice_of(text, NB_MIME_ENDING_BYTES_MAX + 1), slice("a/b")));
    assert_status(NB_OVER_LIMIT, nb_mime_add(mime, slice("b"), nb_slice_of(text, NB_MIME_TYPE_BYTES_MAX + 1)));
}

static void the_table_is_bounded(void **state) {
    (void)state;
    char ending[16], type[32];
    for (unsigned i = 0; i < NB_MIME_ROWS_MAX; i++) {
        snprintf(ending, sizeof ending, "e%u", i);
        snprintf(type, sizeof type, "x/%u", i);
        assert_status(NB_OK, add(ending, type));
    }
    assert_status(NB_FULL, add("more", "a/b"));
    assert_status(NB_OK, add("e7", "x/again"));
    for (unsigned i = 0; i < NB_MIME_ROWS_MAX; i++) {
        char path[24];
        snprintf(path, sizeof path, "a.E%u", i);
        snprintf(type, sizeof type, "x/%u", i);
        expect(i == 7 ? "x/again" : type, path);
    }
}

static void without_memory_nothing_is_added(void **state) {
    (void)state;
    nb_mime *other = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_mime_create(&other));
    assert_null(other);
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, add("html", "text/html"));
    nb_alloc_fail_at(0);
    expect(NB_MIME_DEFAULT, "a.html");
    assert_status(NB_OK, add("html", "text/html"));
    expect("text/html", "a.html");
    nb_mime_destroy(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    nb_test_alarm(30);
    const struct CMUnitTest tests[] = {
        CASE(the_longest_ending_counts_in_any_case),
        CASE(what_is_not_known_is_bytes),
        CASE(a_later_row_replaces_an_earlier_one),
        CASE(rows_are_checked),
        CASE(the_table_is_bounded),
        CASE(without_memory_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
