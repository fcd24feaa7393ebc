/*
 * test_shared_memory.c - memory of two processes: seen by both, sealed, gone with its last user.
 * Includes its .c for the named form, which this system does not need.
 */
#include "os/shared_memory.c"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "support/leaks.h"
#include "support/test.h"

static int same_fd(const nb_shared_memory *memory) {
    int fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 3);
    assert_true(fd >= 0);
    return fd;
}

static void two_mappings_are_one_memory_zeroed_at_first(void **state) {
    (void)state;
    unsigned descriptors = nb_test_descriptors();
    nb_shared_memory ours, theirs;
    assert_status(NB_OK, nb_shared_memory_create(100000, &ours));
    assert_int_equal(0, (uintptr_t)ours.address % 4096);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(0, ((char *)ours.address)[i]);
    assert_true(fcntl(ours.fd, F_GETFD) & FD_CLOEXEC);
    assert_status(NB_OK, nb_shared_memory_attach(same_fd(&ours), 100000, &theirs));
    nb_shared_memory_close_fd(&ours);
    nb_shared_memory_close_fd(&ours);
    nb_shared_memory_close_fd(&theirs);
    strcpy(ours.address, "seen");
    assert_string_equal("seen", theirs.address);
    nb_shared_memory_destroy(&ours);
    strcpy(theirs.address, "still there");
    nb_shared_memory_destroy(&theirs);
    nb_shared_memory_destroy(&theirs);
    assert_int_equal(descriptors, nb_test_descriptors());
}

static void a_child_writes_what_its_parent_reads(void **state) {
    (void)state;
    nb_shared_memory memory;
    assert_status(NB_OK, nb_shared_memory_create(4096, &memory));
    pid_t child = fork();
    if (child == 0) {
        nb_shared_memory mine;
        if (nb_shared_memory_attach(memory.fd, 4096, &mine) != NB_OK) _exit(1);
        strcpy(mine.address, "from the child");
        _exit(0);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_string_equal("from the child", memory.address);
    nb_shared_memory_destroy(&memory);
}

static void nobody_can_take_its_pages_away(void **state) {
    (void)state;
#if defined(__linux__)
    nb_shared_memory memory;
    assert_status(NB_OK, nb_shared_memory_create(8192, &memory));
    assert_int_equal(-1, ftruncate(memory.fd, 4096));
    assert_int_equal(EPERM, errno);
    assert_int_equal(-1, ftruncate(memory.fd, 16384));
    assert_int_equal(-1, fcntl(memory.fd, F_ADD_SEALS, F_SEAL_WRITE));
    nb_shared_memory_destroy(&memory);
#else
    skip();
#endif
}

static void one_that_is_too_small_or_no_memory_at_all_is_refused(void **state) {
    (void)state;
    unsigned descriptors = nb_test_descriptors();
    nb_shared_memory ours, theirs;
    assert_status(NB_OK, nb_shared_memory_create(4096, &ours));
    assert_status(NB_INVALID, nb_shared_memory_attach(ours.fd, 4097, &theirs));
    assert_null(theirs.address);
    int ends[2];
    assert_int_equal(0, pipe(ends));
    assert_status(NB_INVALID, nb_shared_memory_attach(ends[0], 4096, &theirs));
    close(ends[0]);
    close(ends[1]);
    assert_status(NB_SYSTEM, nb_shared_memory_attach(ends[0], 4096, &theirs));
    assert_int_equal(EBADF, errno);
    nb_shared_memory_destroy(&ours);
    assert_int_equal(descriptors, nb_test_descriptors());
}

static void without_a_descriptor_or_memory_nothing_is_left(void **state) {
    (void)state;
    unsigned descriptors = nb_test_descriptors();
    nb_shared_memory memory;
    struct rlimit before, none;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &none));
    nb_status status = nb_shared_memory_create(4096, &memory);
    int error = errno;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
    assert_status(NB_SYSTEM, status);
    assert_int_equal(EMFILE, error);
    assert_int_equal(-1, memory.fd);
    assert_status(NB_SYSTEM, nb_shared_memory_create((size_t)1 << 60, &memory));
    assert_int_equal(-1, memory.fd);
    nb_shared_memory_destroy(&memory);
    assert_int_equal(descriptors, nb_test_descriptors());
}

/* Where there is no memfd: two at once are two, and no name is left. */
static void the_named_form_leaves_no_name(void **state) {
    (void)state;
    nb_shared_memory first = {.bytes = 4096}, second = {.bytes = 4096};
    char name[32];
    int taken;
    (void)snprintf(name, sizeof name, "/nb.%ld.0", (long)getpid());
    /* Left by a process of that number. */
    assert_true((taken = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600)) >= 0);
    assert_true((first.fd = create_named()) >= 0);
    assert_true((second.fd = create_named()) >= 0);
    assert_int_equal(0, ftruncate(first.fd, 4096));
    assert_int_equal(0, ftruncate(second.fd, 4096));
    assert_status(NB_OK, map(&first));
    assert_status(NB_OK, map(&second));
    strcpy(first.address, "first");
    assert_string_equal("", second.address);
    for (int i = 1; i < 3; i++) {
        (void)snprintf(name, sizeof name, "/nb.%ld.%d", (long)getpid(), i);
        assert_int_equal(-1, shm_unlink(name));
    }
    (void)snprintf(name, sizeof name, "/nb.%ld.0", (long)getpid());
    assert_int_equal(0, shm_unlink(name));
    close(taken);
    nb_shared_memory_destroy(&first);
    nb_shared_memory_destroy(&second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_mappings_are_one_memory_zeroed_at_first),
        cmocka_unit_test(a_child_writes_what_its_parent_reads),
        cmocka_unit_test(nobody_can_take_its_pages_away),
        cmocka_unit_test(one_that_is_too_small_or_no_memory_at_all_is_refused),
        cmocka_unit_test(without_a_descriptor_or_memory_nothing_is_left),
        cmocka_unit_test(the_named_form_leaves_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
