/*
 * test_top_names.c - the names at the top of a folder: one system call in a turn while nothing
 * changes, every change seen in the next turn, and no list that may be wrong. The test sets the
 * wall clock.
 */
#include <assert.h>
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/clock.h"
#include "os/folder.h"
#include "support/folder.h"

static char base[NB_TEST_FOLDER_BYTES];
static int64_t ahead_s; /* seconds ahead of the real time: everything seems so much older */
static unsigned marks, lists;
static bool unknown;
static void (*during)(void); /* called while the folder is listed */

static int64_t test_wall_s(void) { return nb_clock_wall_s() + ahead_s; }

static nb_status counted_mark(int fd, nb_folder_mark *mark) {
    marks++;
    return nb_folder_mark_read(fd, mark);
}

/* Works on any file system. */
static nb_status counted_list(int fd, bool (*take)(void *argument, const char *name), void *argument) {
    lists++;
    DIR *folder = unknown ? NULL : opendir(base);
    if (!folder) return NB_UNSUPPORTED;
    nb_status status = NB_OK;
    for (const struct dirent *entry = readdir(folder); entry && status == NB_OK; entry = readdir(folder)) {
        if (!take(argument, entry->d_name)) status = NB_FULL;
    }
    closedir(folder);
    assert(fd >= 0);
    if (during) during();
    return status;
}

#define nb_clock_wall_s test_wall_s
#define nb_folder_mark_read counted_mark
#define nb_folder_list counted_list
#include "files/top_names.c"
#undef nb_clock_wall_s
#undef nb_folder_mark_read
#undef nb_folder_list

#include <stdio.h>
#include <unistd.h>

#include "support/test.h"

#define SECOND_NS NB_NS_PER_S
#define LATER_S 3600

static nb_root *root;
static nb_top_names *names;
static int64_t now_ns;

static int set_up(void **state) {
    (void)state;
    nb_test_folder_create(base);
    nb_test_write(base, "index.html", "");
    nb_test_write(base, "assets.txt", "");
    nb_test_make_folder(base, "assets");
    assert_status(NB_OK, nb_root_open(base, NB_SYMLINKS_INSIDE, &root));
    names = nb_top_names_create();
    now_ns = 5 * SECOND_NS;
    ahead_s = LATER_S;
    unknown = false;
    during = NULL;
    marks = lists = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    nb_top_names_destroy(names);
    nb_root_release(root);
    nb_test_folder_remove(base);
    return 0;
}

static bool lack(const char *path) { return nb_top_names_lack(names, root, (nb_slice){path, strlen(path)}, now_ns); }

static void next_turn(void) { now_ns += 1000; }

static void next_second(void) { now_ns += SECOND_NS; }

/* Writes in a later tick of the clock of the file system. */
static void write_later(const char *name) {
    nb_folder_mark before, now;
    assert_status(NB_OK, (nb_folder_mark_read)(root->fd, &before));
    do {
        nb_test_write(base, "tick", "");
        nb_test_delete(base, "tick");
        assert_status(NB_OK, (nb_folder_mark_read)(root->fd, &now));
    } while (nb_folder_mark_equal(&before, &now));
    nb_test_write(base, name, "");
}

static void only_a_path_whose_first_name_is_not_there_lacks(void **state) {
    (void)state;
    static const char *const there[] = {"", "index.html", "assets", "assets/none.js", "index.html/x", "assets.txt"};
    static const char *const lacking[] = {"users", "users/1", "index",    "index.htm", "index.html.gz",
                                          "asset", "assetss", "Assets/a", "x"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        if (lack(there[i])) fail_msg("%s lacks", there[i]);
    }
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        if (!lack(lacking[i])) fail_msg("%s does not lack", lacking[i]);
    }
}

static void the_folder_is_listed_once_and_looked_at_once_a_turn(void **state) {
    (void)state;
    assert_true(lack("users/1"));
    assert_int_equal(1, lists);
    marks = 0;
    for (unsigned turn = 1; turn <= 10; turn++) {
        next_turn();
        for (int i = 0; i < 5; i++)
            assert_true(lack("users/1"));
        assert_int_equal(turn, marks);
    }
    assert_int_equal(1, lists);
}

static void a_name_that_comes_is_seen_by_the_next_turn_and_the_list_is_made_anew_when_the_folder_rests(void **state) {
    (void)state;
    assert_true(lack("users/1"));
    write_later("users");
    next_turn();
    assert_false(lack("users/1"));
    assert_false(lack("other"));
    assert_int_equal(1, lists);
    next_second();
    assert_true(lack("other")); /* an hour has passed by the wall's clock */
    assert_false(lack("users/1"));
    assert_int_equal(2, lists);
    nb_test_delete(base, "users");
    write_later("others");
    next_second();
    assert_true(lack("users/1"));
    assert_false(lack("others"));
}

static void a_folder_that_was_just_changed_is_not_listed(void **state) {
    (void)state;
    ahead_s = 0;
    for (int i = 0; i < 3; i++) {
        write_later("fresh");
        assert_false(lack("users/1"));
        next_second();
    }
    assert_int_equal(0, lists);
    ahead_s = LATER_S;
    next_second();
    assert_true(lack("users/1"));
    ahead_s = -LATER_S; /* the clock went back: a new file may have an older time than the list */
    nb_top_names_forget(names);
    next_second();
    assert_false(lack("users/1"));
}

static void add_late(void) { write_later("late"); }

static void what_comes_while_the_folder_is_read_is_not_missed(void **state) {
    (void)state;
    during = add_late;
    assert_false(lack("late"));
    next_turn();
    assert_false(lack("late"));
    during = NULL;
    next_second();
    assert_false(lack("late"));
    assert_true(lack("users"));
}

static void what_cannot_be_listed_is_tried_again_when_it_has_changed(void **state) {
    (void)state;
    unknown = true;
    for (int i = 0; i < 3; i++) {
        assert_false(lack("users"));
        next_second();
    }
    assert_int_equal(1, lists);
    unknown = false;
    write_later("one");
    next_second();
    assert_true(lack("users"));
}

static void a_large_folder_is_looked_up_name_by_name(void **state) {
    (void)state;
    char name[32];
    for (unsigned i = 0; i < NB_TOP_NAMES_MAX; i++) {
        snprintf(name, sizeof name, "file-%u", i);
        nb_test_write(base, name, "");
    }
    assert_false(lack("users"));
    next_second();
    marks = 0;
    for (int turn = 0; turn < 10; turn++) {
        assert_false(lack("users"));
        next_turn();
    }
    assert_in_range(marks, 0, 1); /* no system call in each turn */
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "file-%u", i);
        nb_test_delete(base, name);
    }
    next_second();
    assert_true(lack("users"));
    assert_true(lack("file-7"));
    assert_false(lack("file-700"));
}

static void names_of_more_bytes_than_there_is_room_for_are_looked_up_one_by_one(void **state) {
    (void)state;
    char name[256];
    for (unsigned i = 0; i < NB_TOP_NAMES_TEXT_BYTES / 250 + 1; i++) {
        snprintf(name, sizeof name, "%0250u", i);
        nb_test_write(base, name, "");
    }
    assert_false(lack("users"));
}

static void another_root_is_asked_anew(void **state) {
    (void)state;
    assert_true(lack("users"));
    nb_top_names_forget(names);
    assert_true(lack("users"));
    assert_int_equal(2, lists);
    nb_top_names_forget(NULL);
    assert_false(nb_top_names_lack(NULL, root, NB_SLICE("users"), now_ns));
    nb_top_names_destroy(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(only_a_path_whose_first_name_is_not_there_lacks),
        CASE(the_folder_is_listed_once_and_looked_at_once_a_turn),
        CASE(a_name_that_comes_is_seen_by_the_next_turn_and_the_list_is_made_anew_when_the_folder_rests),
        CASE(a_folder_that_was_just_changed_is_not_listed),
        CASE(what_comes_while_the_folder_is_read_is_not_missed),
        CASE(what_cannot_be_listed_is_tried_again_when_it_has_changed),
        CASE(a_large_folder_is_looked_up_name_by_name),
        CASE(names_of_more_bytes_than_there_is_room_for_are_looked_up_one_by_one),
        CASE(another_root_is_asked_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
