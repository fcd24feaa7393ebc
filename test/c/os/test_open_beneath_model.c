/*
 * test_open_beneath_model.c - random folders full of random links, and random paths in them: the
 * kernel follows every link, and /proc tells where the file it opened lies. Under :inside exactly
 * those inside may be opened, under :owner (all is ours) all of them, by openat2 and by the walk.
 */
#include "os/openat2.h"

static nb_openat2_answer test_probe(void);
#define nb_openat2_probe test_probe
#include "os/open_beneath.c"
#undef nb_openat2_probe

#include <stdio.h>

#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

enum { TREES = 100, LINKS = 12, PATHS = 60, TEXT_BYTES = 512 };

static nb_openat2_answer way;
static nb_openat2_answer test_probe(void) { return way; }

static char base[NB_TEST_FOLDER_BYTES];
static nb_test_random source = {8};

static const char *pick(const char *const names[], size_t count) { return names[nb_test_random_below(&source, count)]; }

/* One to four names. Of links also what leads up and out. */
static void random_path(char text[TEXT_BYTES], bool of_link) {
    static const char *const plain[] = {"a", "b", "f", "l0", "l1", "l2", "l3", "l4", "l5"};
    static const char *const all[] = {"a",  "b",  "f",  "l0", "l1", "l2", "l3",   "l4",   "l5", "..",
                                      "..", "..", "..", ".",  "",   "o",  "root", "root", "f/", "none"};
    static const char *const starts[] = {"", "", "", "", "/", "/root/", "/root/a/", "/o/"};
    text[0] = '\0';
    const char *start = of_link ? pick(starts, sizeof starts / sizeof *starts) : "";
    if (start[0] == '/') snprintf(text, TEXT_BYTES, "%s%s", base, start);
    for (uint64_t i = 1 + nb_test_random_below(&source, 4); i > 0; i--) {
        size_t size = strlen(text);
        const char *name = of_link ? pick(all, sizeof all / sizeof *all) : pick(plain, sizeof plain / sizeof *plain);
        snprintf(text + size, TEXT_BYTES - size, "%s%s", size > 0 && text[size - 1] != '/' ? "/" : "", name);
    }
    if (text[0] == '\0' || (text[0] == '/' && start[0] != '/')) strcpy(text, "f");
}

static void make_tree(void) {
    static const char *const folders[] = {"root", "root/a", "root/a/b", "root/b", "root/b/a", "o", "o/a", "o/b"};
    char place[64], text[TEXT_BYTES];
    nb_test_folder_create(base);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        nb_test_make_folder(base, folders[i]);
        snprintf(place, sizeof place, "%s/f", folders[i]);
        nb_test_write(base, place, folders[i]);
    }
    for (int i = 0; i < LINKS; i++) {
        random_path(text, true);
        snprintf(place, sizeof place, "%s/l%d", pick(folders, sizeof folders / sizeof *folders), i % 6);
        if (symlink(text, nb_test_in(base, place)) < 0) assert_int_equal(EEXIST, errno);
    }
}

/* What the kernel comes to when it follows all: an errno, or 0 with the file's number and whether
   it lies in the root. */
static int kernel_says(const nb_root *root, const char *path, ino_t *number, bool *inside) {
    char link[64], place[PATH_MAX];
    struct stat found;
    *inside = false;
    int fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    assert_int_equal(0, fstat(fd, &found));
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, place, sizeof place - 1);
    close(fd);
    assert_true(bytes > 0);
    place[bytes] = '\0';
    *number = found.st_ino;
    *inside = strncmp(place, root->real, root->real_bytes) == 0 &&
              (place[root->real_bytes] == '/' || !place[root->real_bytes]);
    return S_ISDIR(found.st_mode) ? EISDIR : 0;
}

static void check_path(const nb_root *root, const char *path, unsigned outcomes[3]) {
    ino_t number = 0;
    bool inside;
    nb_file_facts facts = {0};
    int fd = -1, error = kernel_says(root, path, &number, &inside);
    nb_status status = nb_open_beneath(root, path, false, &fd, &facts);
    int seen = status == NB_OK ? 0 : errno;
    if (fd >= 0) close(fd);
    bool refused = seen == EXDEV && !inside && root->symlinks == NB_SYMLINKS_INSIDE;
    bool allowed = seen == error && (inside || root->symlinks != NB_SYMLINKS_INSIDE || (error != 0 && error != EISDIR));
    if (!refused && !allowed) {
        print_message("%s: %d, the kernel says %d and it lies %s; way %d, policy %d\n", path, seen, error,
                      inside ? "inside" : "outside", way, root->symlinks);
        assert_int_equal(0, chdir(base));
        assert_int_equal(0, system("ls -lR"));
        fail();
    }
    if (seen == 0) assert_int_equal(number, facts.inode);
    outcomes[seen == 0 ? 0 : refused ? 1 : 2]++;
}

static void every_path_ends_where_the_kernel_says(void **state) {
    (void)state;
    static const nb_openat2_answer ways[] = {NB_OPENAT2_KNOWS_CACHED, NB_OPENAT2_ABSENT};
    static const nb_symlinks policies[] = {NB_SYMLINKS_INSIDE, NB_SYMLINKS_OWNER};
    unsigned outcomes[3] = {0}, descriptors = nb_test_descriptors();
    for (int tree = 0; tree < TREES; tree++) {
        make_tree();
        for (int i = 0; i < PATHS; i++) {
            char path[TEXT_BYTES];
            random_path(path, false);
            for (int j = 0; j < 4; j++) {
                nb_root *root;
                way = ways[j / 2];
                if (way > nb_openat2_probe()) continue;
                if (policies[j % 2] == NB_SYMLINKS_OWNER && geteuid() != 0)
                    continue; /* links may pass by folders of others */
                assert_status(NB_OK, nb_root_open(nb_test_in(base, "root"), policies[j % 2], &root));
                check_path(root, path, outcomes);
                nb_root_release(root);
            }
        }
        nb_test_folder_remove(base);
    }
    print_message("opened %u, refused %u, none %u\n", outcomes[0], outcomes[1], outcomes[2]);
    for (int i = 0; i < 3; i++)
        assert_in_range(outcomes[i], 100, TREES * PATHS * 4);
    assert_int_equal(descriptors, nb_test_descriptors());
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_path_ends_where_the_kernel_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
