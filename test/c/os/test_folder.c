/*
 * test_folder.c - the names in a folder, and the mark that moves with them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static long fake_type; /* 0: what it is */

static int test_fstatfs(int fd, struct statfs *found) {
    int result = fstatfs(fd, found);
    if (fake_type) found->f_type = (__typeof__(found->f_type))fake_type;
    return fake_type == -1 ? -1 : result;
}

#define fstatfs test_fstatfs
#include "os/folder.c"
#undef fstatfs

#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

#define TMPFS 0x01021994
#define NFS 0x6969

static char base[NB_TEST_FOLDER_BYTES];
static unsigned descriptors;
static char seen[4096];
static int most;

static int set_up(void **state) {
    (void)state;
    nb_test_folder_create(base);
    descriptors = nb_test_descriptors();
    seen[0] = '\0';
    most = 100;
    fake_type = TMPFS;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(descriptors, nb_test_descriptors());
    nb_test_folder_remove(base);
    return 0;
}

static bool take(void *argument, const char *name) {
    strcat(strcat(argument, name), "|");
    return --most > 0;
}

static nb_status list(void) {
    int fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    nb_status status = nb_folder_list(fd, take, seen);
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

static nb_folder_mark mark(void) {
    nb_folder_mark found;
    int fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_status(NB_OK, nb_folder_mark_read(fd, &found));
    close(fd);
    return found;
}

static void every_name_is_told(void **state) {
    (void)state;
    nb_test_write(base, "a.txt", "");
    nb_test_make_folder(base, ".b");
    nb_test_link(base, "c", "nowhere");
    assert_status(NB_OK, list());
    assert_non_null(strstr(seen, "a.txt|"));
    assert_non_null(strstr(seen, ".b|"));
    assert_non_null(strstr(seen, "c|"));
    assert_int_equal(strlen("a.txt|.b|c|.|..|"), strlen(seen));
}

static void it_ends_when_the_caller_has_enough(void **state) {
    (void)state;
    most = 1;
    assert_status(NB_FULL, list());
}

static void a_file_system_that_is_not_known_is_not_listed(void **state) {
    (void)state;
    fake_type = NFS;
    assert_status(NB_UNSUPPORTED, list());
    fake_type = -1;
    assert_status(NB_UNSUPPORTED, list());
    assert_string_equal("", seen);
}

static void a_folder_that_is_none_any_more_is_an_error(void **state) {
    (void)state;
    assert_status(NB_SYSTEM, nb_folder_list(-1, take, seen));
    assert_int_equal(EBADF, errno);
    nb_folder_mark found;
    assert_status(NB_SYSTEM, nb_folder_mark_read(-1, &found));
}

/* Waits for the file system's clock to move on, as long as it takes: it counts in ticks. */
static void await_another_mark(nb_folder_mark before, void change(void)) {
    nb_folder_mark now;
    do {
        change();
        now = mark();
    } while (nb_folder_mark_equal(&before, &now));
}

static void create(void) {
    nb_test_write(base, "new", "");
    nb_test_delete(base, "new");
}

static void a_name_that_comes_or_goes_moves_the_mark_and_nothing_puts_it_back(void **state) {
    (void)state;
    nb_folder_mark first = mark(), same = mark();
    assert_true(nb_folder_mark_equal(&first, &same));
    await_another_mark(first, create);
    const struct timespec times[2] = {{0, UTIME_OMIT},
                                      {first.modified_ns / 1000000000, first.modified_ns % 1000000000}};
    assert_int_equal(0, utimensat(AT_FDCWD, base, times, 0));
    nb_folder_mark again = mark();
    assert_int_equal(first.modified_ns, again.modified_ns);
    assert_false(nb_folder_mark_equal(&first, &again));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_name_is_told),
        CASE(it_ends_when_the_caller_has_enough),
        CASE(a_file_system_that_is_not_known_is_not_listed),
        CASE(a_folder_that_is_none_any_more_is_an_error),
        CASE(a_name_that_comes_or_goes_moves_the_mark_and_nothing_puts_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
