/*
 * test_descriptors.c - how many descriptors there may be, which comes next, and what one is of.
 */
#include "os/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/leaks.h"
#include "support/test.h"

static void the_most_are_what_the_process_may_have(void **state) {
    (void)state;
    struct rlimit limit;
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
    assert_int_equal(limit.rlim_cur, nb_os_descriptors_max());
}

static void the_next_is_the_lowest_that_is_free(void **state) {
    (void)state;
    unsigned open_before = nb_test_descriptors();
    int next = nb_os_descriptors_next(0), first = open("/dev/null", O_RDONLY | O_CLOEXEC),
        second = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(next, first);
    close(first);
    assert_int_equal(first, nb_os_descriptors_next(0));
    close(second);
    assert_int_equal(open_before, nb_test_descriptors());
}

static void there_may_be_none(void **state) {
    (void)state;
    nb_test_descriptors_exhaust();
    int next = nb_os_descriptors_next(0);
    nb_test_descriptors_free();
    assert_int_equal(INT_MAX, next);
}

static void a_file_is_known_by_its_descriptor(void **state) {
    (void)state;
    char found[64];
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(9, nb_os_descriptor_path(fd, found, sizeof found));
    assert_memory_equal("/dev/null", found, 9);
    assert_int_equal(4, nb_os_descriptor_path(fd, found, 4));
    close(fd);
    assert_int_equal(0, nb_os_descriptor_path(fd, found, sizeof found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_are_what_the_process_may_have),
        cmocka_unit_test(the_next_is_the_lowest_that_is_free),
        cmocka_unit_test(there_may_be_none),
        cmocka_unit_test(a_file_is_known_by_its_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
