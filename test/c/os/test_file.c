/*
 * test_file.c - temporary files that have no name, and writes that are whole or failed. Includes
 * its .c to try the way of file systems without O_TMPFILE.
 */
#include "os/file.c"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/test.h"

static unsigned entries(const char *path) {
    unsigned count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

static void check_temporary(nb_status make(const char *, int *), const char *directory) {
    int fd;
    struct stat found;
    char bytes[6];
    unsigned before = entries(directory);
    assert_status(NB_OK, make(directory, &fd));
    assert_int_equal(before, entries(directory));
    assert_int_equal(0, fstat(fd, &found));
    assert_int_equal(0, found.st_nlink);
    assert_int_equal(0600, found.st_mode & 07777);
    assert_int_equal(0, found.st_size);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_status(NB_OK, nb_file_write_all(fd, "hello ", 6));
    assert_status(NB_OK, nb_file_write_all(fd, "", 0));
    assert_int_equal(6, pread(fd, bytes, 6, 0));
    assert_memory_equal("hello ", bytes, 6);
    close(fd);
}

static void a_temporary_file_has_no_name_and_is_ours_alone(void **state) {
    (void)state;
    char directory[] = "/tmp/neverblock-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    mode_t before = umask(0);
    check_temporary(nb_file_temporary, directory);
    check_temporary(named_then_unlinked, directory);
    umask(before);
    rmdir(directory);
    if (access("/dev/shm", W_OK) == 0) check_temporary(nb_file_temporary, "/dev/shm");
}

static void a_directory_that_is_none_is_an_error(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int error;
    } rows[] = {{"/nonexistent", ENOENT}, {"/dev/null", ENOTDIR}};
    for (size_t i = 0; i < 2; i++) {
        int fd = 77;
        assert_status(NB_SYSTEM, nb_file_temporary(rows[i].path, &fd));
        assert_int_equal(rows[i].error, errno);
        assert_int_equal(77, fd);
    }
    char *path = malloc(10000);
    int fd = 77;
    memset(path, 'x', 9999);
    path[9999] = '\0';
    assert_status(NB_SYSTEM, nb_file_temporary(path, &fd));
    assert_int_equal(ENAMETOOLONG, errno);
    free(path);
}

static void a_full_disk_is_an_error(void **state) {
    (void)state;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0) skip();
    assert_status(NB_SYSTEM, nb_file_write_all(fd, "hello", 5));
    assert_int_equal(ENOSPC, errno);
    close(fd);
}

/* RLIMIT_FSIZE lets the first write(2) be short and fails the second: both must be seen. */
static void a_write_that_stops_halfway_is_an_error(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd;
        const struct rlimit small = {1000, 1000};
        signal(SIGXFSZ, SIG_IGN);
        char *bytes = calloc(1, 5000);
        if (nb_file_temporary("/tmp", &fd) != NB_OK || setrlimit(RLIMIT_FSIZE, &small) < 0) _exit(2);
        nb_status status = nb_file_write_all(fd, bytes, 5000);
        free(bytes);
        _exit(status == NB_SYSTEM && errno == EFBIG ? 0 : 1);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

static void a_pipe_takes_all_of_a_large_write(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(0, pipe(ends));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        size_t total = 0;
        char block[333];
        close(ends[1]);
        for (ssize_t got; (got = read(ends[0], block, sizeof block)) > 0;)
            total += (size_t)got;
        _exit(total == 1000000 ? 0 : 1);
    }
    close(ends[0]);
    char *bytes = calloc(1, 1000000);
    assert_status(NB_OK, nb_file_write_all(ends[1], bytes, 1000000));
    close(ends[1]);
    free(bytes);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_temporary_file_has_no_name_and_is_ours_alone),
        cmocka_unit_test(a_directory_that_is_none_is_an_error),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_write_that_stops_halfway_is_an_error),
        cmocka_unit_test(a_pipe_takes_all_of_a_large_write),
    };
    nb_test_alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
