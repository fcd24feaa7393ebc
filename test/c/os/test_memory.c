/*
 * test_memory.c - os/memory.c: the reserve of address space under a limit of it.
 */
#include "support/test.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/memory.h"

enum { MB = 1 << 20, RESERVE = 32 * MB, BLOCK = 24 * MB };

/* The first number of proc(5)'s statm is pages of address space. */
static bool limit_to_what_is_there(void) {
    char line[128];
    if (!nb_file_read_text("/proc/self/statm", line, sizeof(line))) return false;
    rlim_t bytes = strtoull(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
    const struct rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static bool reserve_is_what_is_left(void) {
    if (!nb_memory_keep_reserve(RESERVE) || !nb_memory_keep_reserve(RESERVE) || !nb_memory_has_room(BLOCK))
        return false;
    if (!limit_to_what_is_there() || nb_memory_has_room(BLOCK)) return false;
    nb_memory_use_reserve();
    if (!nb_memory_has_room(BLOCK)) return false;
    nb_memory_use_reserve();
    return nb_memory_has_room(BLOCK);
}

/* In a process of its own: a limit cannot be raised again. */
static void under_a_limit_the_reserve_is_what_is_left(void **state) {
    (void)state;
    if (access("/proc/self/statm", R_OK) != 0) {
        print_message("needs proc(5)\n");
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(reserve_is_what_is_left() ? 0 : 1);
    int status = 0;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
}

static void what_is_resident_is_told(void **state) {
    (void)state;
    uint64_t before = nb_memory_resident_bytes();
    char *block = malloc(RESERVE);
    assert_non_null(block);
    for (size_t i = 0; i < RESERVE; i += 4096)
        block[i] = 1;
    assert_true(nb_memory_resident_bytes() >= before + BLOCK);
    free(block);
}

int main(void) {
    nb_test_alarm(20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(under_a_limit_the_reserve_is_what_is_left),
        cmocka_unit_test(what_is_resident_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
