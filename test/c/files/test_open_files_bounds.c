/*
 * test_open_files_bounds.c - what the cache of open files does where something runs out: places,
 * time, descriptors, memory. And what becomes of files that workers have opened.
 */
#include "support/open_files.h"

#include <stdio.h>

/* --- bounds --- */

static void the_file_asked_for_longest_ago_makes_room(void **state) {
    (void)state;
    char place[32];
    for (int i = 0; i < 9; i++) {
        snprintf(place, sizeof place, "public/%d", i);
        nb_test_write(f.base, place, "x");
    }
    for (int i = 0; i < 8; i++)
        expect_found(place + 7, "x"), snprintf(place, sizeof place, "public/%d", i);
    f.now_ns += TURN_NS;
    expect_found("8", "x");
    unsigned before = nb_test_descriptors();
    for (int i = 0; i < 100; i++) {
        snprintf(place, sizeof place, "public/%d", i % 8);
        expect_found(place + 7, "x");
        if (i % 5 == 0) expect_found("8", "x");
        assert_int_equal(8, kept());
    }
    assert_int_equal(before, nb_test_descriptors());
    assert_true(nb_open_files_count(f.files).closed > 0);
    f.opens = 0;
    expect_found("8", "x"); /* the most recently used one has stayed */
    assert_int_equal(0, f.opens);
}

static void a_file_that_is_sent_outlives_its_place(void **state) {
    (void)state;
    nb_file *file = found("a.html");
    nb_open_files_shrink(f.files, 0);
    assert_int_equal(0, kept());
    expect_text(file, "one");
    nb_open_files_destroy(f.files);
    expect_text(file, "one");
    nb_file_release(file);
    make_cache();
}

static void what_nobody_asks_for_is_closed_after_a_minute(void **state) {
    (void)state;
    assert_int_equal(0, nb_open_files_expire(f.files, f.now_ns));
    int64_t first = f.now_ns;
    expect_found("a.html", "one");
    f.now_ns += 10 * SECOND_NS;
    int64_t second = f.now_ns;
    expect_found("b.txt", "b");
    assert_int_equal(first + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(f.files, f.now_ns));
    f.now_ns = first + NB_OPEN_FILES_IDLE_NS - 1;
    nb_open_files_expire(f.files, f.now_ns);
    assert_int_equal(2, kept());
    f.now_ns++;
    assert_int_equal(second + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(f.files, f.now_ns));
    assert_int_equal(1, kept());
    expect_found("b.txt", "b");
    assert_int_equal(f.now_ns + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(f.files, f.now_ns));
    f.now_ns += NB_OPEN_FILES_IDLE_NS;
    assert_int_equal(0, nb_open_files_expire(f.files, f.now_ns));
    assert_int_equal(f.descriptors + 1, nb_test_descriptors()); /* the root's */
    assert_int_equal(2, nb_open_files_count(f.files).closed);
}

static void the_share_of_descriptors_is_bounded(void **state) {
    (void)state;
    assert_int_equal(16, nb_open_files_share(0, 1));
    assert_int_equal(16, nb_open_files_share(64, 1));
    assert_int_equal(128, nb_open_files_share(1024, 1));
    assert_int_equal(64, nb_open_files_share(1024, 2));
    assert_int_equal(128, nb_open_files_share(1024, 0));
    assert_int_equal(NB_OPEN_FILES_MAX, nb_open_files_share(20000, 1));
    assert_int_equal(NB_OPEN_FILES_MAX, nb_open_files_share(UINT64_MAX, 1));
}

static void without_descriptors_half_of_what_is_kept_goes(void **state) {
    (void)state;
    char place[32];
    for (int i = 0; i < 8; i++) {
        snprintf(place, sizeof place, "public/%d", i);
        nb_test_write(f.base, place, "x");
        if (i < 6) expect_found(place + 7, "x");
    }
    nb_opening opening;
    nb_file *file = NULL;
    begin_opening("6", &opening);
    nb_opening_run(&opening); /* its names are in memory now */
    nb_opening_drop(&opening);
    nb_test_descriptors_exhaust();
    nb_status status = find_only("6", &file);
    nb_test_descriptors_free();
    assert_status(f.way == NB_OPENAT2_KNOWS_CACHED ? NB_OK : NB_AGAIN, status);
    if (status == NB_OK) assert_int_equal(4, kept());
    nb_file_release(file);
}

static void a_worker_without_descriptors_gets_them_when_it_is_back(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    expect_found("a.html", "one");
    expect_found("b.txt", "b");
    nb_open_files_shrink(f.files, 1);
    expect_found("a.html", "one");
    begin_opening("b.txt", &opening);
    nb_test_descriptors_exhaust();
    nb_opening_run(&opening);
    nb_open_files_shrink(f.files, 1);
    nb_status status = enter_opening(&opening, &file);
    nb_test_descriptors_free();
    if (f.way == NB_OPENAT2_KNOWS_CACHED) {
        assert_status(NB_OK, status);
        expect_text(file, "b");
        nb_file_release(file);
    } else {
        assert_status(NB_SYSTEM, status);
        assert_int_equal(EMFILE, f.last_error);
    }
}

/* The descriptors are back before the loop's thread goes on, and the worker has looked. */
static void a_worker_without_descriptors_tells_what_is_not_there(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    nb_test_make_folder(f.base, "public/other");
    begin_opening("other/never looked at", &opening);
    nb_test_descriptors_exhaust();
    nb_opening_run(&opening);
    nb_test_descriptors_free();
    assert_status(NB_SYSTEM, enter_opening(&opening, &file));
    assert_int_equal(ENOENT, f.last_error);
}

static void without_any_descriptor_it_is_said_and_not_remembered(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    begin_opening("b.txt", &opening);
    nb_test_descriptors_exhaust();
    nb_opening_run(&opening);
    nb_status status = enter_opening(&opening, &file);
    nb_test_descriptors_free();
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EMFILE, f.last_error);
    expect_found("b.txt", "b");
}

static void without_any_descriptor_what_is_not_there_is_told_from_what_is(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int error;
    } asked[] = {{"b.txt", EMFILE}, {"folder/none", ENOENT}, {"a.html/below", ENOTDIR}, {"folder", EISDIR}};
    nb_test_make_folder(f.base, "public/folder");
    f.now_ns += SECOND_NS;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        nb_opening opening;
        nb_file *file = NULL;
        nb_test_descriptors_exhaust();
        nb_status status = find_only(asked[i].name, &file);
        if (status == NB_AGAIN) {
            begin_opening(asked[i].name, &opening);
            nb_opening_run(&opening);
            status = enter_opening(&opening, &file);
        }
        nb_test_descriptors_free();
        assert_status(NB_SYSTEM, status);
        assert_int_equal(asked[i].error, f.last_error);
    }
    expect_found("b.txt", "b");
}

/* --- workers --- */

static void an_opening_that_nobody_waits_for_leaves_nothing(void **state) {
    (void)state;
    nb_opening opening;
    begin_opening("a.html", &opening);
    nb_opening_drop(&opening);
    begin_opening("a.html", &opening);
    nb_opening_run(&opening);
    assert_status(NB_OK, opening.status);
    nb_opening_drop(&opening);
    assert_int_equal(0, kept());
}

static void an_opening_that_was_not_run_says_so(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    begin_opening("a.html", &opening);
    assert_status(NB_CLOSED, enter_opening(&opening, &file));
    assert_null(file);
}

static void two_openings_of_one_file_become_one(void **state) {
    (void)state;
    nb_opening first, second;
    nb_file *one = NULL, *two = NULL;
    begin_opening("a.html", &first);
    begin_opening("a.html", &second);
    nb_opening_run(&first);
    nb_opening_run(&second);
    assert_status(NB_OK, enter_opening(&second, &two));
    assert_status(NB_OK, enter_opening(&first, &one));
    assert_ptr_equal(one, two);
    assert_int_equal(1, kept());
    nb_file_release(one);
    nb_file_release(two);
}

static void an_opening_under_an_older_root_is_not_kept(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    begin_opening("a.html", &opening);
    assert_int_equal(0, rename(nb_test_in(f.base, "public"), nb_test_in(f.base, "old")));
    nb_test_make_folder(f.base, "public");
    f.now_ns += SECOND_NS;
    expect_error("b.txt", ENOENT);
    nb_opening_run(&opening);
    assert_status(NB_OK, enter_opening(&opening, &file));
    expect_text(file, "one");
    nb_file_release(file);
    assert_int_equal(0, kept());
    expect_error("a.html", ENOENT);
}

static void replace_root(void) {
    assert_int_equal(0, rename(nb_test_in(f.base, "public"), nb_test_in(f.base, "old")));
    nb_test_make_folder(f.base, "public");
    nb_test_write(f.base, "public/new", "new root");
}

static void what_an_older_root_lacks_is_not_remembered(void **state) {
    (void)state;
    nb_opening opening;
    nb_file *file = NULL;
    f.never_ready = true;
    begin_opening("new", &opening);
    nb_opening_run(&opening);
    replace_root();
    f.now_ns += SECOND_NS;
    expect_error("b.txt", ENOENT);
    assert_status(NB_SYSTEM, enter_opening(&opening, &file));
    f.now_ns += TURN_NS;
    assert_status(NB_AGAIN, find_only("new", &file));
    expect_found("new", "new root");
}

static void what_a_root_lacks_is_forgotten_with_it(void **state) {
    (void)state;
    nb_file *file = NULL;
    f.never_ready = true;
    expect_found("a.html", "one"); /* the root was looked at */
    f.now_ns += SECOND_NS - TURN_NS;
    expect_error("new", ENOENT);
    replace_root();
    f.now_ns += 2 * TURN_NS;
    assert_status(NB_AGAIN, find_only("new", &file));
    expect_found("new", "new root");
}

/* --- memory --- */

static void without_memory_one_answer_fails_and_the_cache_is_whole(void **state) {
    (void)state;
    unsigned before = nb_test_descriptors();
    for (unsigned long n = 1; n < 4; n++) {
        nb_file *file = NULL;
        nb_alloc_fail_at(n);
        nb_status status = find("a.html", &file);
        nb_alloc_fail_at(0);
        if (status == NB_OK) {
            expect_text(file, "one");
            nb_file_release(file);
        } else {
            assert_status(NB_NO_MEMORY, status);
            assert_null(file);
        }
        nb_open_files_shrink(f.files, 0);
        assert_int_equal(before, nb_test_descriptors());
    }
    expect_found("a.html", "one");
}

static void without_memory_there_is_no_cache_and_no_root(void **state) {
    (void)state;
    nb_open_files *other = NULL;
    uint16_t number = 99;
    unsigned before = nb_test_descriptors();
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_open_files_create(8, f.mime, &f.rules, &other));
    assert_null(other);
    for (unsigned long n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_open_files_add_root(f.files, f.base, NB_SYMLINKS_INSIDE, true, &number));
        nb_alloc_fail_at(0);
    }
    assert_int_equal(99, number);
    assert_int_equal(before, nb_test_descriptors());
    nb_open_files_destroy(NULL);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        BOTH(the_file_asked_for_longest_ago_makes_room),
        BOTH(a_file_that_is_sent_outlives_its_place),
        BOTH(what_nobody_asks_for_is_closed_after_a_minute),
        NEW(the_share_of_descriptors_is_bounded),
        BOTH(without_descriptors_half_of_what_is_kept_goes),
        BOTH(a_worker_without_descriptors_gets_them_when_it_is_back),
        BOTH(a_worker_without_descriptors_tells_what_is_not_there),
        BOTH(without_any_descriptor_it_is_said_and_not_remembered),
        BOTH(without_any_descriptor_what_is_not_there_is_told_from_what_is),
        BOTH(an_opening_that_nobody_waits_for_leaves_nothing),
        BOTH(an_opening_that_was_not_run_says_so),
        BOTH(two_openings_of_one_file_become_one),
        BOTH(an_opening_under_an_older_root_is_not_kept),
        BOTH(what_an_older_root_lacks_is_not_remembered),
        BOTH(what_a_root_lacks_is_forgotten_with_it),
        BOTH(without_memory_one_answer_fails_and_the_cache_is_whole),
        BOTH(without_memory_there_is_no_cache_and_no_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
