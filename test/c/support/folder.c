/*
 * folder.c - see folder.h.
 */
#include "support/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

void nb_test_folder_create(char path[NB_TEST_FOLDER_BYTES]) {
    char made[] = "/tmp/neverblock-test-XXXXXX", real[PATH_MAX];
    assert_non_null(mkdtemp(made));
    assert_int_equal(0, chmod(made, 0755));
    assert_non_null(realpath(made, real));
    assert_in_range(strlen(real), 1, NB_TEST_FOLDER_BYTES - 1);
    strcpy(path, real);
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *where) {
    (void)found, (void)kind, (void)where;
    return remove(path);
}

void nb_test_folder_remove(const char *path) { assert_int_equal(0, nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS)); }

const char *nb_test_in(const char *folder, const char *name) {
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    size_t folder_bytes = strlen(folder), name_bytes = strlen(name);
    assert_in_range(folder_bytes + name_bytes, 0, PATH_MAX - 2);
    memcpy(path, folder, folder_bytes);
    path[folder_bytes] = '/';
    memcpy(path + folder_bytes + 1, name, name_bytes + 1);
    return path;
}

void nb_test_make_folder(const char *folder, const char *name) {
    assert_int_equal(0, mkdir(nb_test_in(folder, name), 0755));
}

void nb_test_write(const char *folder, const char *name, const char *text) {
    int fd = open(nb_test_in(folder, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(strlen(text), write(fd, text, strlen(text)));
    close(fd);
}

void nb_test_replace(const char *folder, const char *name, const char *text) {
    nb_test_write(folder, ".new", text);
    assert_int_equal(0, rename(nb_test_in(folder, ".new"), nb_test_in(folder, name)));
}

void nb_test_link(const char *folder, const char *name, const char *text) {
    assert_int_equal(0, symlink(text, nb_test_in(folder, name)));
}

void nb_test_delete(const char *folder, const char *name) { assert_int_equal(0, unlink(nb_test_in(folder, name))); }

void nb_test_set_time(const char *folder, const char *name, int64_t modified_ns) {
    const struct timespec time = {modified_ns / 1000000000, modified_ns % 1000000000};
    const struct timespec times[] = {time, time};
    assert_int_equal(0, utimensat(AT_FDCWD, nb_test_in(folder, name), times, AT_SYMLINK_NOFOLLOW));
}

static struct rlimit usual;

void nb_test_descriptors_exhaust(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &usual));
    const struct rlimit none = {(rlim_t)fd, usual.rlim_max}; /* the lowest free one is beyond it */
    close(fd);
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &none));
}

void nb_test_descriptors_free(void) { assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &usual)); }
