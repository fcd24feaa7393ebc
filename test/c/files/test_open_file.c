/*
 * test_open_file.c - an open file is closed by its last holder, on any thread.
 */
#include "files/open_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/test.h"

enum { THREADS = 4, TURNS = 20000 };

static int open_null(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static void the_last_holder_closes_it(void **state) {
    (void)state;
    long live = nb_alloc_live();
    int fd = open_null();
    nb_file *file;
    assert_status(NB_OK, nb_file_wrap(fd, &file));
    assert_ptr_equal(file, nb_file_hold(file));
    nb_file_release(file);
    assert_true(is_open(fd));
    nb_file_release(file);
    assert_false(is_open(fd));
    assert_int_equal(live, nb_alloc_live());
    nb_file_release(NULL);
}

static void without_memory_the_descriptor_is_closed(void **state) {
    (void)state;
    int fd = open_null();
    nb_file *file = NULL;
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_file_wrap(fd, &file));
    nb_alloc_fail_at(0);
    assert_null(file);
    assert_false(is_open(fd));
}

static void *hold_and_release(void *pointer) {
    nb_file *file = pointer;
    for (int i = 0; i < TURNS; i++)
        nb_file_release(nb_file_hold(file));
    nb_file_release(file);
    return NULL;
}

static void threads_may_hold_it_and_let_go_together(void **state) {
    (void)state;
    long live = nb_alloc_live();
    int fd = open_null();
    nb_file *file;
    pthread_t threads[THREADS];
    assert_status(NB_OK, nb_file_wrap(fd, &file));
    for (int i = 0; i < THREADS; i++)
        threads[i] = nb_test_thread(hold_and_release, nb_file_hold(file));
    nb_file_release(file);
    for (int i = 0; i < THREADS; i++)
        nb_test_join(threads[i]);
    assert_false(is_open(fd));
    assert_int_equal(live, nb_alloc_live());
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_holder_closes_it),
        cmocka_unit_test(without_memory_the_descriptor_is_closed),
        cmocka_unit_test(threads_may_hold_it_and_let_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
