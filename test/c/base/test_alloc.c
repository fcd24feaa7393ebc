/*
 * test_alloc.c - the counting and failing heap that every other test relies on.
 */
#include "support/test.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

static void blocks_are_counted_until_freed(void **state) {
    (void)state;
    long before = nb_alloc_live();
    void *plain = nb_alloc(10), *zero = nb_alloc_zero(3, 4), *grown = nb_realloc(NULL, 5);
    assert_int_equal(before + 3, nb_alloc_live());
    grown = nb_realloc(grown, 5000);
    assert_int_equal(before + 3, nb_alloc_live());
    grown = nb_realloc(grown, 0);
    assert_non_null(grown);
    assert_int_equal(before + 3, nb_alloc_live());
    nb_free(plain);
    nb_free(zero);
    nb_free(grown);
    nb_free(NULL);
    assert_int_equal(before, nb_alloc_live());
}

static void zeroed_blocks_are_zero_and_reallocated_ones_keep_their_bytes(void **state) {
    (void)state;
    static const char zeros[64];
    char *block = nb_alloc_zero(8, 8);
    assert_memory_equal(zeros, block, 64);
    memset(block, 7, 64);
    block = nb_realloc(block, 100000);
    for (int i = 0; i < 64; i++)
        assert_int_equal(7, block[i]);
    nb_free(block);
}

/* The sanitizers' heaps end the process otherwise. */
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static const size_t huge = SIZE_MAX / 4; /* more than any address space */

static int times_asked;

static void count_asked(void) { times_asked++; }

static void a_block_that_the_system_refuses_is_asked_for_once_more_when_told(void **state) {
    (void)state;
    long before = nb_alloc_live();
    char *block = nb_alloc(4);
    memcpy(block, "abc", 4);
    nb_alloc_on_refusal(count_asked);
    assert_null(nb_alloc(huge));
    assert_null(nb_alloc_zero(1, huge));
    assert_null(nb_realloc(block, huge));
    assert_int_equal(3, times_asked);
    nb_alloc_on_refusal(NULL);
    assert_null(nb_alloc(huge));
    assert_int_equal(3, times_asked);
    assert_string_equal("abc", block);
    nb_free(block);
    assert_int_equal(before, nb_alloc_live());
}

static void *allocate(unsigned kind) {
    if (kind == 0) return nb_alloc(8);
    return kind == 1 ? nb_alloc_zero(1, 8) : nb_realloc(NULL, 8);
}

static void only_the_nth_allocation_fails_whatever_its_kind(void **state) {
    (void)state;
    long before = nb_alloc_live();
    for (unsigned kind = 0; kind < 3; kind++) {
        for (unsigned long n = 1; n <= 5; n++) {
            nb_alloc_fail_at(n);
            for (unsigned long i = 1; i <= 6; i++) {
                void *block = allocate(kind);
                assert_int_equal(i == n, block == NULL);
                nb_free(block);
            }
        }
    }
    assert_int_equal(before, nb_alloc_live());
}

static void a_failed_reallocation_leaves_the_block(void **state) {
    (void)state;
    char *block = nb_alloc(4);
    memcpy(block, "abc", 4);
    nb_alloc_fail_at(1);
    assert_null(nb_realloc(block, 400));
    assert_string_equal("abc", block);
    nb_free(block);
}

static void failing_can_be_turned_off(void **state) {
    (void)state;
    nb_alloc_fail_at(1);
    nb_alloc_fail_at(0);
    void *block = nb_alloc(1);
    assert_non_null(block);
    nb_free(block);
}

static _Atomic int failures;

static void *allocate_often(void *unused) {
    for (int i = 0; i < 1000; i++) {
        void *block = nb_alloc(16);
        if (block == NULL) atomic_fetch_add(&failures, 1);
        nb_free(block);
    }
    return unused;
}

static void among_threads_exactly_one_allocation_fails_and_none_is_lost_count_of(void **state) {
    (void)state;
    long before = nb_alloc_live();
    pthread_t threads[4];
    nb_alloc_fail_at(2000);
    for (int i = 0; i < 4; i++)
        threads[i] = nb_test_thread(allocate_often, NULL);
    for (int i = 0; i < 4; i++)
        nb_test_join(threads[i]);
    assert_int_equal(1, atomic_load(&failures));
    assert_int_equal(before, nb_alloc_live());
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_counted_until_freed),
        cmocka_unit_test(zeroed_blocks_are_zero_and_reallocated_ones_keep_their_bytes),
        cmocka_unit_test(only_the_nth_allocation_fails_whatever_its_kind),
        cmocka_unit_test(a_failed_reallocation_leaves_the_block),
        cmocka_unit_test(failing_can_be_turned_off),
        cmocka_unit_test(a_block_that_the_system_refuses_is_asked_for_once_more_when_told),
        cmocka_unit_test(among_threads_exactly_one_allocation_fails_and_none_is_lost_count_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
