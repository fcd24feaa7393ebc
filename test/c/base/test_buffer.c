/*
 * test_buffer.c - the receive buffer: growth, moves, what it holds when empty, against a plain
 * string.
 */
#include "base/buffer.h"

#include <string.h>

#include "base/alloc.h"
#include "support/test.h"

static nb_pool pool;

static void put(nb_buffer *buffer, size_t capacity_max, const char *bytes, size_t size) {
    while (size > 0) {
        size_t room = 0;
        assert_status(NB_OK, nb_buffer_room(buffer, &pool, capacity_max, &room));
        assert_true(room > 0);
        size_t step = room < size ? room : size;
        memcpy(buffer->data + buffer->end, bytes, step);
        buffer->end += (uint32_t)step;
        bytes += step;
        size -= step;
    }
}

static void an_empty_buffer_holds_no_memory(void **state) {
    (void)state;
    long before = nb_alloc_live();
    nb_buffer buffer = {0};
    nb_buffer_release(&buffer, &pool);
    put(&buffer, 100000, "abc", 3);
    assert_int_equal(3, nb_buffer_size(&buffer));
    nb_buffer_consume(&buffer, &pool, 2);
    assert_memory_equal("c", nb_buffer_bytes(&buffer), 1);
    nb_buffer_consume(&buffer, &pool, 1);
    assert_null(buffer.data);
    assert_int_equal(0, nb_buffer_size(&buffer));
    nb_pool_deinit(&pool);
    assert_int_equal(before, nb_alloc_live());
}

static void it_grows_to_its_bound_and_no_further(void **state) {
    (void)state;
    static const size_t bounds[] = {NB_READ_BUFFER_BYTES, NB_READ_BUFFER_BYTES + 1, 2 * NB_READ_BUFFER_BYTES, 100000};
    static char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < 4; i++) {
        nb_buffer buffer = {0};
        size_t room;
        put(&buffer, bounds[i], bytes, bounds[i]);
        assert_int_equal(bounds[i], nb_buffer_size(&buffer));
        assert_memory_equal(bytes, nb_buffer_bytes(&buffer), bounds[i]);
        assert_status(NB_OVER_LIMIT, nb_buffer_room(&buffer, &pool, bounds[i], &room));
        nb_buffer_consume(&buffer, &pool, 10); /* room again, by a move */
        put(&buffer, bounds[i], bytes, 10);
        assert_memory_equal(bytes + 10, nb_buffer_bytes(&buffer), bounds[i] - 10);
        nb_buffer_release(&buffer, &pool);
    }
    nb_pool_deinit(&pool);
}

static void random_use_agrees_with_a_string(void **state) {
    (void)state;
    static char model[70000];
    size_t size = 0;
    unsigned char next = 0;
    nb_test_random random = {5};
    nb_buffer buffer = {0};
    for (int step = 0; step < 20000; step++) {
        char bytes[3000];
        size_t add = (size_t)nb_test_random_below(&random, sizeof bytes);
        if (size + add <= 66000 && nb_test_random_below(&random, 2)) {
            for (size_t i = 0; i < add; i++)
                bytes[i] = (char)next++;
            memcpy(model + size, bytes, add);
            size += add;
            put(&buffer, 70000, bytes, add);
        } else if (size > 0) {
            size_t gone = (size_t)nb_test_random_below(&random, size + 1);
            memmove(model, model + gone, size - gone);
            size -= gone;
            nb_buffer_consume(&buffer, &pool, gone);
        }
        assert_int_equal(size, nb_buffer_size(&buffer));
        if (size) assert_memory_equal(model, nb_buffer_bytes(&buffer), size);
    }
    nb_buffer_release(&buffer, &pool);
    nb_pool_deinit(&pool);
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    nb_buffer buffer = {0};
    size_t room = 77;
    static char bytes[NB_READ_BUFFER_BYTES];
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_buffer_room(&buffer, &pool, 100000, &room));
    assert_int_equal(77, room);
    put(&buffer, 100000, bytes, sizeof bytes);
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_buffer_room(&buffer, &pool, 100000, &room));
    assert_int_equal(sizeof bytes, nb_buffer_size(&buffer));
    nb_buffer_release(&buffer, &pool);
    nb_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_holds_no_memory),
        cmocka_unit_test(it_grows_to_its_bound_and_no_further),
        cmocka_unit_test(random_use_agrees_with_a_string),
        cmocka_unit_test(each_allocation_may_fail),
    };
    nb_pool_init(&pool);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
