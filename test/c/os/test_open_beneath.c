/*
 * test_open_beneath.c - opening a file without leaving its folder: one table of links and other
 * traps for each policy, by openat2, by an openat2 without RESOLVE_CACHED, and by the walk.
 * Includes its .c to take openat2 away.
 */
#include "os/openat2.h"

static nb_openat2_answer test_probe(void);
static int test_openat2(int folder, const char *path, nb_symlinks symlinks, bool cached);
#define nb_openat2_probe test_probe
#define nb_openat2 test_openat2
#include "os/open_beneath.c"
#undef nb_openat2_probe
#undef nb_openat2

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

enum { NOBODY = 65534, OK = 0 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static nb_openat2_answer way;
static int pretended_error; /* of openat2; 0: ask the kernel */
static unsigned openat2_calls;

static nb_openat2_answer test_probe(void) { return way; }

static int test_openat2(int folder, const char *path, nb_symlinks symlinks, bool cached) {
    assert_int_not_equal(NB_OPENAT2_ABSENT, way);
    openat2_calls++;
    errno = pretended_error;
    return pretended_error != 0 ? -1 : nb_openat2(folder, path, symlinks, cached);
}

static char base[NB_TEST_FOLDER_BYTES];
static const char long_name[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/* What a path gives under each policy: an errno, or OK. */
typedef struct row {
    const char *path;
    int inside, owner, follow;
} row;

static const row rows[] = {
    {"plain.txt", OK, OK, OK},
    {"sub/deep/file.txt", OK, OK, OK},
    {"missing", ENOENT, ENOENT, ENOENT},
    {"sub/missing/x", ENOENT, ENOENT, ENOENT},
    {"plain.txt/x", ENOTDIR, ENOTDIR, ENOTDIR},
    {"", EISDIR, EISDIR, EISDIR},
    {"sub", EISDIR, EISDIR, EISDIR},
    {"sub/deep", EISDIR, EISDIR, EISDIR},
    {long_name, ENAMETOOLONG, ENAMETOOLONG, ENAMETOOLONG},
    {"fifo", ENXIO, ENXIO, ENXIO},
    {"socket", ENXIO, ENXIO, ENXIO},
    {"to_fifo", ENXIO, ENXIO, ENXIO},
    /* links that stay inside */
    {"inside", OK, OK, OK},
    {"sub/up", OK, OK, OK},
    {"folder", EISDIR, EISDIR, EISDIR},
    {"folder/deep/file.txt", OK, OK, OK},
    {"chain", OK, OK, OK},
    {"dot", OK, OK, OK},
    {"back", OK, OK, OK},
    {"through_folder", OK, OK, OK},
    {"slashes", OK, OK, OK},
    {"folder_slash", EISDIR, EISDIR, EISDIR},
    {"folder_slash/deep/file.txt", OK, OK, OK},
    {"folder_dot/deep/file.txt", OK, OK, OK},
    {"file_slash", ENOTDIR, ENOTDIR, ENOTDIR},
    {"file_as_folder/x", ENOTDIR, ENOTDIR, ENOTDIR},
    {"dangling", ENOENT, ENOENT, ENOENT},
    {"links40", OK, OK, OK},
    {"links41", ELOOP, ELOOP, ELOOP},
    {"loop", ELOOP, ELOOP, ELOOP},
    {"self", ELOOP, ELOOP, ELOOP},
    {"self/x", ELOOP, ELOOP, ELOOP},
    /* links that name the whole way, or leave and come back */
    {"absolute", OK, OK, OK},
    {"absolute_folder/deep/file.txt", OK, OK, OK},
    {"absolute_folder", EISDIR, EISDIR, EISDIR},
    {"round", OK, OK, OK},
    {"by_current", OK, OK, OK},
    {"by_current_folder/deep/file.txt", OK, OK, OK},
    {"above_all", OK, OK, OK},
    {"to_root", EISDIR, EISDIR, EISDIR},
    {"to_root/plain.txt", OK, OK, OK},
    /* links that lead out */
    {"out", EXDEV, OK, OK},
    {"out_absolute", EXDEV, OK, OK},
    {"out_folder", EXDEV, EISDIR, EISDIR},
    {"out_folder_slash", EXDEV, EISDIR, EISDIR},
    {"out_folder/secret.txt", EXDEV, OK, OK},
    {"out_folder/missing", EXDEV, ENOENT, ENOENT},
    {"out_chain", EXDEV, OK, OK},
    {"out_dangling", EXDEV, ENOENT, ENOENT},
    {"out_sibling", EXDEV, OK, OK}, /* CVE-2025-27610 and its like: the root's name and more */
    {"out_by_inside", EXDEV, OK, OK},
    {"sub/deep/out", EXDEV, OK, OK},
    {"root", EXDEV, EISDIR, EISDIR},
};

/* The same for links and files of several owners, which only the superuser can make. */
static const row owner_rows[] = {
    {"theirs", OK, EXDEV, OK},
    {"their_file", OK, OK, OK},
    {"their_link_to_their_file", OK, OK, OK},
    {"our_link_to_their_file", OK, EXDEV, OK},
    {"their_link_to_folder/deep/file.txt", OK, EXDEV, OK},
    {"their_link_in_chain", OK, EXDEV, OK},
    {"their_link_up", OK, EXDEV, OK},
    {"their_link_slash/deep/file.txt", OK, EXDEV, OK},
    {"their_folder/ours", OK, OK, OK},
    {"their_link_to_their_folder/ours", OK, OK, OK},
    {"their_link_out", EXDEV, EXDEV, OK},
    {"device", EXDEV, ENXIO, ENXIO},
};

static void make_links(void) {
    char root[NB_TEST_FOLDER_BYTES + 8], text[2 * NB_TEST_FOLDER_BYTES], name[16];
    snprintf(root, sizeof root, "%s/root", base);
#define LINK(link_name, ...)                      \
    do {                                          \
        snprintf(text, sizeof text, __VA_ARGS__); \
        nb_test_link(root, (link_name), text);    \
    } while (0)
    LINK("inside", "sub/deep/file.txt");
    LINK("sub/up", "../plain.txt");
    LINK("folder", "sub");
    LINK("chain", "chain2");
    LINK("chain2", "sub/chain3");
    LINK("sub/chain3", "../plain.txt");
    LINK("dot", "./sub/./deep/./file.txt");
    LINK("back", "sub/deep/../../plain.txt");
    LINK("through_folder", "folder/deep/../../plain.txt");
    LINK("slashes", "sub///deep//file.txt");
    LINK("folder_slash", "sub//");
    LINK("folder_dot", "sub/.");
    LINK("file_slash", "plain.txt/");
    LINK("file_as_folder", "plain.txt");
    LINK("dangling", "nothing");
    LINK("loop", "sub/loop");
    LINK("sub/loop", "../loop");
    LINK("self", "self");
    LINK("absolute", "%s/plain.txt", root);
    LINK("absolute_folder", "%s/sub/", root);
    LINK("round", "../root/plain.txt");
    LINK("by_current", "%s/current/plain.txt", base);
    LINK("by_current_folder", "%s/current/sub", base);
    LINK("above_all", "../../../../../../../../..%s/plain.txt", root);
    LINK("to_root", "%s", root);
    LINK("out", "../outside/secret.txt");
    LINK("out_absolute", "%s/outside/secret.txt", base);
    LINK("out_folder", "../outside");
    LINK("out_folder_slash", "../outside/");
    LINK("out_chain", "chain_out");
    LINK("chain_out", "%s/outside/secret.txt", base);
    LINK("out_dangling", "../nothing");
    LINK("out_sibling", "%s-secret/secret.txt", root);
    LINK("out_by_inside", "%s/sub/../../outside/secret.txt", root);
    LINK("sub/deep/out", "../../../outside/secret.txt");
    LINK("device", "/dev/null");
    LINK("root", "/");
    LINK("to_fifo", "fifo");
    for (int i = 41; i > 1; i--) {
        snprintf(name, sizeof name, "links%d", i);
        LINK(name, "links%d", i - 1);
    }
    LINK("links1", "plain.txt");
#undef LINK
}

static void make_special(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(0, mkfifo(nb_test_in(base, "root/fifo"), 0644));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/root/socket", base);
    assert_int_equal(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    close(fd);
}

static void give_away(const char *name) {
    assert_int_equal(0, fchownat(AT_FDCWD, nb_test_in(base, name), NOBODY, NOBODY, AT_SYMLINK_NOFOLLOW));
}

static void make_owned(void) {
    nb_test_write(base, "root/their_file", "data");
    nb_test_make_folder(base, "root/their_folder");
    nb_test_write(base, "root/their_folder/ours", "data");
    nb_test_link(base, "root/theirs", "plain.txt");
    nb_test_link(base, "root/their_link_to_their_file", "their_file");
    nb_test_link(base, "root/our_link_to_their_file", "their_file");
    nb_test_link(base, "root/their_link_to_folder", "sub");
    nb_test_link(base, "root/their_link_in_chain", "theirs");
    nb_test_link(base, "root/their_link_up", "sub/deep/their_up/plain.txt");
    nb_test_link(base, "root/sub/deep/their_up", "../..");
    nb_test_link(base, "root/their_link_slash", "sub/");
    nb_test_link(base, "root/their_link_to_their_folder", "./their_folder/.");
    nb_test_link(base, "root/their_link_out", "../outside/secret.txt");
    static const char *const given[] = {
        "their_file",           "their_folder",      "theirs",           "their_link_to_their_file",
        "their_link_to_folder", "sub/deep/their_up", "their_link_slash", "their_link_to_their_folder",
        "their_link_out"};
    char name[64];
    for (size_t i = 0; i < COUNT(given); i++) {
        snprintf(name, sizeof name, "root/%s", given[i]);
        give_away(name);
    }
}

static int set_up(void **state) {
    (void)state;
    nb_test_folder_create(base);
    nb_test_make_folder(base, "root");
    nb_test_make_folder(base, "root/sub");
    nb_test_make_folder(base, "root/sub/deep");
    nb_test_make_folder(base, "outside");
    nb_test_make_folder(base, "root-secret");
    nb_test_link(base, "current", "root");
    nb_test_write(base, "root/plain.txt", "data");
    nb_test_write(base, "root/sub/deep/file.txt", "data");
    nb_test_write(base, "outside/secret.txt", "data");
    nb_test_write(base, "root-secret/secret.txt", "data");
    make_links();
    make_special();
    if (geteuid() == 0) make_owned();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    nb_test_folder_remove(base);
    return 0;
}

static nb_root *open_root(nb_symlinks symlinks) {
    nb_root *root;
    assert_status(NB_OK, nb_root_open(nb_test_in(base, "root"), symlinks, &root));
    return root;
}

static const nb_openat2_answer ways[] = {NB_OPENAT2_KNOWS_CACHED, NB_OPENAT2_PLAIN, NB_OPENAT2_ABSENT};

/* Calls `check` for each way this kernel has, with an openat2 that is there and one that is not. */
static void each_way(void check(const nb_root *root)) {
    static const nb_symlinks policies[] = {NB_SYMLINKS_INSIDE, NB_SYMLINKS_OWNER, NB_SYMLINKS_FOLLOW};
    unsigned before = nb_test_descriptors();
    for (size_t i = 0; i < COUNT(ways); i++) {
        if (ways[i] > nb_openat2_probe()) continue;
        way = ways[i];
        for (size_t j = 0; j < COUNT(policies); j++) {
            nb_root *root = open_root(policies[j]);
            check(root);
            nb_root_release(root);
        }
    }
    assert_int_equal(before, nb_test_descriptors());
}

static int expected(const row *it, nb_symlinks symlinks) {
    return symlinks == NB_SYMLINKS_INSIDE ? it->inside : symlinks == NB_SYMLINKS_OWNER ? it->owner : it->follow;
}

static void fail_row(const row *it, const nb_root *root, const char *seen) {
    fail_msg("%s, way %d, policy %d: expected %s, was %s", it->path, way, root->symlinks,
             strerror(expected(it, root->symlinks)), seen);
}

static void check_opened(int fd, const nb_file_facts *facts) {
    char bytes[5];
    struct stat found;
    assert_int_equal(4, read(fd, bytes, sizeof bytes));
    assert_memory_equal("data", bytes, 4);
    assert_int_equal(0, fstat(fd, &found));
    assert_int_equal(4, facts->size);
    assert_int_equal(found.st_ino, facts->inode);
    assert_int_equal(found.st_dev, facts->device);
    assert_int_equal(found.st_mtim.tv_sec * NB_NS_PER_S + found.st_mtim.tv_nsec, facts->modified_ns);
    assert_int_equal(found.st_ctim.tv_sec * NB_NS_PER_S + found.st_ctim.tv_nsec, facts->changed_ns);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(O_RDONLY, fcntl(fd, F_GETFL) & O_ACCMODE);
}

static void check_row(const nb_root *root, const row *it) {
    nb_file_facts facts;
    int fd = -1;
    nb_status status = nb_open_beneath(root, it->path, false, &fd, &facts);
    int error = errno;
    if (status == NB_OK) {
        if (expected(it, root->symlinks) != OK) fail_row(it, root, "opened");
        check_opened(fd, &facts);
        close(fd);
        return;
    }
    assert_status(NB_SYSTEM, status);
    assert_int_equal(-1, fd);
    if (error != expected(it, root->symlinks)) fail_row(it, root, strerror(error));
}

static void check_rows(const nb_root *root) {
    for (size_t i = 0; i < COUNT(rows); i++)
        check_row(root, &rows[i]);
}

static void a_link_is_followed_as_the_policy_says(void **state) {
    (void)state;
    each_way(check_rows);
}

static void check_owner_rows(const nb_root *root) {
    for (size_t i = 0; i < COUNT(owner_rows); i++)
        check_row(root, &owner_rows[i]);
}

static void a_link_of_another_owner_than_its_end_is_refused_under_owner(void **state) {
    (void)state;
    if (geteuid() != 0) skip();
    each_way(check_owner_rows);
}

/* What the loop's thread may ask for: the same, or "ask a worker", but never anything else. */
static void check_ready_rows(const nb_root *root) {
    for (size_t i = 0; i < COUNT(rows); i++) {
        nb_file_facts facts;
        int fd = -1;
        nb_status status = nb_open_beneath(root, rows[i].path, true, &fd, &facts);
        int error = errno;
        if (status == NB_OK) {
            assert_int_equal(NB_OPENAT2_KNOWS_CACHED, way);
            assert_int_equal(OK, expected(&rows[i], root->symlinks));
            close(fd);
        } else if (status == NB_SYSTEM && way == NB_OPENAT2_KNOWS_CACHED) {
            if (error != expected(&rows[i], root->symlinks)) fail_row(&rows[i], root, strerror(error));
            /* Fstatat knows no policy: it finds what is not there, and refuses nothing. */
        } else if (status == NB_SYSTEM) {
            assert_int_equal(error, rows[i].follow);
        } else {
            assert_status(NB_AGAIN, status);
        }
    }
}

static void what_needs_no_disk_is_answered_at_once(void **state) {
    (void)state;
    each_way(check_ready_rows);
}

static void check_hot(const nb_root *root) {
    static const char *const hot[] = {"plain.txt", "sub/deep/file.txt"};
    static const char *const absent[] = {"missing", "sub/missing/x"};
    nb_file_facts facts;
    int fd;
    for (size_t i = 0; i < COUNT(hot); i++) {
        bool cached = way == NB_OPENAT2_KNOWS_CACHED;
        nb_status status = nb_open_beneath(root, hot[i], true, &fd, &facts);
        assert_status(cached ? NB_OK : NB_AGAIN, status);
        if (status == NB_OK) close(fd);
        assert_status(NB_SYSTEM, nb_open_beneath(root, absent[i], true, &fd, &facts));
        assert_int_equal(ENOENT, errno);
    }
}

static void what_was_just_open_needs_no_disk(void **state) {
    (void)state;
    if (nb_openat2_probe() != NB_OPENAT2_KNOWS_CACHED) skip();
    each_way(check_rows);
    each_way(check_hot);
}

static void an_openat2_that_is_disturbed_is_asked_again_and_then_replaced(void **state) {
    (void)state;
    nb_root *root = open_root(NB_SYMLINKS_INSIDE);
    nb_file_facts facts;
    int fd;
    way = NB_OPENAT2_KNOWS_CACHED;
    pretended_error = EAGAIN;
    openat2_calls = 0;
    assert_status(NB_OK, nb_open_beneath(root, "inside", false, &fd, &facts));
    assert_int_equal(OPENAT2_TRIES, openat2_calls);
    close(fd);
    assert_status(NB_AGAIN, nb_open_beneath(root, "inside", true, &fd, &facts));
    assert_int_equal(OPENAT2_TRIES + 1, openat2_calls);
    pretended_error = ENFILE;
    assert_status(NB_SYSTEM, nb_open_beneath(root, "inside", false, &fd, &facts));
    assert_int_equal(ENFILE, errno);
    pretended_error = 0;
    nb_root_release(root);
}

static void check_unreadable(const nb_root *root) {
    nb_file_facts facts;
    int fd;
    assert_status(NB_SYSTEM, nb_open_beneath(root, "closed/file.txt", false, &fd, &facts));
    assert_int_equal(EACCES, errno);
    assert_status(NB_SYSTEM, nb_open_beneath(root, "unreadable.txt", false, &fd, &facts));
    assert_int_equal(EACCES, errno);
}

static void what_may_not_be_read_is_told_apart(void **state) {
    (void)state;
    uid_t user = geteuid();
    nb_test_make_folder(base, "root/closed");
    nb_test_write(base, "root/closed/file.txt", "data");
    nb_test_write(base, "root/unreadable.txt", "data");
    assert_int_equal(0, chmod(nb_test_in(base, "root/closed"), 0));
    assert_int_equal(0, chmod(nb_test_in(base, "root/unreadable.txt"), 0));
    if (user == 0) assert_int_equal(0, seteuid(NOBODY));
    each_way(check_unreadable);
    assert_int_equal(0, seteuid(user));
    assert_int_equal(0, chmod(nb_test_in(base, "root/closed"), 0755));
}

static void check_without_descriptors(const nb_root *root) {
    static const char *const paths[] = {"plain.txt", "sub/deep/file.txt", "absolute", "back"};
    nb_file_facts facts;
    int fd;
    nb_test_descriptors_exhaust();
    for (size_t i = 0; i < COUNT(paths); i++) {
        nb_status status = nb_open_beneath(root, paths[i], false, &fd, &facts);
        int error = errno;
        if (status != NB_SYSTEM || error != EMFILE) nb_test_descriptors_free();
        assert_status(NB_SYSTEM, status);
        assert_int_equal(EMFILE, error);
    }
    nb_test_descriptors_free();
}

static void no_descriptor_is_said(void **state) {
    (void)state;
    each_way(check_without_descriptors);
}

/* --- renames beside us --- */

static _Atomic bool swapping;

static void *swap_folders(void *unused) {
    (void)unused;
    char paths[3][NB_TEST_FOLDER_BYTES + 16];
    static const char *const names[] = {"root/swap", "outside/swap", "root/spare"};
    for (size_t i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", base, names[i]);
    /* The folder leaves the root, and a link that leads out stands in its place. */
    while (atomic_load(&swapping)) {
        rename(paths[0], paths[1]);
        rename(paths[2], paths[0]);
        rename(paths[0], paths[2]);
        rename(paths[1], paths[0]);
    }
    return NULL;
}

static void check_never_outside(const nb_root *root) {
    static const char *const paths[] = {"swap/inner/secret.txt", "swap/inner/up", "swap/inner/up2/secret.txt"};
    if (root->symlinks != NB_SYMLINKS_INSIDE) return;
    for (int i = 0; i < 3000; i++) {
        char byte = 0;
        nb_file_facts facts;
        int fd;
        if (nb_open_beneath(root, paths[i % 3], false, &fd, &facts) != NB_OK) continue;
        assert_int_equal(1, read(fd, &byte, 1));
        close(fd);
        assert_int_equal('d', byte);
    }
}

static void renames_beside_us_lead_nobody_outside(void **state) {
    (void)state;
    nb_test_make_folder(base, "root/swap");
    nb_test_make_folder(base, "root/swap/inner");
    nb_test_write(base, "root/swap/inner/secret.txt", "data");
    nb_test_write(base, "root/swap/secret.txt", "data");
    nb_test_write(base, "outside/secret", "SECRET");
    nb_test_link(base, "root/swap/inner/up", "../../secret.txt");
    nb_test_link(base, "root/swap/inner/up2", "../..");
    nb_test_write(base, "root/secret.txt", "data");
    nb_test_make_folder(base, "outside/inner");
    nb_test_write(base, "outside/inner/secret.txt", "SECRET");
    nb_test_replace(base, "outside/secret.txt", "SECRET");
    nb_test_link(base, "root/spare", "../outside");
    atomic_store(&swapping, true);
    pthread_t thread = nb_test_thread(swap_folders, NULL);
    each_way(check_never_outside);
    atomic_store(&swapping, false);
    nb_test_join(thread);
}

/* --- roots --- */

static void a_root_is_known_by_its_folder(void **state) {
    (void)state;
    nb_root *root = NULL;
    assert_status(NB_SYSTEM, nb_root_open("/nonexistent", NB_SYMLINKS_INSIDE, &root));
    assert_int_equal(ENOENT, errno);
    assert_status(NB_SYSTEM, nb_root_open(nb_test_in(base, "root/plain.txt"), NB_SYMLINKS_INSIDE, &root));
    assert_int_equal(ENOTDIR, errno);
    assert_null(root);
    assert_status(NB_OK, nb_root_open(nb_test_in(base, "current"), NB_SYMLINKS_INSIDE, &root));
    assert_string_equal(nb_test_in(base, "current"), root->path);
    assert_string_equal(nb_test_in(base, "root"), root->real);
    assert_status(NB_OK, nb_root_check(root));
    nb_test_delete(base, "current");
    assert_status(NB_SYSTEM, nb_root_check(root));
    assert_int_equal(ENOENT, errno);
    nb_test_link(base, "current", "outside");
    assert_status(NB_NOT_FOUND, nb_root_check(root));
    nb_test_delete(base, "current");
    nb_test_link(base, "current", "root");
    assert_status(NB_OK, nb_root_check(root));
    assert_ptr_equal(root, nb_root_hold(root));
    nb_root_release(root);
    nb_root_release(root);
    nb_root_release(NULL);
}

static void the_whole_tree_may_be_a_root(void **state) {
    (void)state;
    nb_root *root;
    nb_file_facts facts;
    int fd;
    assert_status(NB_OK, nb_root_open("/", NB_SYMLINKS_INSIDE, &root));
    for (size_t i = 0; i < COUNT(ways); i++) {
        if (ways[i] > nb_openat2_probe()) continue;
        way = ways[i];
        assert_status(NB_OK, nb_open_beneath(root, nb_test_in(base, "root/absolute") + 1, false, &fd, &facts));
        close(fd);
        assert_status(NB_OK, nb_open_beneath(root, nb_test_in(base, "root/above_all") + 1, false, &fd, &facts));
        close(fd);
    }
    nb_root_release(root);
}

static void without_memory_there_is_no_root(void **state) {
    (void)state;
    unsigned before = nb_test_descriptors();
    long live = nb_alloc_live();
    nb_root *root = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_root_open(base, NB_SYMLINKS_INSIDE, &root));
    nb_alloc_fail_at(0);
    assert_null(root);
    assert_int_equal(before, nb_test_descriptors());
    assert_int_equal(live, nb_alloc_live());
}

static void facts_tell_what_was_changed(void **state) {
    (void)state;
    nb_root *root = open_root(NB_SYMLINKS_INSIDE);
    nb_file_facts first, second;
    assert_status(NB_OK, nb_stat_beneath(root, "plain.txt", &first));
    assert_status(NB_OK, nb_stat_beneath(root, "plain.txt", &second));
    assert_true(nb_file_facts_equal(&first, &second));
    nb_test_set_time(base, "root/plain.txt", first.modified_ns - 5);
    assert_status(NB_OK, nb_stat_beneath(root, "plain.txt", &second));
    assert_false(nb_file_facts_equal(&first, &second));
    assert_int_equal(first.modified_ns - 5, second.modified_ns);
    assert_status(NB_SYSTEM, nb_stat_beneath(root, "sub", &second));
    assert_int_equal(EISDIR, errno);
    assert_status(NB_SYSTEM, nb_stat_beneath(root, "", &second));
    assert_int_equal(EISDIR, errno);
    assert_status(NB_SYSTEM, nb_stat_beneath(root, "fifo", &second));
    assert_int_equal(ENXIO, errno);
    assert_status(NB_SYSTEM, nb_stat_beneath(root, "missing", &second));
    assert_int_equal(ENOENT, errno);
    assert_status(NB_SYSTEM, nb_file_facts_read(-1, &second));
    assert_int_equal(EBADF, errno);
    nb_root_release(root);
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_followed_as_the_policy_says),
        cmocka_unit_test(a_link_of_another_owner_than_its_end_is_refused_under_owner),
        cmocka_unit_test(what_needs_no_disk_is_answered_at_once),
        cmocka_unit_test(what_was_just_open_needs_no_disk),
        cmocka_unit_test(an_openat2_that_is_disturbed_is_asked_again_and_then_replaced),
        cmocka_unit_test(what_may_not_be_read_is_told_apart),
        cmocka_unit_test(no_descriptor_is_said),
        cmocka_unit_test(renames_beside_us_lead_nobody_outside),
        cmocka_unit_test(a_root_is_known_by_its_folder),
        cmocka_unit_test(the_whole_tree_may_be_a_root),
        cmocka_unit_test(without_memory_there_is_no_root),
        cmocka_unit_test(facts_tell_what_was_changed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
