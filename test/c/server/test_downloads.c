/*
 * test_downloads.c - what becomes of downloads: by the bytes that have left their connection, and how it ends.
 */
#include "server/downloads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "server/connection.h"
#include "server/loop.h"
#include "support/test.h"

enum { LOOPS = 2, ALGORITHM = 2, MS = 1000000 };

typedef struct fixture {
    nb_loop each[LOOPS];
    nb_loops loops;
    nb_loop *loop;
    nb_connection connection;
    nb_exchange exchange;
} fixture;

static fixture *f;
static long live;

static int setup(void **state) {
    (void)state;
    f = calloc(1, sizeof *f);
    f->loops = (nb_loops){.each = f->each, .count = LOOPS};
    f->loop = &f->each[0];
    for (int i = 0; i < LOOPS; i++) {
        f->each[i].all = &f->loops;
        f->each[i].senders.algorithm = 1;
    }
    f->exchange.connection = &f->connection;
    live = nb_alloc_live();
    assert_status(NB_OK, nb_downloads_measure(&f->loop->downloads));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < LOOPS; i++)
        nb_downloads_deinit(&f->each[i].downloads);
    assert_int_equal(live, nb_alloc_live());
    free(f);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A response of a head and a body of a file, put behind what the connection owes. */
static void respond(uint64_t head_bytes, uint64_t body_bytes, int64_t asked_ns) {
    f->exchange.began_ns = asked_ns;
    nb_downloads_begin(f->loop, &f->exchange, body_bytes);
    f->connection.outbox.bytes += head_bytes + body_bytes;
    nb_downloads_leaving(f->loop, &f->connection, &f->exchange);
}

static void leave(uint64_t bytes, int64_t now_ns) {
    f->loop->now_ns = now_ns;
    f->connection.outbox.bytes -= bytes;
    f->connection.sent += bytes;
    nb_downloads_sent(f->loop, &f->connection);
}

static uint64_t active(void) { return nb_counted(&f->loop->downloads.active); }

static uint64_t count(uint16_t algorithm, nb_download_result result) {
    return nb_downloads_sum(f->loop, algorithm, result);
}

static uint64_t measured(const nb_histogram *(*which)(const nb_loop *loop, nb_histogram *room)) {
    static nb_histogram room;
    return nb_histogram_count(which(f->loop, &room));
}

static void one_is_complete_with_its_last_byte(void **state) {
    (void)state;
    respond(200, 1000, 5 * MS);
    assert_int_equal(1, active());
    leave(200, 6 * MS);
    assert_int_equal(0, measured(nb_downloads_first_byte));
    leave(1, 7 * MS);
    leave(998, 8 * MS);
    assert_int_equal(1, measured(nb_downloads_first_byte));
    assert_int_equal(0, count(1, NB_DOWNLOAD_complete));
    leave(1, 9 * MS);
    assert_int_equal(1, count(1, NB_DOWNLOAD_complete));
    assert_int_equal(1, measured(nb_downloads_whole));
    assert_int_equal(1, measured(nb_downloads_first_byte));
    assert_int_equal(0, active());
    assert_int_equal(1000, nb_counted(&f->loop->downloads.bytes));
    assert_null(f->connection.downloads);
}

static void the_speed_of_large_ones_is_measured(void **state) {
    (void)state;
    static nb_histogram room;
    respond(100, NB_DOWNLOAD_SPEED_BYTES_MIN - 1, MS);
    leave(100 + NB_DOWNLOAD_SPEED_BYTES_MIN - 1, 2 * MS);
    assert_int_equal(0, measured(nb_downloads_speed));
    respond(100, 4 * NB_DOWNLOAD_SPEED_BYTES_MIN, 100 * MS);
    leave(100 + NB_DOWNLOAD_SPEED_BYTES_MIN, 101 * MS);
    leave(3 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2100 * MS); /* 4 MiB in 2 s */
    assert_int_equal(1, measured(nb_downloads_speed));
    uint64_t bytes = nb_histogram_quantile_ns(nb_downloads_speed(f->loop, &room), 500);
    assert_in_range(bytes, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN * 31 / 32, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN * 33 / 32);
    respond(0, 2 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2110 * MS); /* no time at all */
    leave(2 * NB_DOWNLOAD_SPEED_BYTES_MIN, 2110 * MS);
    assert_int_equal(2, measured(nb_downloads_speed));
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
    f->loop->senders.algorithm = 3;
    respond(0, 10, MS);
    leave(10, MS);
    assert_int_equal(1, count(ALGORITHM, NB_DOWNLOAD_complete));
    assert_int_equal(1, count(3, NB_DOWNLOAD_complete));
}

static void a_connection_that_ends_ends_all_that_are_on_their_way(void **state) {
    (void)state;
    static const struct {
        uint8_t said;
        bool stopping, draining;
        nb_download_result result;
    } rows[] = {{0, false, false, NB_DOWNLOAD_aborted},
                {NB_DOWNLOAD_timed_out, false, false, NB_DOWNLOAD_timed_out},
                {NB_DOWNLOAD_shrunk, true, false, NB_DOWNLOAD_shrunk},
                {0, true, false, NB_DOWNLOAD_stopped},
                {0, false, true, NB_DOWNLOAD_stopped}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f->connection.download_end = rows[i].said;
        f->loop->stopping = rows[i].stopping;
        f->loop->draining = rows[i].draining;
        uint64_t before = count(1, rows[i].result);
        respond(10, 100, MS);
        respond(10, 100, MS);
        leave(20, 2 * MS);
        nb_downloads_connection_end(f->loop, &f->connection);
        f->connection.outbox.bytes = 0;
        assert_int_equal(before + 2, count(1, rows[i].result));
        assert_int_equal(0, active());
    }
}

static void one_that_is_given_up_before_it_is_owed_is_not_complete(void **state) {
    (void)state;
    nb_downloads_dropped(f->loop, &f->connection, &f->exchange); /* no download */
    assert_int_equal(0, count(1, NB_DOWNLOAD_aborted));
    nb_downloads_begin(f->loop, &f->exchange, 100);
    nb_downloads_dropped(f->loop, &f->connection, &f->exchange);
    nb_downloads_dropped(f->loop, &f->connection, &f->exchange);
    assert_int_equal(1, count(1, NB_DOWNLOAD_aborted));
    assert_int_equal(0, active());
}

static void what_was_answered_without_a_file_is_counted_beside(void **state) {
    (void)state;
    nb_downloads_answered(f->loop, NB_DOWNLOAD_not_modified);
    nb_downloads_answered(&f->each[1], NB_DOWNLOAD_not_modified);
    nb_downloads_answered(f->loop, NB_DOWNLOAD_missing);
    assert_int_equal(2, count(0, NB_DOWNLOAD_not_modified));
    assert_int_equal(1, count(0, NB_DOWNLOAD_missing));
    assert_int_equal(0, active());
}

static void those_of_admin_are_none(void **state) {
    (void)state;
    f->connection.admin = true;
    respond(10, 100, MS);
    assert_int_equal(0, active());
    assert_null(f->connection.downloads);
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
    assert_int_equal(1024, f->loop->downloads.free_count);
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
