/*
 * test_send_queue.c - the send queue over a client that takes k bytes at a time, for every k:
 * order, budget, files that become shorter, joins, failing memory.
 */
#include "support/send_queue.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/leaks.h"
#include "support/sink.h"

typedef struct fixture {
    nb_pool pool;
    nb_send_queue send_queue;
    nb_test_leaks before;
} fixture;

static int setup(void **state) {
    static fixture f;
    f.before = nb_test_leaks_begin();
    nb_pool_init(&f.pool);
    nb_send_queue_init(&f.send_queue);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    nb_send_queue_clear(&f->send_queue, &f->pool);
    nb_pool_deinit(&f->pool);
    return nb_test_leaks_end(&f->before);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void add_memory(fixture *f, size_t from, size_t bytes) {
    nb_test_queue_memory(&f->send_queue, &f->pool, from, bytes);
}

/* A range of a file of its own, of `file_bytes` bytes. */
static void add_file(fixture *f, size_t file_bytes, size_t offset, size_t bytes) {
    nb_test_queue_file(&f->send_queue, nb_test_queue_new_file(file_bytes), offset, bytes);
}

/* Memory, a file, memory, two files, memory: `total` bytes of the pattern in all. */
static size_t fill(fixture *f) {
    size_t sizes[] = {700, 900, 17, 300, 1, 400};
    size_t at = 0;
    for (size_t i = 0; i < 6; i++) {
        if (i == 1 || i == 3 || i == 4) {
            add_file(f, at + sizes[i], at, sizes[i]);
        } else {
            add_memory(f, at, sizes[i]);
        }
        at += sizes[i];
    }
    assert_int_equal(at, f->send_queue.bytes);
    return at;
}

static void send_all(fixture *f, nb_test_sink *s, uint64_t budget) {
    nb_status status = NB_AGAIN;
    for (unsigned turns = 0; status != NB_OK; turns++) {
        uint64_t sent = 99, before = f->send_queue.bytes;
        size_t size = s->size;
        status = nb_send_queue_send(&f->send_queue, &f->pool, &s->transport, budget, &sent);
        assert_true(status == NB_OK || status == NB_AGAIN || status == NB_INCOMPLETE);
        assert_int_equal(before - sent, f->send_queue.bytes);
        assert_int_equal(size + sent, s->size);
        assert_true(turns < 100000);
    }
    assert_true(nb_send_queue_empty(&f->send_queue));
    assert_int_equal(0, f->send_queue.bytes);
}

static void every_short_write_keeps_bytes_and_order(void **state) {
    fixture *f = *state;
    for (size_t step = 1; step <= 2400; step += step < 40 ? 1 : 97) {
        for (unsigned calls = 1; calls < 4; calls++) {
            size_t total = fill(f);
            nb_test_sink *s = nb_test_sink_create(step, calls, total);
            send_all(f, s, UINT64_MAX);
            nb_test_sink_expect_pattern(s, total);
            nb_test_sink_free(s);
        }
    }
}

static void chunks_that_fill_blocks_go_out_whole(void **state) {
    fixture *f = *state;
    static const size_t steps[] = {1000, 16384, 100000, 1u << 20};
    for (size_t i = 0; i < 4; i++) {
        add_memory(f, 0, 600000); /* more parts than one writev takes */
        nb_test_sink *s = nb_test_sink_create(steps[i], 3, 600000);
        send_all(f, s, UINT64_MAX);
        nb_test_sink_expect_pattern(s, 600000);
        nb_test_sink_free(s);
    }
}

/* Every room behind the memory around a full block, and ranges around the largest. (A block has a
 * few bytes of its own.) */
static void a_small_range_is_gathered_where_it_fits_and_is_sent_as_a_file_where_not(void **state) {
    fixture *f = *state;
    unsigned gathered = 0, left = 0;
    for (size_t memory = 16300; memory <= 16384; memory++) {
        for (size_t range = 16330; range <= 16385; range += range < 16383 ? 7 : 1) {
            add_memory(f, 0, memory);
            add_file(f, memory + range, memory, range);
            nb_status status = nb_send_queue_gather(&f->send_queue, &f->pool, false);
            if (status != NB_OK) assert_status(NB_NOT_FOUND, status);
            *(status == NB_OK ? &gathered : &left) += 1;
            nb_test_sink *s = nb_test_sink_create(1u << 20, 1000, memory + range);
            send_all(f, s, UINT64_MAX);
            nb_test_sink_expect_pattern(s, memory + range);
            nb_test_sink_free(s);
        }
    }
    assert_true(gathered > 0 && left > 0);
}

static void a_budget_ends_a_turn_soon_after_it_is_spent(void **state) {
    fixture *f = *state;
    size_t total = 3000000;
    add_file(f, total, 0, total);
    nb_test_sink *s = nb_test_sink_create(total, 1000, total);
    uint64_t sent;
    assert_status(NB_INCOMPLETE, nb_send_queue_send(&f->send_queue, &f->pool, &s->transport, 100000, &sent));
    assert_int_equal(100000, sent);
    send_all(f, s, 100000);
    nb_test_sink_expect_pattern(s, total);
    nb_test_sink_free(s);
}

static void a_budget_spent_with_the_last_byte_is_no_reason_to_come_again(void **state) {
    fixture *f = *state;
    uint64_t sent;
    add_memory(f, 0, 100);
    nb_test_sink *s = nb_test_sink_create(1000, 1000, 100);
    assert_status(NB_OK, nb_send_queue_send(&f->send_queue, &f->pool, &s->transport, 100, &sent));
    assert_int_equal(100, sent);
    nb_test_sink_free(s);
}

static void a_file_that_shrank_ends_the_send_queue_with_eof(void **state) {
    fixture *f = *state;
    uint64_t sent;
    add_memory(f, 0, 10);
    add_file(f, 500, 10, 1000);
    add_memory(f, 0, 10);
    nb_test_sink *s = nb_test_sink_create(64, 1000, 2000);
    assert_status(NB_EOF, nb_send_queue_send(&f->send_queue, &f->pool, &s->transport, UINT64_MAX, &sent));
    assert_int_equal(500, sent);
    assert_int_equal(500, s->size);
    nb_test_sink_free(s);
}

/* Memory, a file that is whole, and one that has 500 of its 1000 bytes. */
static void a_file_that_shrank_is_told_once_the_bytes_reach_it(void **state) {
    fixture *f = *state;
    assert_null(nb_send_queue_shrunk(&f->send_queue, 10));
    add_memory(f, 0, 10);
    add_file(f, 110, 10, 100);
    add_file(f, 610, 110, 1000);
    nb_file *whole = nb_send_queue_file(&f->send_queue);
    for (uint64_t bytes = 0; bytes <= 610; bytes += 10)
        assert_null(nb_send_queue_shrunk(&f->send_queue, bytes));
    const nb_file *shrunk = nb_send_queue_shrunk(&f->send_queue, 611);
    assert_non_null(shrunk);
    assert_ptr_not_equal(whole, shrunk);
    assert_int_equal(0, ftruncate(whole->fd, 50));
    assert_null(nb_send_queue_shrunk(&f->send_queue, 50));
    assert_ptr_equal(whole, nb_send_queue_shrunk(&f->send_queue, 1110));
}

/* Of what is no regular file the size does not tell. */
static void a_device_has_not_shrunk(void **state) {
    fixture *f = *state;
    nb_file *file;
    assert_status(NB_OK, nb_file_wrap(open("/dev/zero", O_RDONLY), &file));
    nb_test_queue_file(&f->send_queue, file, 0, 100);
    assert_null(nb_send_queue_shrunk(&f->send_queue, 100));
}

static void a_transport_that_fails_is_told_with_what_went(void **state) {
    fixture *f = *state;
    uint64_t sent = 99;
    add_memory(f, 0, 1000);
    nb_test_sink *s = nb_test_sink_create(64, 1000, 1000);
    s->failing = NB_SYSTEM;
    assert_status(NB_SYSTEM, nb_send_queue_send(&f->send_queue, &f->pool, &s->transport, UINT64_MAX, &sent));
    assert_int_equal(0, sent);
    assert_int_equal(1000, f->send_queue.bytes);
    nb_test_sink_free(s);
}

static void joined_send_queues_are_one_in_order(void **state) {
    fixture *f = *state;
    /* Each is empty, memory, or has a file at the seam. */
    for (unsigned kind = 0; kind < 8; kind++) {
        nb_send_queue second;
        nb_send_queue_init(&second);
        size_t first_bytes = kind & 1 ? 500 : 0, second_bytes = kind & 2 ? 700 : 0;
        if (first_bytes) add_memory(f, 0, first_bytes);
        if (second_bytes && !(kind & 4)) nb_test_queue_memory(&second, &f->pool, first_bytes, second_bytes);
        if (second_bytes && kind & 4)
            nb_test_queue_file(&second, nb_test_queue_new_file(1200), first_bytes, second_bytes);
        nb_send_queue_join(&f->send_queue, &second);
        assert_true(nb_send_queue_empty(&second));
        assert_int_equal(0, second.bytes);
        assert_int_equal(first_bytes + second_bytes, f->send_queue.bytes);
        add_memory(f, first_bytes + second_bytes, 100); /* goes to the end */
        nb_test_sink *s = nb_test_sink_create(33, 7, 1300);
        send_all(f, s, UINT64_MAX);
        nb_test_sink_expect_pattern(s, first_bytes + second_bytes + 100);
        nb_test_sink_free(s);
    }
}

static void a_reservation_that_was_not_filled_leaves_nothing(void **state) {
    fixture *f = *state;
    assert_non_null(nb_send_queue_reserve(&f->send_queue, &f->pool, NB_SEND_QUEUE_RESERVE_MAX));
    assert_int_equal(0, f->send_queue.bytes);
    nb_test_sink *s = nb_test_sink_create(64, 10, 10);
    send_all(f, s, UINT64_MAX);
    assert_int_equal(0, s->size);
    for (int i = 0; i < 20; i++) {
        char *place = nb_send_queue_reserve(&f->send_queue, &f->pool, NB_SEND_QUEUE_RESERVE_MAX);
        memset(place, 'x', NB_SEND_QUEUE_RESERVE_MAX); /* ASan sees whether there is room */
        nb_send_queue_commit(&f->send_queue, 3);
    }
    assert_int_equal(60, f->send_queue.bytes);
    nb_test_sink_free(s);
}

static void an_empty_file_range_is_closed_at_once(void **state) {
    fixture *f = *state;
    add_file(f, 10, 5, 0);
    assert_true(nb_send_queue_empty(&f->send_queue));
}

static void each_allocation_may_fail(void **state) {
    fixture *f = *state;
    unsigned long n = 0;
    nb_status status = NB_NO_MEMORY;
    while (status == NB_NO_MEMORY) {
        char *bytes = calloc(1, 40000);
        nb_alloc_fail_at(++n);
        status = nb_send_queue_add(&f->send_queue, &f->pool, (nb_slice){bytes, 40000});
        nb_file *file = NULL;
        if (status == NB_OK) status = nb_file_wrap(open("/dev/null", O_RDONLY | O_CLOEXEC), &file);
        if (status == NB_OK) status = nb_send_queue_add_file(&f->send_queue, file, 0, 10, (nb_send_by){0});
        if (status == NB_OK && !nb_send_queue_reserve(&f->send_queue, &f->pool, 100)) status = NB_NO_MEMORY;
        nb_alloc_fail_at(0);
        free(bytes);
        nb_send_queue_clear(&f->send_queue, &f->pool);
        nb_pool_deinit(&f->pool);
    }
    assert_true(n >= 6);
    assert_status(NB_OK, status);
}

static void any_part_of_the_front_moves_in_order(void **state) {
    fixture *f = *state;
    for (size_t step = 1; step < 2400; step += step < 20 ? 1 : 131) {
        size_t total = fill(f);
        nb_send_queue from = f->send_queue;
        nb_send_queue_init(&f->send_queue);
        while (from.bytes > 0) {
            size_t bytes = step < from.bytes ? step : (size_t)from.bytes;
            uint64_t all = from.bytes + f->send_queue.bytes;
            assert_status(NB_OK, nb_send_queue_move(&f->send_queue, &from, &f->pool, bytes));
            assert_int_equal(all, from.bytes + f->send_queue.bytes);
        }
        assert_int_equal(0, from.files);
        nb_send_queue_clear(&from, &f->pool);
        nb_test_sink *s = nb_test_sink_create(500, 1000, total);
        send_all(f, s, UINT64_MAX);
        nb_test_sink_expect_pattern(s, total);
        nb_test_sink_free(s);
    }
}

/* A block for each small response would be memory for nothing. */
static void what_is_small_is_copied(void **state) {
    fixture *f = *state;
    nb_send_queue to;
    nb_send_queue_init(&to);
    for (int i = 0; i < 20; i++) {
        assert_status(NB_OK, nb_send_queue_add(&to, &f->pool, NB_SLICE("head")));
        assert_status(NB_OK, nb_send_queue_add(&f->send_queue, &f->pool, NB_SLICE("hello")));
        assert_status(NB_OK, nb_send_queue_move(&to, &f->send_queue, &f->pool, 5));
        assert_true(nb_send_queue_empty(&f->send_queue));
        assert_int_equal(1, f->pool.sending);
    }
    assert_int_equal(20 * 9, to.bytes);
    nb_send_queue_clear(&to, &f->pool);
}

static void moving_may_find_no_memory(void **state) {
    fixture *f = *state;
    nb_send_queue to;
    nb_send_queue_init(&to);
    add_file(f, 100, 0, 100);
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_send_queue_move(&to, &f->send_queue, &f->pool, 10));
    nb_alloc_fail_at(0);
    nb_send_queue_clear(&to, &f->pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_short_write_keeps_bytes_and_order),
        CASE(chunks_that_fill_blocks_go_out_whole),
        CASE(a_small_range_is_gathered_where_it_fits_and_is_sent_as_a_file_where_not),
        CASE(a_budget_ends_a_turn_soon_after_it_is_spent),
        CASE(a_budget_spent_with_the_last_byte_is_no_reason_to_come_again),
        CASE(a_file_that_shrank_ends_the_send_queue_with_eof),
        CASE(a_file_that_shrank_is_told_once_the_bytes_reach_it),
        CASE(a_device_has_not_shrunk),
        CASE(a_transport_that_fails_is_told_with_what_went),
        CASE(joined_send_queues_are_one_in_order),
        CASE(a_reservation_that_was_not_filled_leaves_nothing),
        CASE(an_empty_file_range_is_closed_at_once),
        CASE(each_allocation_may_fail),
        CASE(any_part_of_the_front_moves_in_order),
        CASE(what_is_small_is_copied),
        CASE(moving_may_find_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
