/*
 * test_algorithms.c - the contract of every algorithm, with and without workers, over a client
 * that takes k bytes at a time, and with every page cache.
 */
#include "support/sending.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/fake_page_cache.h"

static nb_test_sendings the;
/* Of the group that runs. */
static uint16_t algorithm;
static unsigned worker_count;

static int setup(void **state) {
    (void)state;
    nb_test_pages_set(NB_TEST_PAGES_WARM);
    nb_test_sendings_open(&the, algorithm, worker_count);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return nb_test_sendings_close(&the);
}

/* Fills the queue with the pattern: a head, three files (one with several ranges), and memory
 * between and behind them. The files are longer than their ranges. */
static size_t fill(void) {
    nb_file *file = nb_test_queue_new_file(3000);
    size_t at = 0;
    nb_test_sending_memory(&the, at, 70), at += 70;
    nb_test_sending_file(&the, nb_file_hold(file), at, 500), at += 500;
    nb_test_sending_memory(&the, at, 17), at += 17;
    nb_test_sending_file(&the, nb_file_hold(file), at, 90), at += 90;
    nb_test_sending_file(&the, file, at, 1), at += 1;
    nb_test_sending_file(&the, nb_test_queue_new_file(at + 5000), at, 300), at += 300;
    nb_test_sending_memory(&the, at, 40), at += 40;
    assert_int_equal(at, the.send_queue.bytes);
    return at;
}

static void every_short_write_keeps_bytes_and_order(void **state) {
    (void)state;
    for (size_t step = 1; step <= 1100; step += step < 8 ? 1 : 91) {
        for (unsigned calls = 1; calls < 4; calls++) {
            size_t total = fill();
            nb_test_sink *s = nb_test_sink_create(step, calls, total);
            nb_sending *sending = nb_test_sending_begin(&the, s);
            assert_true(nb_send_queue_empty(&the.send_queue));
            the.sent = 0;
            assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
            assert_int_equal(total, the.sent);
            assert_int_equal(0, sending->left);
            nb_sending_end(sending);
            nb_test_sink_expect_pattern(s, total);
            nb_test_sink_free(s);
        }
    }
}

static void who_is_told_that_the_client_is_full_waits_for_it(void **state) {
    (void)state;
    for (size_t step = 1; step < 70; step += 23) {
        size_t total = 1000;
        nb_test_sending_file(&the, nb_test_queue_new_file(total), 0, total);
        nb_test_sink *s = nb_test_sink_create(step, 1000000, total);
        s->tells = true;
        nb_sending *sending = nb_test_sending_begin(&the, s);
        assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
        nb_sending_end(sending);
        assert_int_equal(0, s->in_vain);
        nb_test_sink_expect_pattern(s, total);
        nb_test_sink_free(s);
    }
}

static void no_page_cache_changes_what_is_sent(void **state) {
    (void)state;
    static const nb_test_pages kinds[] = {NB_TEST_PAGES_WARM, NB_TEST_PAGES_COLD, NB_TEST_PAGES_ALWAYS_COLD,
                                          NB_TEST_PAGES_UNTOLD};
    for (unsigned i = 0; i < 4; i++) {
        nb_test_pages_set(kinds[i]);
        size_t head = 30, bytes = 1300000;
        nb_test_sending_memory(&the, 0, head);
        nb_test_sending_file(&the, nb_test_queue_new_file(head + bytes), head, bytes);
        nb_test_sink *s = nb_test_sink_create(70000, 5, head + bytes);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        sending->download.buffer_bytes = 81920;
        assert_int_equal(NB_STEP_DONE, nb_test_sending_drive(&the, sending, s));
        nb_sending_end(sending);
        nb_test_sink_expect_pattern(s, head + bytes);
        nb_test_sink_free(s);
    }
}

static void a_step_sends_what_it_is_allowed_and_not_much_more(void **state) {
    (void)state;
    size_t total = 30000;
    nb_test_sending_file(&the, nb_test_queue_new_file(total), 0, total);
    nb_test_sink *s = nb_test_sink_create(total, 1000000, total);
    nb_sending *sending = nb_test_sending_begin(&the, s);
    sending->paced = true;
    nb_step step = NB_STEP_OTHERS;
    while (step != NB_STEP_DONE) {
        uint64_t before = the.sent;
        step = nb_test_sending_step(&the, sending, 25);
        assert_in_range(the.sent - before, 1, 25);
    }
    nb_sending_end(sending);
    nb_test_sink_expect_pattern(s, total);
    nb_test_sink_free(s);
}

static void a_file_that_shrank_fails_with_what_there_was(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 400};
    for (unsigned i = 0; i < 6; i++) {
        nb_file *file = nb_test_queue_new_file(1000);
        nb_test_sending_file(&the, file, 0, 1000);
        nb_test_sending_memory(&the, 1000, 10);
        assert_int_equal(0, ftruncate(file->fd, (off_t)sizes[i]));
        nb_test_sink *s = nb_test_sink_create(37, 1000000, 2000);
        nb_sending *sending = nb_test_sending_begin(&the, s);
        assert_int_equal(NB_STEP_FAILED, nb_test_sending_drive(&the, sending, s));
        assert_status(NB_EOF, sending->status);
        nb_sending_end(sending);
        nb_test_sink_expect_pattern(s, sizes[i]);
        nb_test_sink_free(s);
    }
}

static void a_client_that_has_gone_fails_with_its_errno(void **state) {
    (void)state;
    (void)fill();
    nb_test_sink *s = nb_test_sink_create(64, 3, 2000);
    s->failing = NB_SYSTEM;
    nb_sending *sending = nb_test_sending_begin(&the, s);
    assert_int_equal(NB_STEP_FAILED, nb_test_sending_drive(&the, sending, s));
    assert_status(NB_SYSTEM, sending->status);
    assert_int_equal(ECONNRESET, sending->error);
    nb_sending_end(sending);
    assert_int_equal(0, s->size);
    nb_test_sink_free(s);
}

/* Steps until the sending waits for its client: on the loop (true), or in a worker. */
static bool step_until_stalled(nb_sending *sending, nb_test_sink *s) {
    nb_step step = NB_STEP_OTHERS;
    while (step != NB_STEP_WRITABLE) {
        uint64_t sent;
        step = nb_sending_step(sending, UINT64_MAX, &sent);
        if (step != NB_STEP_WORKER) continue;
        pthread_mutex_lock(&s->lock);
        while (s->long_waits == 0 && s->calls_left > 0)
            pthread_cond_wait(&s->changed, &s->lock);
        bool waits = s->long_waits > 0;
        pthread_mutex_unlock(&s->lock);
        if (waits || !strcmp(sending->algorithm->name, "sba")) return false;
        nb_test_sending_await(sending);
        step = nb_sending_take_back(sending);
        (void)nb_sending_progress(sending);
    }
    return true;
}

static void wake_on_progress(nb_test_sink *s) {
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void a_client_that_stops_reading_can_be_given_up(void **state) {
    (void)state;
    size_t total = fill();
    nb_test_sink *s = nb_test_sink_create(50, 9, total);
    s->stalled = true;
    s->sent = wake_on_progress;
    nb_sending *sending = nb_test_sending_begin(&the, s);
    if (!step_until_stalled(sending, s)) {
        nb_sending_cancel(sending, true);
        nb_test_sending_await(sending);
        assert_int_equal(NB_STEP_FAILED, nb_sending_take_back(sending));
        assert_status(NB_SYSTEM, sending->status);
    }
    nb_sending_end(sending);
    nb_test_sink_expect_pattern(s, s->size);
    assert_true(s->size < total);
    nb_test_sink_free(s);
}

static void many_at_a_time_do_not_mix(void **state) {
    (void)state;
    enum { MANY = 12 };
    nb_sending *sendings[MANY];
    nb_test_sink *sinks[MANY];
    size_t total = 0;
    nb_step steps[MANY];
    for (int i = 0; i < MANY; i++) {
        total = fill();
        sinks[i] = nb_test_sink_create((size_t)(11 + i), 4, total);
        sendings[i] = nb_test_sending_begin(&the, sinks[i]);
        steps[i] = NB_STEP_OTHERS;
    }
    for (int left = MANY; left > 0;) {
        for (int i = 0; i < MANY; i++) { /* all of them are begun before one is waited for */
            uint64_t sent;
            if (steps[i] != NB_STEP_DONE) steps[i] = nb_sending_step(sendings[i], UINT64_MAX, &sent);
        }
        left = 0;
        for (int i = 0; i < MANY; i++) {
            if (sendings[i]->with_worker) {
                nb_test_sending_await(sendings[i]);
                steps[i] = nb_sending_take_back(sendings[i]);
                (void)nb_sending_progress(sendings[i]);
            }
            assert_int_not_equal(NB_STEP_FAILED, steps[i]);
            if (steps[i] != NB_STEP_DONE) left++;
        }
    }
    for (int i = 0; i < MANY; i++) {
        nb_sending_end(sendings[i]);
        nb_test_sink_expect_pattern(sinks[i], total);
        nb_test_sink_free(sinks[i]);
    }
}

static void without_memory_nothing_begins_and_nothing_is_lost(void **state) {
    (void)state;
    size_t total = fill();
    nb_test_sink *s = nb_test_sink_create(1, 1, total);
    nb_alloc_fail_at(1);
    assert_null(nb_sending_begin(&the.senders, &the.send_queue, &s->transport, s));
    nb_alloc_fail_at(0);
    assert_int_equal(total, the.send_queue.bytes);
    assert_int_equal(4, the.send_queue.files);
    nb_test_sink_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int run_contract(const char *name, unsigned workers) {
    const struct CMUnitTest contract[] = {
        CASE(every_short_write_keeps_bytes_and_order),
        CASE(who_is_told_that_the_client_is_full_waits_for_it),
        CASE(no_page_cache_changes_what_is_sent),
        CASE(a_step_sends_what_it_is_allowed_and_not_much_more),
        CASE(a_file_that_shrank_fails_with_what_there_was),
        CASE(a_client_that_has_gone_fails_with_its_errno),
        CASE(a_client_that_stops_reading_can_be_given_up),
        CASE(many_at_a_time_do_not_mix),
        CASE(without_memory_nothing_begins_and_nothing_is_lost),
    };
    char title[40];
    algorithm = nb_algorithms_find(name);
    worker_count = workers;
    (void)snprintf(title, sizeof(title), "%s, %u workers", name, workers);
    return _cmocka_run_group_tests(title, contract, sizeof(contract) / sizeof(*contract), NULL, NULL);
}

int main(void) {
    nb_test_alarm(120);
    static const char *const names[] = {"auto", "eba", "enba", "sba"};
    int failed = 0;
    for (unsigned i = 0; i < 4; i++) {
        failed += run_contract(names[i], 0);
        failed += run_contract(names[i], 3);
    }
    return failed;
}
