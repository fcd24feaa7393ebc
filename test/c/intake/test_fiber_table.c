/*
 * test_fiber_table.c - what the executor records is read whole, by another thread at any moment,
 * and damage by another process does no harm.
 */
#include "intake/fiber_table.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static nb_fiber_memory *memory;

static int setup(void **state) {
    (void)state;
    memory = calloc(1, sizeof *memory);
    return memory ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    free(memory);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static uint32_t begin_named(uint64_t exchange, const char *path, const char *query, const char *id) {
    nb_fiber_request_facts facts = {.exchange = exchange,
                                    .arrived_ns = 100,
                                    .taken_ns = 200,
                                    .fiber = 77,
                                    .route = 3,
                                    .method = NB_SLICE("GET"),
                                    .path = nb_slice_of(path, strlen(path)),
                                    .query = nb_slice_of(query, strlen(query)),
                                    .id = nb_slice_of(id, strlen(id))};
    return nb_fiber_request_begin(memory, &facts);
}

static uint32_t begin(uint64_t exchange, const char *path, const char *query) {
    return begin_named(exchange, path, query, "id");
}

static uint32_t wait_for(nb_fiber_wait_kind kind, uint32_t request, const char *text) {
    nb_fiber_wait facts = {.since_ns = 300,
                           .until_ns = INT64_MAX,
                           .subject = 5,
                           .fiber = 77,
                           .request = request,
                           .number = -1,
                           .kind = (uint8_t)kind,
                           .direction = NB_FIBER_READS,
                           .own = true};
    return nb_fiber_wait_begin(memory, &facts, nb_slice_of(text, strlen(text)));
}

static void a_request_is_read_as_it_was_recorded(void **state) {
    (void)state;
    nb_fiber_request read;
    uint32_t record = begin_named(9, "/orders/1", "secret=1", "abc");
    assert_true(nb_fiber_request_read(memory, record, &read));
    assert_string_equal("GET /orders/1?secret=1", read.line);
    assert_int_equal(strlen("GET /orders/1"), read.path_bytes);
    assert_int_equal(9, read.exchange);
    assert_int_equal(100, read.arrived_ns);
    assert_int_equal(200, read.taken_ns);
    assert_int_equal(77, read.fiber);
    assert_int_equal(3, read.route);
    assert_int_equal(0, read.ran_ns);
    assert_int_equal(NB_FIBER_NONE, read.wait);
    assert_string_equal("abc", read.id);

    nb_fiber_request_ran(memory, record, 5);
    nb_fiber_request_ran(memory, record, 7);
    nb_fiber_request_ran(memory, record, -7);
    assert_true(nb_fiber_request_read(memory, record, &read));
    assert_int_equal(12, read.ran_ns);

    nb_fiber_request_end(memory, record);
    assert_false(nb_fiber_request_read(memory, record, &read));
}

static void long_names_are_cut_off(void **state) {
    (void)state;
    nb_fiber_request request;
    nb_fiber_wait wait;
    char longer[400];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    uint32_t record = begin_named(1, longer, longer, longer);
    assert_true(nb_fiber_request_read(memory, record, &request));
    assert_int_equal(NB_FIBER_LINE_BYTES, strlen(request.line));
    assert_int_equal(NB_FIBER_LINE_BYTES, request.path_bytes);
    assert_int_equal(NB_FIBER_ID_BYTES, strlen(request.id));
    uint32_t waits = wait_for(NB_FIBER_WAIT_dns, record, longer);
    assert_true(nb_fiber_wait_read(memory, waits, &wait));
    assert_int_equal(NB_FIBER_TEXT_BYTES, strlen(wait.text));
}

static void a_request_knows_the_wait_of_its_own_fiber(void **state) {
    (void)state;
    nb_fiber_request request;
    nb_fiber_wait wait;
    uint32_t record = begin(1, "/", "");
    uint32_t own = wait_for(NB_FIBER_WAIT_lock, record, "");
    assert_true(nb_fiber_request_read(memory, record, &request));
    assert_int_equal(own, request.wait);
    assert_true(nb_fiber_wait_read(memory, own, &wait));
    assert_int_equal(NB_FIBER_WAIT_lock, wait.kind);
    assert_int_equal(record, wait.request);
    assert_int_equal(300, wait.since_ns);
    assert_true(wait.until_ns == INT64_MAX);
    assert_int_equal(5, wait.subject);
    assert_int_equal(-1, wait.number);
    assert_int_equal(NB_FIBER_READS, wait.direction);
    assert_true(wait.own);
    assert_false(wait.ready);
    nb_fiber_wait_ready(memory, own);
    assert_true(nb_fiber_wait_read(memory, own, &wait));
    assert_true(wait.ready);

    nb_fiber_wait_end(memory, own, record);
    assert_false(nb_fiber_wait_read(memory, own, &wait));
    assert_true(nb_fiber_request_read(memory, record, &request));
    assert_int_equal(NB_FIBER_NONE, request.wait);
}

static void records_are_used_again_and_bounded(void **state) {
    (void)state;
    uint32_t first = begin(1, "/", ""), second = begin(2, "/", "");
    nb_fiber_request_end(memory, first);
    nb_fiber_request_end(memory, second);
    assert_int_equal(second, begin(3, "/", ""));
    assert_int_equal(first, begin(4, "/", ""));
    assert_int_equal(2, nb_fiber_requests_used(memory));
    for (uint32_t i = 2; i < NB_FIBER_REQUESTS_MAX; i++)
        assert_int_equal(i, begin(i, "/", ""));
    assert_int_equal(NB_FIBER_NONE, begin(5, "/", ""));
    nb_fiber_request_end(memory, 17);
    assert_int_equal(17, begin(6, "/", ""));
    nb_fiber_request_end(memory, NB_FIBER_NONE);
    nb_fiber_request_ran(memory, NB_FIBER_NONE, 1);

    for (uint32_t i = 0; i < NB_FIBER_WAITS_MAX; i++)
        assert_int_equal(i, wait_for(NB_FIBER_WAIT_sleep, NB_FIBER_NONE, ""));
    assert_int_equal(NB_FIBER_NONE, wait_for(NB_FIBER_WAIT_sleep, NB_FIBER_NONE, ""));
}

static void a_trace_belongs_to_one_wait(void **state) {
    (void)state;
    nb_fiber_wait wait;
    nb_fiber_trace trace;
    uint32_t record = wait_for(NB_FIBER_WAIT_lock, NB_FIBER_NONE, "");
    assert_int_equal(0, nb_fiber_trace_taken_ns(memory, record));
    nb_fiber_trace_put(memory, record, 400, NB_SLICE("a.rb:1\nb.rb:2\n"));
    assert_int_equal(400, nb_fiber_trace_taken_ns(memory, record));
    assert_true(nb_fiber_wait_read(memory, record, &wait));
    assert_true(nb_fiber_trace_read(memory, record, &wait, &trace));
    assert_string_equal("a.rb:1\nb.rb:2\n", trace.text);
    assert_int_equal(400, trace.taken_ns);
    char line[16];
    assert_int_equal(6, nb_fiber_trace_line(memory, record, line, sizeof line));
    assert_memory_equal("a.rb:1", line, 6);
    assert_int_equal(4, nb_fiber_trace_line(memory, record, line, 4));
    assert_int_equal(0, nb_fiber_trace_line(memory, NB_FIBER_NONE, line, sizeof line));

    nb_fiber_wait_end(memory, record, NB_FIBER_NONE);
    assert_int_equal(record, wait_for(NB_FIBER_WAIT_lock, NB_FIBER_NONE, ""));
    assert_true(nb_fiber_wait_read(memory, record, &wait));
    assert_false(nb_fiber_trace_read(memory, record, &wait, &trace));
    assert_int_equal(0, nb_fiber_trace_taken_ns(memory, record));
    assert_int_equal(0, nb_fiber_trace_line(memory, record, line, sizeof line));
}

static void a_newer_trace_takes_the_place_of_the_oldest(void **state) {
    (void)state;
    nb_fiber_wait wait;
    nb_fiber_trace trace;
    for (uint32_t i = 0; i <= NB_FIBER_TRACES_MAX; i++) {
        assert_int_equal(i, wait_for(NB_FIBER_WAIT_lock, NB_FIBER_NONE, ""));
        nb_fiber_trace_put(memory, i, i + 1, NB_SLICE("a.rb:1\n"));
    }
    assert_true(nb_fiber_wait_read(memory, 0, &wait));
    assert_false(nb_fiber_trace_read(memory, 0, &wait, &trace));
    assert_true(nb_fiber_wait_read(memory, NB_FIBER_TRACES_MAX, &wait));
    assert_true(nb_fiber_trace_read(memory, NB_FIBER_TRACES_MAX, &wait, &trace));

    nb_fiber_trace_put(memory, 0, 999, NB_SLICE("b.rb:1\n"));
    assert_true(nb_fiber_wait_read(memory, NB_FIBER_TRACES_MAX, &wait));
    assert_true(nb_fiber_trace_read(memory, NB_FIBER_TRACES_MAX, &wait, &trace));
}

static void a_long_trace_ends_with_a_whole_line(void **state) {
    (void)state;
    nb_fiber_wait wait;
    nb_fiber_trace trace;
    char text[NB_FIBER_TRACE_BYTES + 100];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 50 == 49 ? '\n' : 'l';
    uint32_t record = wait_for(NB_FIBER_WAIT_lock, NB_FIBER_NONE, "");
    nb_fiber_trace_put(memory, record, 1, nb_slice_of(text, sizeof text));
    assert_true(nb_fiber_wait_read(memory, record, &wait));
    assert_true(nb_fiber_trace_read(memory, record, &wait, &trace));
    assert_int_equal(NB_FIBER_TRACE_BYTES / 50 * 50, trace.text_bytes);
    assert_int_equal('\n', trace.text[trace.text_bytes - 1]);

    memset(text, 'l', sizeof text);
    nb_fiber_trace_put(memory, record, 2, nb_slice_of(text, sizeof text));
    assert_true(nb_fiber_trace_read(memory, record, &wait, &trace));
    assert_int_equal(0, trace.text_bytes);
}

static void a_stall_is_known_by_its_beginning(void **state) {
    (void)state;
    nb_fiber_trace trace;
    assert_false(nb_fiber_stall_read(memory, 7, &trace));
    nb_fiber_stall_put(memory, 2, 7, 9, NB_SLICE("a.rb:1\n"));
    assert_true(nb_fiber_stall_read(memory, 7, &trace));
    assert_int_equal(2, trace.kind);
    assert_int_equal(9, trace.taken_ns);
    assert_string_equal("a.rb:1\n", trace.text);
    assert_false(nb_fiber_stall_read(memory, 8, &trace));
}

static void every_kind_has_its_name(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < NB_FIBER_WAIT_KINDS; kind++)
        assert_int_equal(kind, nb_fiber_wait_named(nb_fiber_wait_name(kind)));
    assert_string_equal("other", nb_fiber_wait_name(NB_FIBER_WAIT_KINDS));
    assert_int_equal(NB_FIBER_WAIT_KINDS, nb_fiber_wait_named("coffee"));
}

static void whatever_another_process_writes_is_bounded(void **state) {
    (void)state;
    nb_fiber_request request;
    nb_fiber_wait wait;
    nb_fiber_trace trace;
    memset(memory, 0xfe, sizeof *memory); /* an even sequence */
    assert_int_equal(NB_FIBER_REQUESTS_MAX, nb_fiber_requests_used(memory));
    assert_int_equal(NB_FIBER_WAITS_MAX, nb_fiber_waits_used(memory));
    assert_true(nb_fiber_request_read(memory, 0, &request));
    assert_int_equal(NB_FIBER_LINE_BYTES, strlen(request.line));
    assert_int_equal(NB_FIBER_ID_BYTES, strlen(request.id));
    assert_true(request.path_bytes <= NB_FIBER_LINE_BYTES);
    assert_int_equal(NB_FIBER_NONE, request.wait);
    assert_false(nb_fiber_request_read(memory, NB_FIBER_REQUESTS_MAX, &request));
    assert_false(nb_fiber_wait_read(memory, 0, &wait)); /* 0xfe: not used */
    atomic_store(&memory->waits[1].words[6], UINT64_MAX);
    assert_true(nb_fiber_wait_read(memory, 1, &wait));
    assert_int_equal(NB_FIBER_TEXT_BYTES, strlen(wait.text));
    assert_int_equal(NB_FIBER_WAIT_other, wait.kind);
    assert_int_equal(NB_FIBER_NONE, wait.request);
    assert_int_equal(NB_FIBER_NONE, wait.trace);
    assert_false(nb_fiber_trace_read(memory, 1, &wait, &trace));
    wait.trace = 0;
    assert_false(nb_fiber_trace_read(memory, 1, &wait, &trace));
    assert_int_equal(NB_FIBER_TRACE_BYTES, trace.text_bytes);
}

/* Each record says its number in all of its fields: a torn copy would be told apart. */
#define ROUNDS 20000

static _Atomic bool stops;

static void *write_many(void *unused) {
    for (unsigned i = 1; i <= ROUNDS; i++) {
        char path[32];
        int size = snprintf(path, sizeof path, "/%u", i);
        nb_fiber_request_facts facts = {.exchange = i,
                                        .arrived_ns = i,
                                        .taken_ns = i,
                                        .fiber = i,
                                        .method = NB_SLICE("GET"),
                                        .path = nb_slice_of(path, (size_t)size),
                                        .query = NB_SLICE("")};
        uint32_t request = nb_fiber_request_begin(memory, &facts);
        nb_fiber_runs(memory, request);
        nb_fiber_wait waits = {
            .since_ns = i, .until_ns = i, .subject = i, .request = request, .number = (int32_t)i, .own = true};
        uint32_t wait = nb_fiber_wait_begin(memory, &waits, nb_slice_of(path, (size_t)size));
        nb_fiber_trace_put(memory, wait, i, nb_slice_of(path, (size_t)size));
        nb_fiber_wait_ready(memory, wait);
        nb_fiber_stall_put(memory, 1, i, i, nb_slice_of(path, (size_t)size));
        nb_fiber_wait_end(memory, wait, request);
        nb_fiber_request_end(memory, request);
    }
    atomic_store(&stops, true);
    return unused;
}

static unsigned number_in(const char *text) { return (unsigned)strtoul(text, NULL, 10); }

static void a_reader_sees_whole_records(void **state) {
    (void)state;
    pthread_t writer;
    atomic_store(&stops, false);
    assert_int_equal(0, pthread_create(&writer, NULL, write_many, NULL));
    nb_fiber_request request;
    nb_fiber_wait wait;
    nb_fiber_trace trace;
    while (!atomic_load(&stops)) {
        if (nb_fiber_request_read(memory, 0, &request)) {
            assert_int_equal(request.exchange, request.arrived_ns);
            assert_int_equal(request.exchange, request.fiber);
            assert_int_equal(request.exchange, number_in(request.line + 5));
        }
        if (!nb_fiber_wait_read(memory, 0, &wait)) continue;
        assert_int_equal(wait.since_ns, wait.subject);
        assert_int_equal(wait.since_ns, wait.number);
        assert_int_equal(wait.since_ns, number_in(wait.text + 1));
        if (!nb_fiber_trace_read(memory, 0, &wait, &trace)) continue;
        assert_int_equal(wait.since_ns, trace.taken_ns);
    }
    pthread_join(writer, NULL);
    assert_false(nb_fiber_request_read(memory, 0, &request));
    assert_true(nb_fiber_stall_read(memory, ROUNDS, &trace));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_read_as_it_was_recorded),
        CASE(long_names_are_cut_off),
        CASE(a_request_knows_the_wait_of_its_own_fiber),
        CASE(records_are_used_again_and_bounded),
        CASE(a_trace_belongs_to_one_wait),
        CASE(a_newer_trace_takes_the_place_of_the_oldest),
        CASE(a_long_trace_ends_with_a_whole_line),
        CASE(a_stall_is_known_by_its_beginning),
        CASE(every_kind_has_its_name),
        CASE(whatever_another_process_writes_is_bounded),
        CASE(a_reader_sees_whole_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
