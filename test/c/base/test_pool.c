/*
 * test_pool.c - the free list of I/O blocks: last in, first out, bounded.
 */
#include "base/pool.h"

#include <string.h>

#include "base/alloc.h"
#include "support/test.h"

static void the_block_given_back_last_is_taken_first(void **state) {
    (void)state;
    nb_pool pool;
    nb_pool_init(&pool);
    void *first = nb_pool_take(&pool), *second = nb_pool_take(&pool);
    memset(first, 1, NB_READ_BUFFER_BYTES); /* ASan sees whether they are that large */
    memset(second, 2, NB_READ_BUFFER_BYTES);
    nb_pool_give(&pool, first);
    nb_pool_give(&pool, second);
    assert_int_equal(2, pool.kept);
    assert_ptr_equal(second, nb_pool_take(&pool));
    assert_ptr_equal(first, nb_pool_take(&pool));
    assert_int_equal(0, pool.kept);
    nb_pool_give(&pool, first);
    nb_pool_give(&pool, second);
    nb_pool_give(&pool, NULL);
    nb_pool_deinit(&pool);
}

static void no_more_than_its_bound_is_kept(void **state) {
    (void)state;
    void *blocks[NB_POOL_KEPT_MAX + 10];
    long before = nb_alloc_live();
    nb_pool pool;
    nb_pool_init(&pool);
    for (size_t i = 0; i < NB_POOL_KEPT_MAX + 10; i++)
        blocks[i] = nb_pool_take(&pool);
    for (size_t i = 0; i < NB_POOL_KEPT_MAX + 10; i++)
        nb_pool_give(&pool, blocks[i]);
    assert_int_equal(NB_POOL_KEPT_MAX, pool.kept);
    assert_int_equal(before + NB_POOL_KEPT_MAX, nb_alloc_live());
    nb_pool_deinit(&pool);
    assert_int_equal(before, nb_alloc_live());
}

static void a_trim_keeps_few_and_forgets_what_went_to_the_heap(void **state) {
    (void)state;
    void *blocks[NB_POOL_KEPT_MAX + 10];
    long before = nb_alloc_live();
    nb_pool pool;
    nb_pool_init(&pool);
    for (size_t i = 0; i < NB_POOL_KEPT_MAX + 10; i++)
        blocks[i] = nb_pool_take(&pool);
    for (size_t i = 0; i < NB_POOL_KEPT_MAX; i++)
        nb_pool_give(&pool, blocks[i]);
    assert_int_equal(0, pool.returned);
    for (size_t i = NB_POOL_KEPT_MAX; i < NB_POOL_KEPT_MAX + 10; i++)
        nb_pool_give(&pool, blocks[i]);
    assert_int_equal(10, pool.returned);
    nb_pool_trim(&pool);
    assert_int_equal(0, pool.returned);
    assert_int_equal(NB_POOL_KEPT_TRIMMED, pool.kept);
    assert_int_equal(before + NB_POOL_KEPT_TRIMMED, nb_alloc_live());
    nb_pool_trim(&pool);
    assert_int_equal(NB_POOL_KEPT_TRIMMED, pool.kept);
    nb_pool_deinit(&pool);
    assert_int_equal(before, nb_alloc_live());
}

static void without_memory_there_is_no_block_unless_one_is_kept(void **state) {
    (void)state;
    nb_pool pool;
    nb_pool_init(&pool);
    nb_alloc_fail_at(1);
    assert_null(nb_pool_take(&pool));
    void *block = nb_pool_take(&pool);
    nb_pool_give(&pool, block);
    nb_alloc_fail_at(1);
    assert_ptr_equal(block, nb_pool_take(&pool));
    nb_alloc_fail_at(0);
    nb_pool_give(&pool, block);
    nb_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_given_back_last_is_taken_first),
        cmocka_unit_test(no_more_than_its_bound_is_kept),
        cmocka_unit_test(a_trim_keeps_few_and_forgets_what_went_to_the_heap),
        cmocka_unit_test(without_memory_there_is_no_block_unless_one_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
