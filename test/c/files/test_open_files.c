/*
 * test_open_files.c - the cache of open files: one look-up for a file and turn, every change
 * noticed in the next turn, precompressed siblings. With a kernel that tells what needs the disk,
 * and with one that does not. test_open_files_bounds.c tests what may run out.
 */
#include "support/open_files.h"

#include <stdio.h>

/* --- what a look-up costs --- */

static void a_file_is_looked_at_once_a_turn(void **state) {
    (void)state;
    expect_found("a.html", "one");
    nb_file *first = found("a.html");
    unsigned opened = f.opens;
    for (int i = 0; i < 5; i++)
        expect_found("a.html", "one");
    assert_int_equal(0, f.stats);
    f.now_ns += TURN_NS;
    for (int i = 0; i < 5; i++)
        expect_found("a.html", "one");
    assert_int_equal(1, f.stats);
    assert_int_equal(opened, f.opens);
    nb_file *again = found("a.html");
    assert_ptr_equal(first, again);
    nb_file_release(again);
    nb_file_release(first);
    assert_int_equal(12, nb_open_files_count(f.files).hits);
    assert_int_equal(1, nb_open_files_count(f.files).opened);
}

static void what_is_not_there_is_looked_for_once_a_turn(void **state) {
    (void)state;
    expect_error("none", ENOENT); /* on a worker, if its folder has not been read */
    f.opens = 0;
    for (int i = 0; i < 5; i++)
        expect_error("none", ENOENT);
    assert_int_equal(0, f.opens);
    f.now_ns += TURN_NS;
    expect_error("none", ENOENT);
    assert_int_equal(1, f.opens);
    nb_test_write(f.base, "public/none", "now");
    expect_error("none", ENOENT);
    f.now_ns += TURN_NS;
    expect_found("none", "now");
}

static void what_only_a_worker_can_tell_is_remembered_for_a_second(void **state) {
    (void)state;
    nb_file *file = NULL;
    f.never_ready = true;
    expect_error("none", ENOENT);
    for (int i = 0; i < 3; i++) {
        f.now_ns += TURN_NS;
        assert_status(NB_SYSTEM, find_only("none", &file));
        assert_int_equal(ENOENT, f.last_error);
    }
    nb_test_write(f.base, "public/none", "now");
    f.now_ns += SECOND_NS;
    assert_status(NB_AGAIN, find_only("none", &file));
    expect_found("none", "now");
    for (int i = 0; i < 3; i++) {
        f.now_ns += TURN_NS;
        assert_status(NB_OK, find_only("none", &file));
        nb_file_release(file);
    }
    f.never_ready = false;
    expect_error("none2", ENOENT);
    nb_test_write(f.base, "public/none2", "at once");
    f.now_ns += TURN_NS;
    expect_found("none2", "at once");
}

static void what_is_known_not_to_be_there_is_looked_for_by_nobody_and_what_is_open_is_found(void **state) {
    (void)state;
    expect_found("a.html", "one");
    f.opens = 0;
    f.lacking = "users/1";
    for (int i = 0; i < 3; i++) {
        f.now_ns += TURN_NS;
        expect_error("users/1", ENOENT);
    }
    f.never_ready = true;
    f.now_ns += TURN_NS;
    expect_error("users/1", ENOENT);
    assert_int_equal(0, f.opens);
    f.never_ready = false;
    expect_found("a.html", "one");
    expect_error("users/2", ENOENT);
    assert_int_not_equal(0, f.opens);
}

static void a_long_name_is_not_remembered_but_found(void **state) {
    (void)state;
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    expect_error(name, ENOENT);
    f.opens = 0;
    expect_error(name, ENOENT);
    expect_error(name, ENOENT);
    assert_int_equal(2, f.opens);
    char place[256] = "public/";
    strcat(place, name);
    nb_test_write(f.base, place, "long");
    expect_found(name, "long");
    expect_found(name, "long");
}

static void what_is_known_of_a_file_comes_with_it(void **state) {
    (void)state;
    nb_file *a = found("a.html"), *b = found("b.txt");
    assert_true(nb_slice_equal(a->content_type, NB_SLICE("text/html")));
    assert_int_equal(0, a->cache_control.size);
    assert_true(nb_slice_equal(b->content_type, NB_SLICE(NB_MIME_DEFAULT)));
    assert_true(nb_slice_equal(b->cache_control, NB_SLICE("no-cache")));
    nb_file_release(a);
    nb_file_release(b);
}

/* --- changes --- */

static void a_replaced_file_is_noticed_at_once(void **state) {
    (void)state;
    nb_file *old = found("a.html");
    nb_test_replace(f.base, "public/a.html", "two");
    expect_found("a.html", "one");
    f.now_ns += TURN_NS;
    expect_found("a.html", "two");
    expect_text(old, "one");
    nb_file_release(old);
    assert_int_equal(1, nb_open_files_count(f.files).changed);
    assert_int_equal(1, kept());
}

static void an_edited_file_is_noticed_at_once(void **state) {
    (void)state;
    nb_file *old = found("a.html");
    nb_test_write(f.base, "public/a.html", "longer");
    f.now_ns += TURN_NS;
    expect_found("a.html", "longer");
    assert_int_equal(3, old->facts.size);
    nb_test_write(f.base, "public/a.html", "");
    f.now_ns += TURN_NS;
    expect_found("a.html", "");
    nb_file_release(old);
}

static void a_time_that_goes_backwards_is_noticed_at_once(void **state) {
    (void)state;
    nb_file *old = found("a.html");
    nb_test_set_time(f.base, "public/a.html", SECOND_NS);
    f.now_ns += TURN_NS;
    nb_file *new = found("a.html");
    assert_int_equal(SECOND_NS, new->facts.modified_ns);
    assert_ptr_not_equal(old, new);
    nb_file_release(old);
    nb_file_release(new);
}

static void a_deleted_file_is_noticed_at_once_and_closed(void **state) {
    (void)state;
    expect_found("a.html", "one");
    unsigned before = nb_test_descriptors();
    nb_test_delete(f.base, "public/a.html");
    f.now_ns += TURN_NS;
    expect_error("a.html", ENOENT);
    assert_int_equal(before - 1, nb_test_descriptors());
    assert_int_equal(0, kept());
    nb_test_write(f.base, "public/a.html", "back");
    f.now_ns += TURN_NS;
    expect_found("a.html", "back");
}

static void a_file_that_became_something_else_is_refused(void **state) {
    (void)state;
    static const int errors[] = {EISDIR, ENXIO, EXDEV, ENOENT};
    for (int i = 0; i < 4; i++) {
        nb_test_write(f.base, "public/x", "x");
        f.now_ns += TURN_NS;
        expect_found("x", "x");
        nb_test_delete(f.base, "public/x");
        if (i == 0) nb_test_make_folder(f.base, "public/x");
        if (i == 1) assert_int_equal(0, mkfifo(nb_test_in(f.base, "public/x"), 0600));
        if (i == 2) nb_test_link(f.base, "public/x", "../outside/secret.txt");
        if (i == 3) nb_test_link(f.base, "public/x", "nothing");
        f.now_ns += TURN_NS;
        expect_error("x", errors[i]);
        assert_int_equal(0, remove(nb_test_in(f.base, "public/x")));
        assert_int_equal(0, kept());
    }
}

static void a_link_that_is_turned_is_noticed_at_once(void **state) {
    (void)state;
    nb_test_link(f.base, "public/link", "a.html");
    expect_found("link", "one");
    nb_test_delete(f.base, "public/link");
    nb_test_link(f.base, "public/link", "b.txt");
    f.now_ns += TURN_NS;
    expect_found("link", "b");
}

static void folders_are_no_files(void **state) {
    (void)state;
    nb_test_make_folder(f.base, "public/docs");
    expect_error("docs", EISDIR);
    expect_error("", EISDIR);
    expect_error("a.html/x", ENOTDIR);
}

static void a_root_that_is_replaced_is_noticed_within_a_second(void **state) {
    (void)state;
    expect_found("a.html", "one");
    assert_int_equal(0, rename(nb_test_in(f.base, "public"), nb_test_in(f.base, "old")));
    nb_test_make_folder(f.base, "public");
    nb_test_write(f.base, "public/a.html", "new root");
    f.now_ns += TURN_NS;
    expect_found("a.html", "one");
    f.now_ns += SECOND_NS;
    expect_found("a.html", "new root");
    expect_error("b.txt", ENOENT);
    nb_test_delete(f.base, "public/a.html");
    assert_int_equal(0, remove(nb_test_in(f.base, "public")));
    f.now_ns += SECOND_NS;
    expect_error("a.html", ENOENT);
    assert_null(nb_open_files_root(f.files, f.root, f.now_ns));
    assert_int_equal(0, kept());
    assert_int_equal(0, rename(nb_test_in(f.base, "old"), nb_test_in(f.base, "public")));
    f.now_ns += SECOND_NS;
    expect_found("a.html", "one");
    assert_non_null(nb_open_files_root(f.files, f.root, f.now_ns));
}

static void whoever_asks_for_a_root_gets_the_one_there_is(void **state) {
    (void)state;
    nb_test_make_folder(f.base, "releases");
    nb_test_make_folder(f.base, "releases/1");
    nb_test_make_folder(f.base, "releases/2");
    nb_test_link(f.base, "current", "releases/1");
    assert_status(NB_OK,
                  nb_open_files_add_root(f.files, nb_test_in(f.base, "current"), NB_SYMLINKS_INSIDE, false, &f.root));
    assert_string_equal(nb_test_in(f.base, "releases/1"), nb_open_files_root(f.files, f.root, f.now_ns)->real);
    nb_test_delete(f.base, "current");
    nb_test_link(f.base, "current", "releases/2");
    f.now_ns += SECOND_NS;
    assert_string_equal(nb_test_in(f.base, "releases/2"), nb_open_files_root(f.files, f.root, f.now_ns)->real);
    assert_string_equal(nb_test_in(f.base, "current"), nb_open_files_root(f.files, f.root, f.now_ns)->path);
}

static void a_root_may_come_later(void **state) {
    (void)state;
    uint16_t other = 99;
    const char *place = nb_test_in(f.base, "later");
    assert_status(NB_SYSTEM, nb_open_files_add_root(f.files, place, NB_SYMLINKS_INSIDE, false, &other));
    assert_int_equal(ENOENT, errno);
    assert_int_equal(99, other);
    assert_status(NB_OK, nb_open_files_add_root(f.files, place, NB_SYMLINKS_INSIDE, true, &other));
    assert_int_equal(1, other);
    f.root = other;
    expect_error("a", ENOENT);
    nb_test_make_folder(f.base, "later");
    nb_test_write(f.base, "later/a", "here");
    f.now_ns += SECOND_NS;
    expect_found("a", "here");
    f.root = 0;
    expect_error("a", ENOENT);
    expect_found("a.html", "one");
    for (unsigned i = 2; i < NB_OPEN_FILES_ROOTS_MAX; i++)
        assert_status(NB_OK, nb_open_files_add_root(f.files, place, NB_SYMLINKS_INSIDE, true, &other));
    assert_status(NB_FULL, nb_open_files_add_root(f.files, place, NB_SYMLINKS_INSIDE, true, &other));
}

/* --- precompressed siblings --- */

static unsigned siblings_of(const char *name) {
    nb_file *file = found(name);
    unsigned siblings = file->siblings;
    nb_file_release(file);
    return siblings;
}

static void precompressed_files_are_found_beside_the_original(void **state) {
    (void)state;
    assert_int_equal(0, siblings_of("a.html"));
    nb_test_write(f.base, "public/b.txt.gz", "z");
    nb_test_write(f.base, "public/b.txt.zst", "z");
    assert_int_equal(NB_ENCODING_BIT(NB_ENCODING_GZIP) | NB_ENCODING_BIT(NB_ENCODING_ZSTD), siblings_of("b.txt"));
    nb_test_write(f.base, "public/a.html.br", "z");
    f.now_ns += TURN_NS;
    assert_int_equal(0, siblings_of("a.html"));
    f.now_ns += SECOND_NS;
    assert_int_equal(NB_ENCODING_BIT(NB_ENCODING_BR), siblings_of("a.html"));
    nb_test_delete(f.base, "public/a.html.br");
    f.now_ns += SECOND_NS;
    assert_int_equal(0, siblings_of("a.html"));
    assert_int_equal(0, siblings_of("b.txt.gz"));
}

static void a_sibling_that_cannot_be_of_this_original_is_left_alone(void **state) {
    (void)state;
    nb_test_write(f.base, "public/b.txt.gz", "");                      /* empty */
    nb_test_make_folder(f.base, "public/b.txt.br");                    /* no file */
    nb_test_link(f.base, "public/b.txt.zst", "../outside/secret.txt"); /* elsewhere */
    assert_int_equal(0, siblings_of("b.txt"));
    nb_test_write(f.base, "public/b.txt.gz", "z");
    nb_test_set_time(f.base, "public/b.txt", 1000 * SECOND_NS);
    for (int older = 0; older < 2; older++) {
        nb_test_set_time(f.base, "public/b.txt.gz", (1000 - NB_SIBLING_SLACK_S) * SECOND_NS - older);
        f.now_ns += SECOND_NS;
        assert_int_equal(older ? 0 : NB_ENCODING_BIT(NB_ENCODING_GZIP), siblings_of("b.txt"));
    }
}

static void a_file_that_is_not_changed_stays_the_same_when_it_is_looked_at_whole(void **state) {
    (void)state;
    nb_file *file = found("a.html");
    for (int i = 0; i < 3; i++) {
        f.now_ns += SECOND_NS;
        nb_file *again = found("a.html");
        assert_ptr_equal(file, again);
        nb_file_release(again);
    }
    assert_int_equal(0, nb_open_files_count(f.files).changed);
    nb_file_release(file);
}

static void one_request_looks_for_siblings_and_the_others_go_on(void **state) {
    (void)state;
    nb_file *file = NULL;
    expect_found("a.html", "one");
    f.now_ns += SECOND_NS;
    f.opens = 0;
    nb_status first = find_only("a.html", &file);
    assert_status(f.way == NB_OPENAT2_KNOWS_CACHED ? NB_OK : NB_AGAIN, first);
    if (first == NB_OK) nb_file_release(file);
    unsigned opened = f.opens;
    assert_true(opened > 0);
    for (int turn = 0; turn < 3; turn++, f.now_ns += TURN_NS) {
        assert_status(NB_OK, find_only("a.html", &file));
        nb_file_release(file);
    }
    assert_int_equal(opened, f.opens);
}

/* --- all of it --- */

/* Random changes in random order, against what the folder holds. */
static void a_random_life_is_always_what_the_folder_holds(void **state) {
    (void)state;
    nb_test_random random = {42};
    char texts[12][16] = {""}, place[32], text[16];
    for (int step = 0; step < 4000; step++) {
        unsigned i = (unsigned)nb_test_random_below(&random, 12);
        snprintf(place, sizeof place, "public/f%u", i);
        snprintf(text, sizeof text, "%d", step);
        switch (nb_test_random_below(&random, 5)) {
        case 0:
            (step & 1 ? nb_test_write : nb_test_replace)(f.base, place, text);
            strcpy(texts[i], text);
            f.now_ns += TURN_NS;
            break;
        case 1:
            if (texts[i][0]) nb_test_delete(f.base, place);
            texts[i][0] = '\0';
            f.now_ns += TURN_NS;
            break;
        case 2:
            f.now_ns += (int64_t)nb_test_random_below(&random, 100 * SECOND_NS);
            nb_open_files_expire(f.files, f.now_ns);
            break;
        default:
            if (texts[i][0]) {
                expect_found(place + 7, texts[i]);
            } else {
                expect_error(place + 7, ENOENT);
            }
        }
        assert_in_range(kept(), 0, 8);
    }
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        BOTH(a_file_is_looked_at_once_a_turn),
        NEW(what_is_not_there_is_looked_for_once_a_turn),
        NEW(what_only_a_worker_can_tell_is_remembered_for_a_second),
        NEW(what_is_known_not_to_be_there_is_looked_for_by_nobody_and_what_is_open_is_found),
        NEW(a_long_name_is_not_remembered_but_found),
        BOTH(what_is_known_of_a_file_comes_with_it),
        BOTH(a_replaced_file_is_noticed_at_once),
        BOTH(an_edited_file_is_noticed_at_once),
        BOTH(a_time_that_goes_backwards_is_noticed_at_once),
        BOTH(a_deleted_file_is_noticed_at_once_and_closed),
        BOTH(a_file_that_became_something_else_is_refused),
        BOTH(a_link_that_is_turned_is_noticed_at_once),
        BOTH(folders_are_no_files),
        BOTH(a_root_that_is_replaced_is_noticed_within_a_second),
        BOTH(whoever_asks_for_a_root_gets_the_one_there_is),
        BOTH(a_root_may_come_later),
        BOTH(precompressed_files_are_found_beside_the_original),
        BOTH(a_sibling_that_cannot_be_of_this_original_is_left_alone),
        BOTH(a_file_that_is_not_changed_stays_the_same_when_it_is_looked_at_whole),
        BOTH(one_request_looks_for_siblings_and_the_others_go_on),
        BOTH(a_random_life_is_always_what_the_folder_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
