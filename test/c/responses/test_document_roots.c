/*
 * test_document_roots.c - the document roots of a server: what may be added, in which loops they
 * are open, and which one a path of X-Accel-Redirect means.
 */
#include "responses/document_roots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

enum { LOOPS = 2 };

static char folder[NB_TEST_FOLDER_BYTES];
static nb_document_roots roots;
static nb_test_leaks before;

static int setup(void **state) {
    (void)state;
    nb_test_folder_create(folder);
    nb_test_make_folder(folder, "one");
    nb_test_make_folder(folder, "two");
    nb_test_write(folder, "file", "");
    before = nb_test_leaks_begin();
    assert_status(NB_OK, nb_document_roots_init(&roots, LOOPS, NB_SYMLINKS_INSIDE));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_document_roots_stop(&roots);
    nb_document_roots_deinit(&roots);
    nb_test_folder_remove(folder);
    return nb_test_leaks_end(&before);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

static void without_a_folder_nothing_is_started(void **state) {
    (void)state;
    assert_null(roots.openers);
    assert_null(nb_document_roots_files(&roots, 0));
}

static void every_loop_opens_every_folder_under_the_same_number(void **state) {
    (void)state;
    assert_status(NB_OK, nb_document_roots_serve(&roots, nb_test_in(folder, "one")));
    assert_status(NB_OK, nb_document_roots_allow(&roots, nb_test_in(folder, "two")));
    assert_status(NB_OK, nb_document_roots_serve(&roots, nb_test_in(folder, "two")));
    assert_non_null(roots.openers);
    assert_int_equal(2, roots.served.count);
    assert_int_equal(1, roots.named.count);
    const uint16_t numbers[] = {roots.served.each[0], roots.named.each[0], roots.served.each[1]};
    const char *const names[] = {"one", "two", "two"};
    for (int loop = 0; loop < LOOPS; loop++) {
        for (int i = 0; i < 3; i++) {
            const nb_root *root = nb_open_files_root(nb_document_roots_files(&roots, (uint16_t)loop), numbers[i], 1);
            assert_string_equal(nb_test_in(folder, names[i]), root->path);
        }
    }
}

static void what_is_no_folder_is_an_error_of_the_system(void **state) {
    (void)state;
    assert_status(NB_SYSTEM, nb_document_roots_serve(&roots, nb_test_in(folder, "none")));
    assert_int_equal(ENOENT, errno);
    assert_status(NB_SYSTEM, nb_document_roots_allow(&roots, nb_test_in(folder, "file")));
    assert_int_equal(ENOTDIR, errno);
    assert_status(NB_SYSTEM, nb_document_roots_add_accel(&roots, text("/in/"), nb_test_in(folder, "none")));
    assert_int_equal(0, roots.served.count + roots.named.count + roots.accel_count);
}

static void there_are_only_so_many_folders(void **state) {
    (void)state;
    for (unsigned i = 0; i < NB_OPEN_FILES_ROOTS_MAX; i++)
        assert_status(NB_OK, nb_document_roots_serve(&roots, nb_test_in(folder, "one")));
    assert_status(NB_FULL, nb_document_roots_serve(&roots, nb_test_in(folder, "one")));
    assert_status(NB_FULL, nb_document_roots_allow(&roots, nb_test_in(folder, "two")));
    assert_int_equal(NB_OPEN_FILES_ROOTS_MAX, roots.served.count);
    assert_int_equal(0, roots.named.count);
}

static void an_index_file_is_a_name_of_its_folder(void **state) {
    (void)state;
    static const char *const bad[] = {"", ".", "..", ".hidden", "a/b", "/index.html"};
    char longest[NB_SHORT_NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(NB_INVALID, nb_document_roots_add_index(&roots, text(bad[i])));
    assert_status(NB_INVALID, nb_document_roots_add_index(&roots, (nb_slice){"a\0b", 3}));
    memset(longest, 'x', sizeof longest);
    assert_status(NB_INVALID, nb_document_roots_add_index(&roots, (nb_slice){longest, sizeof longest}));
    assert_status(NB_OK, nb_document_roots_add_index(&roots, (nb_slice){longest, NB_SHORT_NAME_BYTES_MAX}));
    for (unsigned i = 1; i < NB_INDEX_FILES_MAX; i++)
        assert_status(NB_OK, nb_document_roots_add_index(&roots, NB_SLICE("index.html")));
    assert_status(NB_FULL, nb_document_roots_add_index(&roots, NB_SLICE("index.htm")));
    assert_string_equal("index.html", roots.index[1].text);
}

static void the_longest_beginning_of_a_path_counts(void **state) {
    (void)state;
    static const char *const bad[] = {"", "/in", "in/", "in"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_status(NB_INVALID, nb_document_roots_add_accel(&roots, text(bad[i]), nb_test_in(folder, "one")));
    assert_null(nb_document_roots_find_accel(&roots, NB_SLICE("/in/a")));
    assert_status(NB_OK, nb_document_roots_add_accel(&roots, NB_SLICE("/in/"), nb_test_in(folder, "one")));
    assert_status(NB_OK, nb_document_roots_add_accel(&roots, NB_SLICE("/in/deep/"), nb_test_in(folder, "two")));
    static const struct {
        const char *path, *prefix; /* NULL: none */
    } rows[] = {{"/in/a", "/in/"},
                {"/in/", "/in/"},
                {"/in/deep", "/in/"},
                {"/in/deep/", "/in/deep/"},
                {"/in/deep/a", "/in/deep/"},
                {"/in/dee", "/in/"},
                {"/in", NULL},
                {"/", NULL},
                {"", NULL},
                {"/IN/a", NULL},
                {"/x/in/a", NULL},
                {"/inn/a", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const nb_accel_prefix *found = nb_document_roots_find_accel(&roots, text(rows[i].path));
        if (!rows[i].prefix != !found || (found && strcmp(found->prefix.text, rows[i].prefix) != 0))
            fail_msg("%s means %s", rows[i].path, found ? found->prefix.text : "nothing");
    }
    for (unsigned i = 2; i < NB_OPEN_FILES_ROOTS_MAX; i++)
        assert_status(NB_OK, nb_document_roots_add_accel(&roots, NB_SLICE("/other/"), nb_test_in(folder, "two")));
    assert_status(NB_FULL, nb_document_roots_add_accel(&roots, NB_SLICE("/more/"), nb_test_in(folder, "two")));
}

static void without_memory_nothing_is_lost(void **state) {
    (void)state;
    for (unsigned long n = 1; n < 40; n++) {
        nb_alloc_fail_at(n);
        nb_status status = nb_document_roots_serve(&roots, nb_test_in(folder, "one"));
        nb_alloc_fail_at(0);
        if (status == NB_OK) break;
        assert_status(NB_NO_MEMORY, status);
    }
    assert_status(NB_OK, nb_document_roots_serve(&roots, nb_test_in(folder, "one")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(without_a_folder_nothing_is_started),
        CASE(every_loop_opens_every_folder_under_the_same_number),
        CASE(what_is_no_folder_is_an_error_of_the_system),
        CASE(there_are_only_so_many_folders),
        CASE(an_index_file_is_a_name_of_its_folder),
        CASE(the_longest_beginning_of_a_path_counts),
        CASE(without_memory_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
