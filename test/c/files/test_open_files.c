/*
 * test_open_files.c - the cache of open files: one look-up for a file and turn, every change
 * noticed in the next turn, nothing kept too long. With a kernel that tells what needs the disk,
 * and with one that does not (a worker opens the file then). Includes its .c to count system calls
 * and to make them fail.
 */
#include "files/top_names.h"
#include "os/openat2.h"

static nb_openat2_answer test_probe(void);
#define nb_openat2_probe test_probe
#include "os/open_beneath.c"
#undef nb_openat2_probe

static unsigned opens, stats;
static bool never_ready; /* like a file system that must be asked each time */

static nb_status counted_open(const nb_root *root, const char *path, bool ready_only, int *fd, nb_file_facts *facts) {
    opens++;
    if (ready_only && never_ready) {
        errno = EAGAIN;
        return NB_AGAIN;
    }
    return nb_open_beneath(root, path, ready_only, fd, facts);
}

static nb_status counted_stat(const nb_root *root, const char *path, nb_file_facts *facts) {
    stats++;
    return nb_stat_beneath(root, path, facts);
}

static const char *lacking; /* the one path known to be missing; NULL: none */

static bool known_to_lack(nb_top_names *names, const nb_root *root, nb_slice path, int64_t now_ns) {
    (void)root;
    (void)now_ns;
    return names && lacking && nb_slice_equal(path, nb_slice_of(lacking, strlen(lacking)));
}

#define nb_top_names_lack known_to_lack
#define nb_open_beneath counted_open
#define nb_stat_beneath counted_stat
#include "files/open_files.c"
#undef nb_open_beneath
#undef nb_stat_beneath
#undef nb_top_names_lack

#include <stdio.h>

#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

#define TURN_NS INT64_C(1000)
#define SECOND_NS INT64_C(1000000000)

static nb_openat2_answer way;
static nb_openat2_answer test_probe(void) { return way; }

static char base[NB_TEST_FOLDER_BYTES];
static nb_mime *mime;
static nb_cache_rules rules;
static nb_open_files *files;
static uint16_t root;
static int64_t now_ns;
static long live;
static unsigned descriptors;
static int last_error;

static void make(uint32_t files_max) {
    assert_status(NB_OK, nb_open_files_create(files_max, mime, &rules, &files));
    assert_status(NB_OK, nb_open_files_add_root(files, nb_test_in(base, "public"), NB_SYMLINKS_INSIDE, false, &root));
}

static int set_up_way(nb_openat2_answer wanted) {
    way = wanted;
    live = nb_alloc_live();
    nb_test_folder_create(base);
    nb_test_make_folder(base, "public");
    nb_test_make_folder(base, "outside");
    nb_test_write(base, "public/a.html", "one");
    nb_test_write(base, "public/b.txt", "b");
    nb_test_write(base, "outside/secret.txt", "secret");
    memset(&rules, 0, sizeof rules);
    assert_status(NB_OK, nb_mime_create(&mime));
    assert_status(NB_OK, nb_mime_add(mime, NB_SLICE("html"), NB_SLICE("text/html")));
    assert_status(NB_OK, nb_cache_rules_add(&rules, NB_SLICE("/b.txt"), NB_SLICE("no-cache")));
    descriptors = nb_test_descriptors();
    now_ns = 5 * SECOND_NS;
    make(8);
    opens = stats = 0;
    never_ready = false;
    lacking = NULL;
    return 0;
}

static int set_up(void **state) {
    (void)state;
    return set_up_way(nb_openat2_probe());
}

static int set_up_old(void **state) {
    (void)state;
    return set_up_way(NB_OPENAT2_ABSENT);
}

static int tear_down(void **state) {
    (void)state;
    nb_open_files_destroy(files);
    files = NULL;
    assert_int_equal(descriptors, nb_test_descriptors());
    nb_mime_destroy(mime);
    nb_test_folder_remove(base);
    assert_int_equal(live, nb_alloc_live());
    return 0;
}

static void path_of(const char *name, nb_file_path *path) {
    if (*name == '\0') {
        assert_status(NB_OK, nb_file_path_decode(NB_SLICE("/"), path));
        return;
    }
    assert_status(NB_OK, nb_file_path_take(nb_slice_of(name, strlen(name)), path));
}

static nb_status find_only(const char *name, nb_file **file) {
    nb_file_path path;
    path_of(name, &path);
    nb_status status = nb_open_files_find(files, root, &path, now_ns, file);
    last_error = errno;
    return status;
}

static void *run_opening(void *opening) {
    nb_opening_run(opening);
    return NULL;
}

/* Finds a file as the loop does: on a worker if the disk is needed. */
static nb_status find(const char *name, nb_file **file) {
    nb_file_path path;
    nb_opening opening;
    nb_status status = find_only(name, file);
    if (status != NB_AGAIN) return status;
    path_of(name, &path);
    nb_open_files_begin(files, root, &path, &opening);
    nb_test_join(nb_test_thread(run_opening, &opening));
    status = nb_open_files_enter(files, &opening, now_ns, file);
    last_error = errno;
    return status;
}

static nb_file *found(const char *name) {
    nb_file *file = NULL;
    assert_status(NB_OK, find(name, &file));
    assert_non_null(file);
    return file;
}

static void expect_text(const nb_file *file, const char *text) {
    char bytes[64] = "";
    assert_int_equal(strlen(text), pread(file->fd, bytes, sizeof bytes - 1, 0));
    assert_string_equal(text, bytes);
    assert_int_equal(strlen(text), file->facts.size);
}

static void expect_found(const char *name, const char *text) {
    nb_file *file = found(name);
    expect_text(file, text);
    nb_file_release(file);
}

static void expect_error(const char *name, int error) {
    nb_file *file = NULL;
    assert_status(NB_SYSTEM, find(name, &file));
    assert_int_equal(error, last_error);
    assert_null(file);
}

static uint32_t kept(void) { return nb_open_files_count(files).files; }

/* --- what a look-up costs --- */

static void a_file_is_looked_at_once_a_turn(void **state) {
    (void)state;
    expect_found("a.html", "one");
    nb_file *first = found("a.html");
    unsigned opened = opens;
    for (int i = 0; i < 5; i++)
        expect_found("a.html", "one");
    assert_int_equal(0, stats);
    now_ns += TURN_NS;
    for (int i = 0; i < 5; i++)
        expect_found("a.html", "one");
    assert_int_equal(1, stats);
    assert_int_equal(opened, opens);
    nb_file *again = found("a.html");
    assert_ptr_equal(first, again);
    nb_file_release(again);
    nb_file_release(first);
    assert_int_equal(12, nb_open_files_count(files).hits);
    assert_int_equal(1, nb_open_files_count(files).opened);
}

static void what_is_not_there_is_looked_for_once_a_turn(void **state) {
    (void)state;
    expect_error("none", ENOENT); /* on a worker, if its folder has not been read */
    opens = 0;
    for (int i = 0; i < 5; i++)
        expect_error("none", ENOENT);
    assert_int_equal(0, opens);
    now_ns += TURN_NS;
    expect_error("none", ENOENT);
    assert_int_equal(1, opens);
    nb_test_write(base, "public/none", "now");
    expect_error("none", ENOENT);
    now_ns += TURN_NS;
    expect_found("none", "now");
}

static void what_only_a_worker_can_tell_is_remembered_for_a_second(void **state) {
    (void)state;
    nb_file *file = NULL;
    never_ready = true;
    expect_error("none", ENOENT);
    for (int i = 0; i < 3; i++) {
        now_ns += TURN_NS;
        assert_status(NB_SYSTEM, find_only("none", &file));
        assert_int_equal(ENOENT, last_error);
    }
    nb_test_write(base, "public/none", "now");
    now_ns += SECOND_NS;
    assert_status(NB_AGAIN, find_only("none", &file));
    expect_found("none", "now");
    for (int i = 0; i < 3; i++) {
        now_ns += TURN_NS;
        assert_status(NB_OK, find_only("none", &file));
        nb_file_release(file);
    }
    never_ready = false;
    expect_error("none2", ENOENT);
    nb_test_write(base, "public/none2", "at once");
    now_ns += TURN_NS;
    expect_found("none2", "at once");
}

static void what_is_known_not_to_be_there_is_looked_for_by_nobody_and_what_is_open_is_found(void **state) {
    (void)state;
    expect_found("a.html", "one");
    opens = 0;
    lacking = "users/1";
    for (int i = 0; i < 3; i++) {
        now_ns += TURN_NS;
        expect_error("users/1", ENOENT);
    }
    never_ready = true;
    now_ns += TURN_NS;
    expect_error("users/1", ENOENT);
    assert_int_equal(0, opens);
    never_ready = false;
    expect_found("a.html", "one");
    expect_error("users/2", ENOENT);
    assert_int_not_equal(0, opens);
}

static void a_long_name_is_not_remembered_but_found(void **state) {
    (void)state;
    char name[200];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    expect_error(name, ENOENT);
    opens = 0;
    expect_error(name, ENOENT);
    expect_error(name, ENOENT);
    assert_int_equal(2, opens);
    char place[256] = "public/";
    strcat(place, name);
    nb_test_write(base, place, "long");
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
    nb_test_replace(base, "public/a.html", "two");
    expect_found("a.html", "one");
    now_ns += TURN_NS;
    expect_found("a.html", "two");
    expect_text(old, "one");
    nb_file_release(old);
    assert_int_equal(1, nb_open_files_count(files).changed);
    assert_int_equal(1, kept());
}

static void an_edited_file_is_noticed_at_once(void **state) {
    (void)state;
    nb_file *old = found("a.html");
    nb_test_write(base, "public/a.html", "longer");
    now_ns += TURN_NS;
    expect_found("a.html", "longer");
    assert_int_equal(3, old->facts.size);
    nb_test_write(base, "public/a.html", "");
    now_ns += TURN_NS;
    expect_found("a.html", "");
    nb_file_release(old);
}

static void a_time_that_goes_backwards_is_noticed_at_once(void **state) {
    (void)state;
    nb_file *old = found("a.html");
    nb_test_set_time(base, "public/a.html", SECOND_NS);
    now_ns += TURN_NS;
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
    nb_test_delete(base, "public/a.html");
    now_ns += TURN_NS;
    expect_error("a.html", ENOENT);
    assert_int_equal(before - 1, nb_test_descriptors());
    assert_int_equal(0, kept());
    nb_test_write(base, "public/a.html", "back");
    now_ns += TURN_NS;
    expect_found("a.html", "back");
}

static void a_file_that_became_something_else_is_refused(void **state) {
    (void)state;
    static const int errors[] = {EISDIR, ENXIO, EXDEV, ENOENT};
    for (int i = 0; i < 4; i++) {
        nb_test_write(base, "public/x", "x");
        now_ns += TURN_NS;
        expect_found("x", "x");
        nb_test_delete(base, "public/x");
        if (i == 0) nb_test_make_folder(base, "public/x");
        if (i == 1) assert_int_equal(0, mkfifo(nb_test_in(base, "public/x"), 0600));
        if (i == 2) nb_test_link(base, "public/x", "../outside/secret.txt");
        if (i == 3) nb_test_link(base, "public/x", "nothing");
        now_ns += TURN_NS;
        expect_error("x", errors[i]);
        assert_int_equal(0, remove(nb_test_in(base, "public/x")));
        assert_int_equal(0, kept());
    }
}

static void a_link_that_is_turned_is_noticed_at_once(void **state) {
    (void)state;
    nb_test_link(base, "public/link", "a.html");
    expect_found("link", "one");
    nb_test_delete(base, "public/link");
    nb_test_link(base, "public/link", "b.txt");
    now_ns += TURN_NS;
    expect_found("link", "b");
}

static void folders_are_no_files(void **state) {
    (void)state;
    nb_test_make_folder(base, "public/docs");
    expect_error("docs", EISDIR);
    expect_error("", EISDIR);
    expect_error("a.html/x", ENOTDIR);
}

static void a_root_that_is_replaced_is_noticed_within_a_second(void **state) {
    (void)state;
    expect_found("a.html", "one");
    assert_int_equal(0, rename(nb_test_in(base, "public"), nb_test_in(base, "old")));
    nb_test_make_folder(base, "public");
    nb_test_write(base, "public/a.html", "new root");
    now_ns += TURN_NS;
    expect_found("a.html", "one");
    now_ns += SECOND_NS;
    expect_found("a.html", "new root");
    expect_error("b.txt", ENOENT);
    nb_test_delete(base, "public/a.html");
    assert_int_equal(0, remove(nb_test_in(base, "public")));
    now_ns += SECOND_NS;
    expect_error("a.html", ENOENT);
    assert_null(nb_open_files_root(files, root, now_ns));
    assert_int_equal(0, kept());
    assert_int_equal(0, rename(nb_test_in(base, "old"), nb_test_in(base, "public")));
    now_ns += SECOND_NS;
    expect_found("a.html", "one");
    assert_non_null(nb_open_files_root(files, root, now_ns));
}

static void whoever_asks_for_a_root_gets_the_one_there_is(void **state) {
    (void)state;
    nb_test_make_folder(base, "releases");
    nb_test_make_folder(base, "releases/1");
    nb_test_make_folder(base, "releases/2");
    nb_test_link(base, "current", "releases/1");
    assert_status(NB_OK, nb_open_files_add_root(files, nb_test_in(base, "current"), NB_SYMLINKS_INSIDE, false, &root));
    assert_string_equal(nb_test_in(base, "releases/1"), nb_open_files_root(files, root, now_ns)->real);
    nb_test_delete(base, "current");
    nb_test_link(base, "current", "releases/2");
    now_ns += SECOND_NS;
    assert_string_equal(nb_test_in(base, "releases/2"), nb_open_files_root(files, root, now_ns)->real);
    assert_string_equal(nb_test_in(base, "current"), nb_open_files_root(files, root, now_ns)->path);
}

static void a_root_may_come_later(void **state) {
    (void)state;
    uint16_t other = 99;
    const char *place = nb_test_in(base, "later");
    assert_status(NB_SYSTEM, nb_open_files_add_root(files, place, NB_SYMLINKS_INSIDE, false, &other));
    assert_int_equal(ENOENT, errno);
    assert_int_equal(99, other);
    assert_status(NB_OK, nb_open_files_add_root(files, place, NB_SYMLINKS_INSIDE, true, &other));
    assert_int_equal(1, other);
    root = other;
    expect_error("a", ENOENT);
    nb_test_make_folder(base, "later");
    nb_test_write(base, "later/a", "here");
    now_ns += SECOND_NS;
    expect_found("a", "here");
    root = 0;
    expect_error("a", ENOENT);
    expect_found("a.html", "one");
    for (unsigned i = 2; i < NB_OPEN_FILES_ROOTS_MAX; i++)
        assert_status(NB_OK, nb_open_files_add_root(files, place, NB_SYMLINKS_INSIDE, true, &other));
    assert_status(NB_FULL, nb_open_files_add_root(files, place, NB_SYMLINKS_INSIDE, true, &other));
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
    nb_test_write(base, "public/b.txt.gz", "z");
    nb_test_write(base, "public/b.txt.zst", "z");
    assert_int_equal(NB_ENCODING_BIT(NB_ENCODING_GZIP) | NB_ENCODING_BIT(NB_ENCODING_ZSTD), siblings_of("b.txt"));
    nb_test_write(base, "public/a.html.br", "z");
    now_ns += TURN_NS;
    assert_int_equal(0, siblings_of("a.html"));
    now_ns += SECOND_NS;
    assert_int_equal(NB_ENCODING_BIT(NB_ENCODING_BR), siblings_of("a.html"));
    nb_test_delete(base, "public/a.html.br");
    now_ns += SECOND_NS;
    assert_int_equal(0, siblings_of("a.html"));
    assert_int_equal(0, siblings_of("b.txt.gz"));
}

static void a_sibling_that_cannot_be_of_this_original_is_left_alone(void **state) {
    (void)state;
    nb_test_write(base, "public/b.txt.gz", "");                      /* empty */
    nb_test_make_folder(base, "public/b.txt.br");                    /* no file */
    nb_test_link(base, "public/b.txt.zst", "../outside/secret.txt"); /* elsewhere */
    assert_int_equal(0, siblings_of("b.txt"));
    nb_test_write(base, "public/b.txt.gz", "z");
    nb_test_set_time(base, "public/b.txt", 1000 * SECOND_NS);
    for (int older = 0; older < 2; older++) {
        nb_test_set_time(base, "public/b.txt.gz", (1000 - NB_SIBLING_SLACK_S) * SECOND_NS - older);
        now_ns += SECOND_NS;
        assert_int_equal(older ? 0 : NB_ENCODING_BIT(NB_ENCODING_GZIP), siblings_of("b.txt"));
    }
}

static void a_file_that_is_not_changed_stays_the_same_when_it_is_looked_at_whole(void **state) {
    (void)state;
    nb_file *file = found("a.html");
    for (int i = 0; i < 3; i++) {
        now_ns += SECOND_NS;
        nb_file *again = found("a.html");
        assert_ptr_equal(file, again);
        nb_file_release(again);
    }
    assert_int_equal(0, nb_open_files_count(files).changed);
    nb_file_release(file);
}

static void one_request_looks_for_siblings_and_the_others_go_on(void **state) {
    (void)state;
    nb_file *file = NULL;
    expect_found("a.html", "one");
    now_ns += SECOND_NS;
    opens = 0;
    nb_status first = find_only("a.html", &file);
    assert_status(way == NB_OPENAT2_KNOWS_CACHED ? NB_OK : NB_AGAIN, first);
    if (first == NB_OK) nb_file_release(file);
    unsigned opened = opens;
    assert_true(opened > 0);
    for (int turn = 0; turn < 3; turn++, now_ns += TURN_NS) {
        assert_status(NB_OK, find_only("a.html", &file));
        nb_file_release(file);
    }
    assert_int_equal(opened, opens);
}

/* --- bounds --- */

static void the_file_asked_for_longest_ago_makes_room(void **state) {
    (void)state;
    char place[32];
    for (int i = 0; i < 9; i++) {
        snprintf(place, sizeof place, "public/%d", i);
        nb_test_write(base, place, "x");
    }
    for (int i = 0; i < 8; i++)
        expect_found(place + 7, "x"), snprintf(place, sizeof place, "public/%d", i);
    now_ns += TURN_NS;
    expect_found("8", "x");
    unsigned before = nb_test_descriptors();
    for (int i = 0; i < 100; i++) {
        snprintf(place, sizeof place, "public/%d", i % 8);
        expect_found(place + 7, "x");
        if (i % 5 == 0) expect_found("8", "x");
        assert_int_equal(8, kept());
    }
    assert_int_equal(before, nb_test_descriptors());
    assert_true(nb_open_files_count(files).closed > 0);
    opens = 0;
    expect_found("8", "x"); /* the most recently used one has stayed */
    assert_int_equal(0, opens);
}

static void a_file_that_is_sent_outlives_its_place(void **state) {
    (void)state;
    nb_file *file = found("a.html");
    nb_open_files_shrink(files, 0);
    assert_int_equal(0, kept());
    expect_text(file, "one");
    nb_open_files_destroy(files);
    expect_text(file, "one");
    nb_file_release(file);
    make(8);
}

static void what_nobody_asks_for_is_closed_after_a_minute(void **state) {
    (void)state;
    assert_int_equal(0, nb_open_files_expire(files, now_ns));
    int64_t first = now_ns;
    expect_found("a.html", "one");
    now_ns += 10 * SECOND_NS;
    int64_t second = now_ns;
    expect_found("b.txt", "b");
    assert_int_equal(first + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(files, now_ns));
    now_ns = first + NB_OPEN_FILES_IDLE_NS - 1;
    nb_open_files_expire(files, now_ns);
    assert_int_equal(2, kept());
    now_ns++;
    assert_int_equal(second + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(files, now_ns));
    assert_int_equal(1, kept());
    expect_found("b.txt", "b");
    assert_int_equal(now_ns + NB_OPEN_FILES_IDLE_NS, nb_open_files_expire(files, now_ns));
    now_ns += NB_OPEN_FILES_IDLE_NS;
    assert_int_equal(0, nb_open_files_expire(files, now_ns));
    assert_int_equal(descriptors + 1, nb_test_descriptors()); /* the root's */
    assert_int_equal(2, nb_open_files_count(files).closed);
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
        nb_test_write(base, place, "x");
        if (i < 6) expect_found(place + 7, "x");
    }
    nb_file_path path;
    nb_opening opening;
    nb_file *file = NULL;
    path_of("6", &path);
    nb_open_files_begin(files, root, &path, &opening);
    nb_opening_run(&opening); /* its names are in memory now */
    nb_opening_drop(&opening);
    nb_test_descriptors_exhaust();
    nb_status status = find_only("6", &file);
    nb_test_descriptors_free();
    assert_status(way == NB_OPENAT2_KNOWS_CACHED ? NB_OK : NB_AGAIN, status);
    if (status == NB_OK) assert_int_equal(4, kept());
    nb_file_release(file);
}

static void a_worker_without_descriptors_gets_them_when_it_is_back(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening opening;
    nb_file *file = NULL;
    expect_found("a.html", "one");
    path_of("b.txt", &path);
    expect_found("b.txt", "b");
    nb_open_files_shrink(files, 1);
    expect_found("a.html", "one");
    nb_open_files_begin(files, root, &path, &opening);
    nb_test_descriptors_exhaust();
    nb_opening_run(&opening);
    nb_open_files_shrink(files, 1);
    nb_status status = nb_open_files_enter(files, &opening, now_ns, &file);
    int error = errno;
    nb_test_descriptors_free();
    if (way == NB_OPENAT2_KNOWS_CACHED) {
        assert_status(NB_OK, status);
        expect_text(file, "b");
        nb_file_release(file);
    } else {
        assert_status(NB_SYSTEM, status);
        assert_int_equal(EMFILE, error);
    }
}

static void without_any_descriptor_it_is_said_and_not_remembered(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening opening;
    nb_file *file = NULL;
    path_of("b.txt", &path);
    nb_open_files_begin(files, root, &path, &opening);
    nb_test_descriptors_exhaust();
    nb_opening_run(&opening);
    nb_status status = nb_open_files_enter(files, &opening, now_ns, &file);
    int error = errno;
    nb_test_descriptors_free();
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EMFILE, error);
    expect_found("b.txt", "b");
}

static void without_any_descriptor_what_is_not_there_is_told_from_what_is(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int error;
    } asked[] = {{"b.txt", EMFILE}, {"folder/none", ENOENT}, {"a.html/below", ENOTDIR}, {"folder", EISDIR}};
    nb_test_make_folder(base, "public/folder");
    now_ns += SECOND_NS;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        nb_file_path path;
        nb_opening opening;
        nb_file *file = NULL;
        path_of(asked[i].name, &path);
        nb_test_descriptors_exhaust();
        nb_status status = nb_open_files_find(files, root, &path, now_ns, &file);
        if (status == NB_AGAIN) {
            nb_open_files_begin(files, root, &path, &opening);
            nb_opening_run(&opening);
            status = nb_open_files_enter(files, &opening, now_ns, &file);
        }
        int error = errno;
        nb_test_descriptors_free();
        assert_status(NB_SYSTEM, status);
        assert_int_equal(asked[i].error, error);
    }
    expect_found("b.txt", "b");
}

/* --- workers --- */

static void an_opening_that_nobody_waits_for_leaves_nothing(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening opening;
    path_of("a.html", &path);
    nb_open_files_begin(files, root, &path, &opening);
    nb_opening_drop(&opening);
    nb_open_files_begin(files, root, &path, &opening);
    nb_opening_run(&opening);
    assert_status(NB_OK, opening.status);
    nb_opening_drop(&opening);
    assert_int_equal(0, kept());
}

static void an_opening_that_was_not_run_says_so(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening opening;
    nb_file *file = NULL;
    path_of("a.html", &path);
    nb_open_files_begin(files, root, &path, &opening);
    assert_status(NB_CLOSED, nb_open_files_enter(files, &opening, now_ns, &file));
    assert_null(file);
}

static void two_openings_of_one_file_become_one(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening first, second;
    nb_file *one = NULL, *two = NULL;
    path_of("a.html", &path);
    nb_open_files_begin(files, root, &path, &first);
    nb_open_files_begin(files, root, &path, &second);
    nb_opening_run(&first);
    nb_opening_run(&second);
    assert_status(NB_OK, nb_open_files_enter(files, &second, now_ns, &two));
    assert_status(NB_OK, nb_open_files_enter(files, &first, now_ns, &one));
    assert_ptr_equal(one, two);
    assert_int_equal(1, kept());
    nb_file_release(one);
    nb_file_release(two);
}

static void an_opening_under_an_older_root_is_not_kept(void **state) {
    (void)state;
    nb_file_path path;
    nb_opening opening;
    nb_file *file = NULL;
    path_of("a.html", &path);
    nb_open_files_begin(files, root, &path, &opening);
    assert_int_equal(0, rename(nb_test_in(base, "public"), nb_test_in(base, "old")));
    nb_test_make_folder(base, "public");
    now_ns += SECOND_NS;
    expect_error("b.txt", ENOENT);
    nb_opening_run(&opening);
    assert_status(NB_OK, nb_open_files_enter(files, &opening, now_ns, &file));
    expect_text(file, "one");
    nb_file_release(file);
    assert_int_equal(0, kept());
    expect_error("a.html", ENOENT);
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
        nb_open_files_shrink(files, 0);
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
    assert_status(NB_NO_MEMORY, nb_open_files_create(8, mime, &rules, &other));
    assert_null(other);
    for (unsigned long n = 1; n <= 2; n++) {
        nb_alloc_fail_at(n);
        assert_status(NB_NO_MEMORY, nb_open_files_add_root(files, base, NB_SYMLINKS_INSIDE, true, &number));
        nb_alloc_fail_at(0);
    }
    assert_int_equal(99, number);
    assert_int_equal(before, nb_test_descriptors());
    nb_open_files_destroy(NULL);
}

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
            (step & 1 ? nb_test_write : nb_test_replace)(base, place, text);
            strcpy(texts[i], text);
            now_ns += TURN_NS;
            break;
        case 1:
            if (texts[i][0]) nb_test_delete(base, place);
            texts[i][0] = '\0';
            now_ns += TURN_NS;
            break;
        case 2:
            now_ns += (int64_t)nb_test_random_below(&random, 100 * SECOND_NS);
            nb_open_files_expire(files, now_ns);
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

#define NEW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BOTH(name)                                                   \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down), {      \
#name "_on_an_old_kernel", name, set_up_old, tear_down, NULL \
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
        BOTH(the_file_asked_for_longest_ago_makes_room),
        BOTH(a_file_that_is_sent_outlives_its_place),
        BOTH(what_nobody_asks_for_is_closed_after_a_minute),
        NEW(the_share_of_descriptors_is_bounded),
        BOTH(without_descriptors_half_of_what_is_kept_goes),
        BOTH(a_worker_without_descriptors_gets_them_when_it_is_back),
        BOTH(without_any_descriptor_it_is_said_and_not_remembered),
        BOTH(without_any_descriptor_what_is_not_there_is_told_from_what_is),
        BOTH(an_opening_that_nobody_waits_for_leaves_nothing),
        BOTH(an_opening_that_was_not_run_says_so),
        BOTH(two_openings_of_one_file_become_one),
        BOTH(an_opening_under_an_older_root_is_not_kept),
        BOTH(without_memory_one_answer_fails_and_the_cache_is_whole),
        BOTH(without_memory_there_is_no_cache_and_no_root),
        BOTH(a_random_life_is_always_what_the_folder_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
