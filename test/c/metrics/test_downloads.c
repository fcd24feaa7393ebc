/*
 * test_downloads.c - what becomes of downloads: by the bytes that have left their connection, and
 * how it ends.
 */
#include "metrics/downloads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/counter.h"
#include "support/test.h"

enum { ALGORITHM = 2, MS = 1000000 };

typedef struct fixture {
    nb_downloads downloads;
    nb_reports reports;
    nb_senders senders;
    nb_turn_time time;
    nb_download_list list;
    nb_exchange exchange;
    uint64_t owed, sent; /* of the connection */
} fixture;

static fixture *f;
static long live;

static int setup(void **state) {
    (void)state;
    f = calloc(1, sizeof *f);
    nb_downloads_init(&f->downloads, &f->reports, &f->senders, &f->time);
    f->senders.algorithm = 1;
    f->exchange.counted = true;
    live = nb_alloc_live();
    assert_status(NB_OK, nb_downloads_measure(&f->downloads));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    nb_downloads_deinit(&f->downloads);
    assert_int_equal(live, nb_alloc_live());
    free(f);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A response of a head and a body of a file, put behind what the connection owes. */
static void respond(uint64_t head_bytes, uint64_t body_bytes, int64_t asked_ns) {
    f->exchange.began_ns = asked_ns;
    nb_downloads_begin(&f->downloads, &f->exchange, body_bytes);
    f->owed += head_bytes + body_bytes;
    nb_downloads_leaving(&f->downloads, &f->list, &f->exchange, f->sent + f->owed);
}

static void leave(uint64_t bytes, int64_t now_ns) {
    f->time.now_ns = now_ns;
    f->owed -= bytes;
    f->sent += bytes;
    nb_downloads_sent(&f->downloads, &f->list, f->sent);
}

static uint64_t active(void) { return nb_counted(&f->downloads.active); }

static uint64_t count(uint16_t algorithm, nb_download_result result) {
    return nb_counted(&f->downloads.results[algorithm][result]);
}

static void one_is_complete_with_its_last_byte(void **state) {
    (void)state;
    respond(200, 1000, 5 * MS);
    assert_int_equal(1, active());
    leave(200, 6 * MS);
    assert_int_equal(0, nb_histogram_count(f->downloads.first_byte));
    leave(1, 7 * MS);
    leave(998, 8 * MS);
    assert_int_equal(1, nb_histogram_count(f->downloads.first_byte));
    assert_int_equal(0, count(1, NB_DOWNLOAD_complete));
    leave(1, 9 * MS);
    assert_int_equal(1, count(1, NB_DOWNLOAD_complete));
    assert_int_equal(1, nb_histogram_count(f->downloads.whole));
    assert_int_equal(1, nb_histogram_count(f->downloads.first_byte));
    assert_int_equal(0, active());
    assert_int_equal(1000, nb_counted(&f->downloads.bytes));
    assert_null(f->list.first);
}

static void the_speed_of_large_ones_is_measured(void **state) {
    (void)state;
    respond(100, NB_DOWNLOAD_SPEED_BYTES_MIN - 1, MS);
    leave(100 + NB_DOWNLOAD_SPEED_BYTES_MIN - 1, 2 * MS);
    assert_int_equal(0, nb_histogram_count(f->downloads.speed));
    respond(100, 4 * NB_DOWNLOAD_SPEED_BYTES_MIN, 100 * MS);
    leave(100 + NB_DOWNLOAD_SPEED_BYTES_MIN, 101 * MS);
    leave(3 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2100 * MS); /* 4 MiB in 2 s */
    assert_int_equal(1, nb_histogram_count(f->downloads.speed));
    uint64_t bytes = nb_histogram_quantile_ns(f->downloads.speed, 500);
    assert_in_range(bytes, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN * 31 / 32, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN * 33 / 32);
    respond(0, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2110 * MS); /* no time at all */
    leave(2 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2110 * MS);
    assert_int_equal(2, nb_histogram_count(f->downloads.speed));
}

static void several_on_a_connection_end_one_after_the_other(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        respond(100, 400, MS);
    leave(600, 2 * MS);
    assert_int_equal(1, count(1, NB_DOWNLOAD_complete));
    leave(900, 3 * MS); /* the rest at once */
    assert_int_equal(3, count(1, NB_DOWNLOAD_complete));
    assert_int_equal(0, active());
}

static void each_counts_for_the_algorithm_that_sends_it(void **state) {
    (void)state;
    f->exchange.send_by.algorithm = ALGORITHM;
    respond(0, 10, MS);
    leave(10, MS);
    f->exchange.send_by.algorithm = 0;
    f->senders.algorithm = 3;
    respond(0, 10, MS);
    leave(10, MS);
    assert_int_equal(1, count(ALGORITHM, NB_DOWNLOAD_complete));
    assert_int_equal(1, count(3, NB_DOWNLOAD_complete));
}

static void a_connection_that_ends_ends_all_that_are_on_their_way(void **state) {
    (void)state;
    static const struct {
        uint8_t said;
        bool stopped;
        nb_download_result result;
    } rows[] = {{0, false, NB_DOWNLOAD_aborted},
                {NB_DOWNLOAD_timed_out, false, NB_DOWNLOAD_timed_out},
                {NB_DOWNLOAD_shrunk, true, NB_DOWNLOAD_shrunk},
                {0, true, NB_DOWNLOAD_stopped}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->list.end = rows[i].said;
        f->downloads.stopped = rows[i].stopped;
        uint64_t before = count(1, rows[i].result);
        respond(10, 100, MS);
        respond(10, 100, MS);
        leave(20, 2 * MS);
        nb_downloads_connection_end(&f->downloads, &f->list, f->sent);
        f->owed = 0;
        assert_int_equal(before + 2, count(1, rows[i].result));
        assert_int_equal(0, active());
    }
}

static void one_that_is_given_up_before_it_is_owed_is_not_complete(void **state) {
    (void)state;
    nb_downloads_dropped(&f->downloads, &f->list, &f->exchange, 0); /* no download */
    assert_int_equal(0, count(1, NB_DOWNLOAD_aborted));
    nb_downloads_begin(&f->downloads, &f->exchange, 100);
    nb_downloads_dropped(&f->downloads, &f->list, &f->exchange, 0);
    nb_downloads_dropped(&f->downloads, &f->list, &f->exchange, 0);
    assert_int_equal(1, count(1, NB_DOWNLOAD_aborted));
    assert_int_equal(0, active());
}

static void what_was_answered_without_a_file_is_counted_beside(void **state) {
    (void)state;
    nb_downloads_answered(&f->downloads, NB_DOWNLOAD_not_modified);
    nb_downloads_answered(&f->downloads, NB_DOWNLOAD_not_modified);
    nb_downloads_answered(&f->downloads, NB_DOWNLOAD_missing);
    assert_int_equal(2, count(0, NB_DOWNLOAD_not_modified));
    assert_int_equal(1, count(0, NB_DOWNLOAD_missing));
    assert_int_equal(0, active());
}

static void those_of_admin_are_none(void **state) {
    (void)state;
    f->exchange.counted = false;
    respond(10, 100, MS);
    assert_int_equal(0, active());
    assert_null(f->list.first);
}

static void without_memory_for_the_note_it_counts_as_complete(void **state) {
    (void)state;
    nb_alloc_fail_at(1);
    respond(10, 100, MS);
    nb_alloc_fail_at(0);
    assert_int_equal(1, count(1, NB_DOWNLOAD_complete));
    assert_int_equal(0, active());
    leave(110, 2 * MS);
    assert_int_equal(1, count(1, NB_DOWNLOAD_complete));
}

static void notes_are_used_again_and_only_so_many_kept(void **state) {
    (void)state;
    enum { MANY = 1500 };
    for (int i = 0; i < MANY; i++)
        respond(0, 1, MS);
    long most = nb_alloc_live();
    leave(MANY, 2 * MS);
    assert_int_equal(MANY, count(1, NB_DOWNLOAD_complete));
    assert_int_equal(1024, f->downloads.free_count);
    long kept = nb_alloc_live();
    assert_true(kept < most);
    respond(0, 1, MS);
    assert_int_equal(kept, nb_alloc_live());
    leave(1, 2 * MS);
}

static void every_result_has_a_name(void **state) {
    (void)state;
    assert_string_equal("complete", nb_download_result_name(NB_DOWNLOAD_complete));
    assert_string_equal("stopped", nb_download_result_name(NB_DOWNLOAD_stopped));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(one_is_complete_with_its_last_byte),
        CASE(the_speed_of_large_ones_is_measured),
        CASE(several_on_a_connection_end_one_after_the_other),
        CASE(each_counts_for_the_algorithm_that_sends_it),
        CASE(a_connection_that_ends_ends_all_that_are_on_their_way),
        CASE(one_that_is_given_up_before_it_is_owed_is_not_complete),
        CASE(what_was_answered_without_a_file_is_counted_beside),
        CASE(those_of_admin_are_none),
        CASE(without_memory_for_the_note_it_counts_as_complete),
        CASE(notes_are_used_again_and_only_so_many_kept),
        CASE(every_result_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
