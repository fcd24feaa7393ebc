/*
 * test_senders.c - what makes each algorithm what it is: the threads it sends from, what it waits
 * for, and how it treats the page cache. What all of them keep to is in test_algorithms.c.
 */
#include "support/sending.h"

#include <string.h>

#include "support/fake_page_cache.h"
#include "support/pattern.h"

static _Atomic int64_t clock_ns;

static int64_t fake_clock(void) { return atomic_load(&clock_ns); }

#define nb_clock_monotonic_ns fake_clock
#include "send/sender_auto.c"
#undef nb_clock_monotonic_ns

enum { BUFFER = NB_TEST_SENDING_BUFFER };

static nb_test_sendings the;

static void open_for(const char *name, unsigned workers) {
    uint16_t number = nb_algorithms_find(name);
    assert_int_not_equal(NB_ALGORITHM_DEFAULT, number);
    nb_test_pages_set(NB_TEST_PAGES_WARM);
    nb_test_sendings_open(&the, number, workers);
}

static void close_sendings(void) { assert_int_equal(0, nb_test_sendings_close(&the)); }

static const nb_sender_figures *figures(void) { return &the.senders.figures[the.senders.algorithm - 1]; }

static void add_plain_file(size_t bytes) { nb_test_sending_file(&the, nb_test_queue_new_file(bytes), 0, bytes); }

/* --- sba: a worker for each --- */

static void sba_keeps_one_worker_to_the_end_and_waits_in_it(void **state) {
    (void)state;
    open_for("sba", 4);
    add_plain_file(5000);
    nb_test_sink *s = nb_test_sink_create(100, 3, 5000);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    /* given to a worker once */
    assert_int_equal(NB_STEP_DONE, nb_test_sending_step(&the, sending, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(1, s->thread_count);
    assert_false(nb_test_sink_used_here(s));
    assert_int_equal(16, s->waits); /* each time it was full */
    assert_int_equal(16, s->long_waits);
    assert_int_equal(1, atomic_load(&figures()->bursts));
    nb_test_sink_expect_pattern(s, 5000);
    nb_test_sink_free(s);
    close_sendings();
}

/* --- eba and enba: parts, by any worker --- */

/* Another job occupies the worker between the first part of a download and the second, so another
 * worker must send the second. */
typedef struct handing_over {
    nb_job first, second; /* occupy the other worker, then the first one */
    nb_test_gate begun, go, seen;
    pthread_t threads[2];
    unsigned parts;
} handing_over;

static handing_over parts;

static void keep_other(nb_job *job) {
    (void)job;
    nb_test_gate_open(&parts.begun);
    nb_test_gate_wait(&parts.go, 1);
}

static void keep_first(nb_job *job) {
    (void)job;
    nb_test_gate_open(&parts.go);
    nb_test_gate_wait(&parts.seen, 1);
}

static void nothing(nb_job *job) { (void)job; }

static void between_parts(nb_test_sink *s) {
    (void)s;
    if (parts.parts < 2) parts.threads[parts.parts] = pthread_self();
    if (parts.parts++ == 1) nb_test_gate_open(&parts.seen);
    if (parts.parts > 1) return;
    assert_status(NB_OK, nb_workers_submit(the.senders.workers, &parts.first));
    nb_test_gate_wait(&parts.begun, 1);
    assert_status(NB_OK, nb_workers_submit(the.senders.workers, &parts.second));
}

static void the_next_part_is_any_workers(const char *name) {
    open_for(name, 2);
    add_plain_file(BUFFER * 10);
    parts = (handing_over){
        {keep_other, nothing, NULL}, {keep_first, nothing, NULL}, NB_TEST_GATE, NB_TEST_GATE, NB_TEST_GATE, {0}, 0};
    nb_test_sink *s = nb_test_sink_create(BUFFER, 1000, BUFFER * 10);
    s->sent = between_parts;
    nb_sending *sending = nb_test_sending_begin(&the, s);
    /* Given to a worker once: workers hand it on. */
    assert_int_equal(NB_STEP_DONE, nb_test_sending_step(&the, sending, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(10, parts.parts);
    assert_false(pthread_equal(parts.threads[0], parts.threads[1]));
    assert_int_equal(10, atomic_load(&figures()->bursts));
    assert_int_equal(BUFFER * 10, atomic_load(&figures()->bytes));
    assert_int_equal(0, s->waits);
    nb_test_sink_free(s);
    close_sendings();
}

static void of_eba_any_worker_takes_the_next_part(void **state) {
    (void)state;
    the_next_part_is_any_workers("eba");
}

static void of_enba_any_worker_takes_the_next_part(void **state) {
    (void)state;
    the_next_part_is_any_workers("enba");
}

static void eba_blocks_in_its_writes_but_not_for_long(void **state) {
    (void)state;
    open_for("eba", 2);
    add_plain_file(BUFFER * 4);
    nb_test_sink *s = nb_test_sink_create(16, 2, BUFFER * 4);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    /* The client reads: the loop is not asked. */
    assert_int_equal(NB_STEP_DONE, nb_test_sending_step(&the, sending, UINT64_MAX));
    nb_sending_end(sending);
    assert_int_equal(7, s->waits);
    assert_int_equal(0, s->long_waits);
    nb_test_sink_free(s);
    add_plain_file(BUFFER * 4);
    s = nb_test_sink_create(16, 2, BUFFER * 4);
    s->stalled = true;
    sending = nb_test_sending_begin(&the, s);
    /* The client does not read: a worker waits for a moment. */
    assert_int_equal(NB_STEP_WRITABLE, nb_test_sending_step(&the, sending, UINT64_MAX));
    assert_int_equal(1, s->waits);
    assert_int_equal(0, s->long_waits);
    nb_sending_end(sending);
    nb_test_sink_free(s);
    close_sendings();
}

static void enba_never_blocks(void **state) {
    (void)state;
    for (unsigned workers = 0; workers < 3; workers += 2) {
        open_for("enba", workers);
        add_plain_file(BUFFER * 4);
        nb_test_sink *s = nb_test_sink_create(16, 2, BUFFER * 4);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        nb_step step;
        unsigned writable = 0;
        while ((step = nb_test_sending_step(&the, sending, UINT64_MAX)) != NB_STEP_DONE) {
            if (step == NB_STEP_WRITABLE) writable++;
        }
        nb_sending_end(sending);
        assert_int_equal(7, writable);
        assert_int_equal(0, s->waits);
        if (workers == 0) assert_true(nb_test_sink_used_here(s));
        if (workers > 0) assert_false(nb_test_sink_used_here(s));
        nb_test_sink_free(s);
        close_sendings();
    }
}

/* --- auto: from the loop what is in memory --- */

static void auto_sends_from_the_loop_what_is_in_memory(void **state) {
    (void)state;
    open_for("auto", 4);
    nb_test_sending_memory(&the, 0, 100);
    nb_test_sending_file(&the, nb_test_queue_new_file(5500000), 100, 5000000);
    nb_test_sink *s = nb_test_sink_create(300000, 1000, 5000100);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    unsigned turns = 1;
    while (nb_test_sending_step(&the, sending, UINT64_MAX) == NB_STEP_OTHERS)
        turns++;
    nb_sending_end(sending);
    assert_true(nb_test_sink_used_here(s));
    assert_int_equal(3, turns); /* two megabytes each */
    assert_int_equal(1, s->more);
    assert_int_equal(0, s->waits);
    assert_int_equal(0, atomic_load(&the.senders.read_ahead));
    nb_test_sink_expect_pattern(s, 5000100);
    nb_test_sink_free(s);
    close_sendings();
}

static void auto_has_workers_read_what_is_not_and_sends_from_the_loop(void **state) {
    (void)state;
    static const nb_test_pages kinds[] = {NB_TEST_PAGES_COLD, NB_TEST_PAGES_UNTOLD};
    for (unsigned i = 0; i < 2; i++) {
        open_for("auto", 4);
        nb_test_pages_set(kinds[i]);
        nb_test_sending_memory(&the, 0, 100);
        nb_test_sending_file(&the, nb_test_queue_new_file(3000000), 100, 2500000);
        nb_test_sink *s = nb_test_sink_create(300000, 1000, 2500100);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        uint64_t sent;
        assert_int_equal(NB_STEP_WORKER, nb_sending_step(sending, UINT64_MAX, &sent));
        nb_test_sending_await(sending);
        assert_int_equal(NB_STEP_LOOP, nb_sending_take_back(sending));
        assert_int_equal(0, s->size); /* the head waits for the file, and both leave together */
        assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
        nb_sending_end(sending);
        assert_true(nb_test_sink_used_here(s));
        assert_int_equal(2500000, atomic_load(&the.senders.read_ahead));
        assert_int_equal(0, atomic_load(&the.senders.pages_lost));
        nb_test_sink_expect_pattern(s, 2500100);
        nb_test_sink_free(s);
        close_sendings();
    }
}

static void auto_sends_what_there_is_and_has_workers_read_the_rest(void **state) {
    (void)state;
    enum { THERE = 11 * 131072, BYTES = 2500000 };
    open_for("auto", 4);
    nb_test_pages_set(NB_TEST_PAGES_COLD);
    /* No page is probed between there and the next 128 KB. */
    atomic_store(&nb_test_pages_read_until, THERE + 1000);
    nb_test_sending_file(&the, nb_test_queue_new_file(BYTES), 0, BYTES);
    nb_test_sink *s = nb_test_sink_create(BYTES, 1000, BYTES);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    uint64_t sent;
    assert_int_equal(NB_STEP_WORKER, nb_sending_step(sending, UINT64_MAX, &sent));
    assert_int_equal(THERE, sent);
    nb_test_sending_await(sending);
    assert_int_equal(NB_STEP_LOOP, nb_sending_take_back(sending));
    the.sent += sent;
    assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
    nb_sending_end(sending);
    assert_true(nb_test_sink_used_here(s));
    assert_int_equal(BYTES - THERE, atomic_load(&the.senders.read_ahead));
    nb_test_sink_expect_pattern(s, BYTES);
    nb_test_sink_free(s);
    close_sendings();
}

static void auto_counts_pages_that_do_not_stay_and_lets_a_worker_send_them(void **state) {
    (void)state;
    open_for("auto", 4);
    nb_test_pages_set(NB_TEST_PAGES_ALWAYS_COLD);
    add_plain_file(1 << 20);
    nb_test_sink *s = nb_test_sink_create(300000, 1000, 1 << 20);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
    nb_sending_end(sending);
    assert_int_equal(1, atomic_load(&the.senders.pages_lost));
    assert_false(nb_test_sink_used_here(s));
    nb_test_sink_expect_pattern(s, 1 << 20);
    nb_test_sink_free(s);
    close_sendings();
}

/* Returns how often the page cache was looked at. */
static unsigned send_range(nb_file *file, size_t offset, size_t bytes) {
    unsigned before = atomic_load(&nb_test_pages_probes);
    nb_test_sink *s = nb_test_sink_create(1 << 20, 1000, bytes);
    nb_test_sending_file(&the, nb_file_hold(file), offset, bytes);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
    nb_sending_end(sending);
    assert_int_equal(bytes, s->size);
    assert_true(nb_test_pattern_equal(s->taken, offset, bytes));
    nb_test_sink_free(s);
    return atomic_load(&nb_test_pages_probes) - before;
}

static void auto_does_not_look_again_for_what_any_download_has_just_found(void **state) {
    (void)state;
    enum { PART = 1 << 20, BYTES = 2 * PART + 300000 };
    open_for("auto", 4);
    nb_file *file = nb_test_queue_new_file(BYTES);
    file->facts.size = BYTES;
    atomic_store(&clock_ns, INT64_C(5) << 32);
    assert_int_equal(2 * 9 + 4, send_range(file, 0, BYTES));
    assert_int_equal(0, send_range(file, 0, BYTES));
    assert_int_equal(0, send_range(file, 100000, BYTES - 200000));
    atomic_fetch_add(&clock_ns, SEEN_NS - 1);
    assert_int_equal(0, send_range(file, PART, 20000));
    atomic_fetch_add(&clock_ns, 1);
    assert_int_equal(2, send_range(file, PART + 1, 20000)); /* a part of a part: not noted */
    assert_int_equal(9, send_range(file, PART, PART));
    assert_int_equal(0, send_range(file, PART, PART));
    assert_int_equal(9 + 4, send_range(file, 0, BYTES));
    atomic_fetch_add(&clock_ns, SEEN_NS);
    nb_test_pages_set(NB_TEST_PAGES_COLD);
    assert_int_not_equal(0, send_range(file, 0, BYTES));
    assert_int_equal(BYTES, atomic_load(&the.senders.read_ahead));
    nb_file_release(file);
    close_sendings();
}

static void auto_sends_a_small_file_in_one_call_with_its_head(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 1000, 15800, 16384};
    for (unsigned i = 0; i < 4; i++) {
        open_for("auto", 4);
        nb_test_sending_memory(&the, 0, 200);
        nb_test_sending_file(&the, nb_test_queue_new_file(20000), 200, sizes[i]);
        nb_test_sink *s = nb_test_sink_create(100000, 1000, 200 + sizes[i]);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        assert_int_equal(NB_STEP_DONE, nb_test_sending_step(&the, sending, UINT64_MAX));
        nb_sending_end(sending);
        assert_int_equal(1, s->writes);
        assert_int_equal(0, s->files);
        assert_int_equal(0, s->more);
        nb_test_sink_expect_pattern(s, 200 + sizes[i]);
        nb_test_sink_free(s);
        close_sendings();
    }
}

static void a_larger_one_follows_its_head_at_once(void **state) {
    (void)state;
    static const char *const names[] = {"auto", "eba", "enba", "sba"};
    for (unsigned i = 0; i < 4; i++) {
        open_for(names[i], 1);
        nb_test_sending_memory(&the, 0, 200);
        nb_test_sending_file(&the, nb_test_queue_new_file(20000), 200, 17000);
        nb_test_sink *s = nb_test_sink_create(100000, 1000, 17200);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        sending->download.buffer_bytes = 81920;
        assert_int_equal(NB_STEP_DONE, nb_test_sending_step(&the, sending, UINT64_MAX));
        nb_sending_end(sending);
        assert_int_equal(1, s->writes);
        assert_int_equal(1, s->more);
        assert_int_equal(1, s->files);
        nb_test_sink_free(s);
        close_sendings();
    }
}

int main(void) {
    nb_test_alarm(120);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sba_keeps_one_worker_to_the_end_and_waits_in_it),
        cmocka_unit_test(of_eba_any_worker_takes_the_next_part),
        cmocka_unit_test(of_enba_any_worker_takes_the_next_part),
        cmocka_unit_test(eba_blocks_in_its_writes_but_not_for_long),
        cmocka_unit_test(enba_never_blocks),
        cmocka_unit_test(auto_sends_from_the_loop_what_is_in_memory),
        cmocka_unit_test(auto_has_workers_read_what_is_not_and_sends_from_the_loop),
        cmocka_unit_test(auto_sends_what_there_is_and_has_workers_read_the_rest),
        cmocka_unit_test(auto_counts_pages_that_do_not_stay_and_lets_a_worker_send_them),
        cmocka_unit_test(auto_does_not_look_again_for_what_any_download_has_just_found),
        cmocka_unit_test(auto_sends_a_small_file_in_one_call_with_its_head),
        cmocka_unit_test(a_larger_one_follows_its_head_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
