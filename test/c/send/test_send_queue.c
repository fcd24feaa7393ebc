/*
 * test_send_queue.c - the send queue over a transport that takes k bytes at a time, for every k:
 * order, budget, files that become shorter, joins, failing memory.
 */
#include "send/send_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/file.h"
#include "support/test.h"
#include "support/world.h"

/* Takes at most `step` bytes in a call, and returns NB_AGAIN after `calls` of them. What it took is
 * in `taken`. */
typedef struct sink {
    nb_transport transport;
    size_t step;
    unsigned calls, calls_left;
    char *taken;
    size_t size, capacity;
    nb_status failing; /* NB_OK: it works */
} sink;

static nb_status take(sink *s, const char *bytes, size_t size, size_t *moved) {
    if (s->failing != NB_OK) return s->failing;
    if (s->calls_left == 0) {
        s->calls_left = s->calls;
        return NB_AGAIN;
    }
    s->calls_left--;
    if (s->size + size > s->capacity) fail_msg("more was sent than was put in");
    memcpy(s->taken + s->size, bytes, size);
    s->size += size;
    *moved = size;
    return NB_OK;
}

static nb_status sink_writev(nb_transport *transport, const struct iovec *parts, int count, int more, size_t *moved) {
    (void)more;
    sink *s = (sink *)(void *)transport;
    char *joined = malloc(s->step);
    size_t size = 0;
    for (int i = 0; i < count && size < s->step; i++) {
        size_t step = parts[i].iov_len < s->step - size ? parts[i].iov_len : s->step - size;
        memcpy(joined + size, parts[i].iov_base, step);
        size += step;
    }
    nb_status status = take(s, joined, size, moved);
    free(joined);
    return status;
}

static nb_status sink_sendfile(nb_transport *transport, int fd, uint64_t offset, size_t bytes, size_t *moved) {
    sink *s = (sink *)(void *)transport;
    char *read_bytes = malloc(bytes);
    ssize_t got = pread(fd, read_bytes, bytes < s->step ? bytes : s->step, (off_t)offset);
    nb_status status = got > 0 ? take(s, read_bytes, (size_t)got, moved) : got == 0 ? NB_EOF : NB_SYSTEM;
    free(read_bytes);
    return status;
}

static const nb_transport_kind sink_kind = {.name = "sink", .writev = sink_writev, .sendfile = sink_sendfile};

static sink new_sink(size_t step, unsigned calls, size_t capacity) {
    return (sink){.transport = {&sink_kind, -1},
                  .step = step,
                  .calls = calls,
                  .calls_left = calls,
                  .taken = malloc(capacity + 1),
                  .capacity = capacity};
}

typedef struct fixture {
    nb_pool pool;
    nb_send_queue send_queue;
    long live;
    unsigned descriptors;
} fixture;

static int setup(void **state) {
    static fixture f;
    f.live = nb_alloc_live();
    f.descriptors = nb_test_descriptors();
    nb_pool_init(&f.pool);
    nb_send_queue_init(&f.send_queue);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    nb_send_queue_clear(&f->send_queue, &f->pool);
    nb_pool_deinit(&f->pool);
    if (f->live != nb_alloc_live() || f->descriptors != nb_test_descriptors()) {
        print_error("%ld blocks and %d descriptors are left\n", nb_alloc_live() - f->live,
                    (int)(nb_test_descriptors() - f->descriptors));
        return -1;
    }
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const nb_send_by by_default = {0};

static nb_file *wrap(int fd) {
    nb_file *file;
    assert_status(NB_OK, nb_file_wrap(fd, &file));
    return file;
}

static nb_file *pattern_file(size_t bytes) {
    int fd;
    char *all = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        all[i] = nb_test_pattern(i);
    assert_status(NB_OK, nb_file_temporary("/tmp", &fd));
    assert_status(NB_OK, nb_file_write_all(fd, all, bytes));
    free(all);
    return wrap(fd);
}

static void add_pattern(fixture *f, nb_send_queue *queue, size_t from, size_t bytes) {
    char *all = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        all[i] = nb_test_pattern(from + i);
    assert_status(NB_OK, nb_send_queue_add(queue, &f->pool, (nb_slice){all, bytes}));
    free(all);
}

/* Memory, a file, memory, two files, memory: `total` bytes of the pattern in all. */
static size_t fill(fixture *f) {
    size_t sizes[] = {700, 900, 17, 300, 1, 400};
    size_t at = 0;
    for (size_t i = 0; i < 6; i++) {
        if (i == 1 || i == 3 || i == 4) {
            assert_status(
                NB_OK, nb_send_queue_add_file(&f->send_queue, pattern_file(at + sizes[i]), at, sizes[i], by_default));
        } else {
            add_pattern(f, &f->send_queue, at, sizes[i]);
        }
        at += sizes[i];
    }
    assert_int_equal(at, f->send_queue.bytes);
    return at;
}

static void send_all(fixture *f, sink *s, uint64_t budget) {
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
            sink s = new_sink(step, calls, total);
            send_all(f, &s, UINT64_MAX);
            assert_int_equal(total, s.size);
            for (size_t i = 0; i < total; i++)
                if (s.taken[i] != nb_test_pattern(i)) fail_msg("byte %zu of step %zu", i, step);
            free(s.taken);
        }
    }
}

static void chunks_that_fill_blocks_go_out_whole(void **state) {
    fixture *f = *state;
    static const size_t steps[] = {1000, 16384, 100000, 1u << 20};
    for (size_t i = 0; i < 4; i++) {
        add_pattern(f, &f->send_queue, 0, 600000); /* more parts than one writev takes */
        sink s = new_sink(steps[i], 3, 600000);
        send_all(f, &s, UINT64_MAX);
        for (size_t at = 0; at < 600000; at++)
            if (s.taken[at] != nb_test_pattern(at)) fail_msg("byte %zu of step %zu", at, steps[i]);
        free(s.taken);
    }
}

static void a_budget_ends_a_turn_soon_after_it_is_spent(void **state) {
    fixture *f = *state;
    size_t total = 3000000;
    assert_status(NB_OK, nb_send_queue_add_file(&f->send_queue, pattern_file(total), 0, total, by_default));
    sink s = new_sink(total, 1000, total);
    uint64_t sent;
    assert_status(NB_INCOMPLETE, nb_send_queue_send(&f->send_queue, &f->pool, &s.transport, 100000, &sent));
    assert_int_equal(100000, sent);
    send_all(f, &s, 100000);
    for (size_t i = 0; i < total; i++)
        if (s.taken[i] != nb_test_pattern(i)) fail_msg("byte %zu", i);
    free(s.taken);
}

static void a_budget_spent_with_the_last_byte_is_no_reason_to_come_again(void **state) {
    fixture *f = *state;
    uint64_t sent;
    add_pattern(f, &f->send_queue, 0, 100);
    sink s = new_sink(1000, 1000, 100);
    assert_status(NB_OK, nb_send_queue_send(&f->send_queue, &f->pool, &s.transport, 100, &sent));
    assert_int_equal(100, sent);
    free(s.taken);
}

static void a_file_that_shrank_ends_the_send_queue_with_eof(void **state) {
    fixture *f = *state;
    uint64_t sent;
    add_pattern(f, &f->send_queue, 0, 10);
    assert_status(NB_OK, nb_send_queue_add_file(&f->send_queue, pattern_file(500), 10, 1000, by_default));
    add_pattern(f, &f->send_queue, 0, 10);
    sink s = new_sink(64, 1000, 2000);
    assert_status(NB_EOF, nb_send_queue_send(&f->send_queue, &f->pool, &s.transport, UINT64_MAX, &sent));
    assert_int_equal(500, sent);
    assert_int_equal(500, s.size);
    free(s.taken);
}

static void a_transport_that_fails_is_told_with_what_went(void **state) {
    fixture *f = *state;
    uint64_t sent = 99;
    add_pattern(f, &f->send_queue, 0, 1000);
    sink s = new_sink(64, 1000, 1000);
    s.failing = NB_SYSTEM;
    assert_status(NB_SYSTEM, nb_send_queue_send(&f->send_queue, &f->pool, &s.transport, UINT64_MAX, &sent));
    assert_int_equal(0, sent);
    assert_int_equal(1000, f->send_queue.bytes);
    free(s.taken);
}

static void joined_send_queues_are_one_in_order(void **state) {
    fixture *f = *state;
    /* Each is empty, memory, or has a file at the seam. */
    for (unsigned kind = 0; kind < 8; kind++) {
        nb_send_queue second;
        nb_send_queue_init(&second);
        size_t first_bytes = kind & 1 ? 500 : 0, second_bytes = kind & 2 ? 700 : 0;
        if (first_bytes) add_pattern(f, &f->send_queue, 0, first_bytes);
        if (second_bytes && !(kind & 4)) add_pattern(f, &second, first_bytes, second_bytes);
        if (second_bytes && kind & 4)
            assert_status(NB_OK,
                          nb_send_queue_add_file(&second, pattern_file(1200), first_bytes, second_bytes, by_default));
        nb_send_queue_join(&f->send_queue, &second);
        assert_true(nb_send_queue_empty(&second));
        assert_int_equal(0, second.bytes);
        assert_int_equal(first_bytes + second_bytes, f->send_queue.bytes);
        add_pattern(f, &f->send_queue, first_bytes + second_bytes, 100); /* goes to the end */
        sink s = new_sink(33, 7, 1300);
        send_all(f, &s, UINT64_MAX);
        for (size_t i = 0; i < s.size; i++)
            if (s.taken[i] != nb_test_pattern(i)) fail_msg("byte %zu of kind %u", i, kind);
        free(s.taken);
    }
}

static void a_reservation_that_was_not_filled_leaves_nothing(void **state) {
    fixture *f = *state;
    assert_non_null(nb_send_queue_reserve(&f->send_queue, &f->pool, NB_SEND_QUEUE_RESERVE_MAX));
    assert_int_equal(0, f->send_queue.bytes);
    sink s = new_sink(64, 10, 10);
    send_all(f, &s, UINT64_MAX);
    assert_int_equal(0, s.size);
    for (int i = 0; i < 20; i++) {
        char *place = nb_send_queue_reserve(&f->send_queue, &f->pool, NB_SEND_QUEUE_RESERVE_MAX);
        memset(place, 'x', NB_SEND_QUEUE_RESERVE_MAX); /* ASan sees whether there is room */
        nb_send_queue_commit(&f->send_queue, 3);
    }
    assert_int_equal(60, f->send_queue.bytes);
    free(s.taken);
}

static void an_empty_file_range_is_closed_at_once(void **state) {
    fixture *f = *state;
    assert_status(NB_OK, nb_send_queue_add_file(&f->send_queue, pattern_file(10), 5, 0, by_default));
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
        if (status == NB_OK) status = nb_send_queue_add_file(&f->send_queue, file, 0, 10, by_default);
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
        sink s = new_sink(500, 1000, total);
        send_all(f, &s, UINT64_MAX);
        for (size_t i = 0; i < total; i++)
            if (s.taken[i] != nb_test_pattern(i)) fail_msg("byte %zu of step %zu", i, step);
        free(s.taken);
    }
}

static void moving_may_find_no_memory(void **state) {
    fixture *f = *state;
    nb_send_queue to;
    nb_send_queue_init(&to);
    assert_status(NB_OK, nb_send_queue_add_file(&f->send_queue, pattern_file(100), 0, 100, by_default));
    nb_alloc_fail_at(1);
    assert_status(NB_NO_MEMORY, nb_send_queue_move(&to, &f->send_queue, &f->pool, 10));
    nb_alloc_fail_at(0);
    nb_send_queue_clear(&to, &f->pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_short_write_keeps_bytes_and_order),
        CASE(chunks_that_fill_blocks_go_out_whole),
        CASE(a_budget_ends_a_turn_soon_after_it_is_spent),
        CASE(a_budget_spent_with_the_last_byte_is_no_reason_to_come_again),
        CASE(a_file_that_shrank_ends_the_send_queue_with_eof),
        CASE(a_transport_that_fails_is_told_with_what_went),
        CASE(joined_send_queues_are_one_in_order),
        CASE(a_reservation_that_was_not_filled_leaves_nothing),
        CASE(an_empty_file_range_is_closed_at_once),
        CASE(each_allocation_may_fail),
        CASE(any_part_of_the_front_moves_in_order),
        CASE(moving_may_find_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
