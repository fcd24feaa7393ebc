/*
 * test_memory.c - os/memory.c: the reserve of address space under a limit of it.
 */
#include "support/test.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/file.h"
#include "os/memory.h"

enum { MB = 1 << 20, RESERVE = 32 * MB, BLOCK = 24 * MB };

/* The first number of proc(5)'s statm is pages of address space. 0: it cannot be read. */
static rlim_t address_space(void) {
    char line[128];
    if (!nb_file_read_text("/proc/self/statm", line, sizeof(line))) return 0;
    return strtoull(line, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static bool limit_to_what_is_there(void) {
    const struct rlimit limit = {address_space(), address_space()};
    return limit.rlim_cur > 0 && setrlimit(RLIMIT_AS, &limit) == 0;
}

/* The sanitizers' heaps end the process otherwise. */
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static bool reserve_is_what_is_left(void) {
    if (!nb_memory_keep_reserve(RESERVE) || !nb_memory_keep_reserve(RESERVE) || !nb_memory_has_room(BLOCK))
        return false;
    if (!limit_to_what_is_there() || nb_memory_has_room(BLOCK)) return false;
    nb_memory_use_reserve();
    if (!nb_memory_has_room(BLOCK)) return false;
    nb_memory_use_reserve();
    return nb_memory_has_room(BLOCK);
}

static bool a_refused_block_uses_the_reserve(void) {
    rlim_t before = address_space();
    if (!nb_memory_keep_reserve(RESERVE) || address_space() < before + BLOCK) return false;
    return !nb_alloc(SIZE_MAX / 4) && address_space() < before + BLOCK;
}

/* In a process of its own: a limit cannot be raised again, and there is one reserve for a
   process. */
static void assert_in_a_child(bool (*holds)(void)) {
    if (access("/proc/self/statm", R_OK) != 0) {
        print_message("needs proc(5)\n");
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(holds() ? 0 : 1);
    int status = 0;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    assert_int_equal(0, WEXITSTATUS(status));
}

static void under_a_limit_the_reserve_is_what_is_left(void **state) {
    (void)state;
    assert_in_a_child(reserve_is_what_is_left);
}

static void a_refused_block_has_the_reserve_used(void **state) {
    (void)state;
    assert_in_a_child(a_refused_block_uses_the_reserve);
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
        cmocka_unit_test(a_refused_block_has_the_reserve_used),
        cmocka_unit_test(what_is_resident_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
