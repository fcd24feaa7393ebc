/*
 * open_files.h - a cache of open files over a folder of its own, for tests of files/open_files.h.
 * The test sets the time and what the kernel can tell. Opens and stats are counted, and opens can
 * be made to need a worker.
 *
 * Includes os/open_beneath.c and files/open_files.c over its own functions, so a program takes
 * those instead of the library's. For one file of a program. Names of files are below the folder
 * `public`, which is the root.
 */
#ifndef NB_TEST_OPEN_FILES_H
#define NB_TEST_OPEN_FILES_H

#include "files/open_files.h"
#include "files/top_names.h"
#include "os/openat2.h"
#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

enum { NB_TEST_CACHE_FILES_MAX = 8 /* files that the cache keeps */ };

#define TURN_NS INT64_C(1000) /* between two turns of a loop */
#define SECOND_NS INT64_C(1000000000)

/* The fixture of a case. */
static struct {
    nb_openat2_answer way; /* what the kernel can tell */
    unsigned opens, stats; /* calls of nb_open_beneath, and of nb_stat_beneath */
    /* no file is opened on the loop: the disk is needed each time */
    bool never_ready;
    const char *lacking;             /* the one path that the top names lack; NULL: none */
    char base[NB_TEST_FOLDER_BYTES]; /* holds the folders public and outside */
    nb_mime *mime;
    nb_cache_rules rules;
    nb_open_files *files;
    uint16_t root;  /* number of the root that is looked in */
    int64_t now_ns; /* of the turn */
    nb_test_leaks before;
    unsigned descriptors; /* before the first look-up */
    int last_error;       /* errno of the last look-up */
} f;

static nb_openat2_answer nb_test_probe(void) { return f.way; }

#define nb_openat2_probe nb_test_probe
#include "os/open_beneath.c"
#undef nb_openat2_probe

static nb_status counted_open(const nb_root *root, const char *path, bool ready_only, int *fd, nb_file_facts *facts) {
    f.opens++;
    if (ready_only && f.never_ready) {
        errno = EAGAIN;
        return NB_AGAIN;
    }
    return nb_open_beneath(root, path, ready_only, fd, facts);
}

static nb_status counted_stat(const nb_root *root, const char *path, nb_file_facts *facts) {
    f.stats++;
    return nb_stat_beneath(root, path, facts);
}

static bool known_to_lack(nb_top_names *names, const nb_root *root, nb_slice path, int64_t now_ns) {
    const char *lacking = f.lacking;
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

/* f.files: a new cache with one root. */
static inline void make_cache(void) {
    assert_status(NB_OK, nb_open_files_create(NB_TEST_CACHE_FILES_MAX, f.mime, &f.rules, &f.files));
    assert_status(NB_OK,
                  nb_open_files_add_root(f.files, nb_test_in(f.base, "public"), NB_SYMLINKS_INSIDE, false, &f.root));
}

static inline int set_up_way(nb_openat2_answer way) {
    memset(&f, 0, sizeof f);
    f.way = way;
    f.before = nb_test_leaks_begin();
    nb_test_folder_create(f.base);
    nb_test_make_folder(f.base, "public");
    nb_test_make_folder(f.base, "outside");
    nb_test_write(f.base, "public/a.html", "one");
    nb_test_write(f.base, "public/b.txt", "b");
    nb_test_write(f.base, "outside/secret.txt", "secret");
    assert_status(NB_OK, nb_mime_create(&f.mime));
    assert_status(NB_OK, nb_mime_add(f.mime, NB_SLICE("html"), NB_SLICE("text/html")));
    assert_status(NB_OK, nb_cache_rules_add(&f.rules, NB_SLICE("/b.txt"), NB_SLICE("no-cache")));
    f.descriptors = nb_test_descriptors();
    f.now_ns = 5 * SECOND_NS;
    make_cache();
    f.opens = f.stats = 0;
    return 0;
}

/* The kernel that there is. */
static inline int set_up(void **state) {
    (void)state;
    return set_up_way(nb_openat2_probe());
}

/* One that does not tell what needs the disk: a worker opens the file then. */
static inline int set_up_old(void **state) {
    (void)state;
    return set_up_way(NB_OPENAT2_ABSENT);
}

static inline int tear_down(void **state) {
    (void)state;
    nb_open_files_destroy(f.files);
    nb_mime_destroy(f.mime);
    nb_test_folder_remove(f.base);
    return nb_test_leaks_end(&f.before);
}

/* A case with the kernel that there is; with that and with an old one. */
#define NEW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BOTH(name)                                                   \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down), {      \
#name "_on_an_old_kernel", name, set_up_old, tear_down, NULL \
    }

/* "": the root itself. */
static inline void path_of(const char *name, nb_file_path *path) {
    if (*name == '\0') {
        assert_status(NB_OK, nb_file_path_decode(NB_SLICE("/"), path));
        return;
    }
    assert_status(NB_OK, nb_file_path_take(nb_slice_of(name, strlen(name)), path));
}

/* The file is the caller's. NB_AGAIN: the disk is needed. */
static inline nb_status find_only(const char *name, nb_file **file) {
    nb_file_path path;
    path_of(name, &path);
    nb_status status = nb_open_files_find(f.files, f.root, &path, f.now_ns, file);
    f.last_error = errno;
    return status;
}

static inline void begin_opening(const char *name, nb_opening *opening) {
    nb_file_path path;
    path_of(name, &path);
    nb_open_files_begin(f.files, f.root, &path, opening);
}

/* The opening is back from its worker. The file is the caller's. */
static inline nb_status enter_opening(nb_opening *opening, nb_file **file) {
    nb_status status = nb_open_files_enter(f.files, opening, f.now_ns, file);
    f.last_error = errno;
    return status;
}

static inline void *run_opening(void *opening) {
    nb_opening_run(opening);
    return NULL;
}

/* Finds a file as the loop does: on a worker if the disk is needed. */
static inline nb_status find(const char *name, nb_file **file) {
    nb_opening opening;
    nb_status status = find_only(name, file);
    if (status != NB_AGAIN) return status;
    begin_opening(name, &opening);
    nb_test_join(nb_test_thread(run_opening, &opening));
    return enter_opening(&opening, file);
}

/* The file that is there, which is the caller's. */
static inline nb_file *found(const char *name) {
    nb_file *file = NULL;
    assert_status(NB_OK, find(name, &file));
    assert_non_null(file);
    return file;
}

static inline void expect_text(const nb_file *file, const char *text) {
    char bytes[64] = "";
    assert_int_equal(strlen(text), pread(file->fd, bytes, sizeof bytes - 1, 0));
    assert_string_equal(text, bytes);
    assert_int_equal(strlen(text), file->facts.size);
}

static inline void expect_found(const char *name, const char *text) {
    nb_file *file = found(name);
    expect_text(file, text);
    nb_file_release(file);
}

static inline void expect_error(const char *name, int error) {
    nb_file *file = NULL;
    assert_status(NB_SYSTEM, find(name, &file));
    assert_int_equal(error, f.last_error);
    assert_null(file);
}

/* Files in the cache. */
static inline uint32_t kept(void) { return nb_open_files_count(f.files).files; }

#endif
