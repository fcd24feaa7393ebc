/*
 * test_reports.c - reports of named downloads: what is taken down, in which order it is read, what
 * a full queue drops, what an id is.
 */
#include "metrics/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/counter.h"
#include "metrics/downloads.h"
#include "poll/wake.h"
#include "support/test.h"

typedef struct fixture {
    nb_reports reports;
    nb_exchange exchange;
    nb_wake wake;
} fixture;

static _Alignas(nb_report) char place[NB_REPORT_BYTES_MAX];

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    assert_status(NB_OK, nb_wake_init(&f->wake));
    assert_status(NB_OK, nb_reports_open(&f->reports, &f->wake));
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    nb_reports_forget(&f->exchange.report);
    nb_reports_deinit(&f->reports);
    nb_wake_deinit(&f->wake);
    free(f);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static nb_slice text(const char *bytes) { return nb_slice_of(bytes, strlen(bytes)); }

static void begin(fixture *f, const char *id, const char *path) {
    nb_reports_begin(&f->reports, &f->exchange, text(id), text(path));
}

static const nb_report *take(fixture *f) {
    nb_report *report = (nb_report *)(void *)place;
    return nb_reports_take(&f->reports, report) ? report : NULL;
}

static void expect(fixture *f, const char *id, const char *path, uint16_t result, uint64_t bytes) {
    const nb_report *report = take(f);
    assert_non_null(report);
    assert_true(nb_slice_equal(nb_report_id(report), text(id)));
    assert_true(nb_slice_equal(nb_report_path(report), text(path)));
    assert_int_equal(result, report->result);
    assert_int_equal(bytes, report->bytes);
    assert_true(report->duration_ns >= 0);
}

static void what_has_ended_is_read_in_its_order(void **state) {
    fixture *f = *state;
    begin(f, "one", "/a");
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, 7);
    assert_null(f->exchange.report);
    begin(f, "two", "");
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_aborted, 0);
    nb_wake_wait(&f->wake, -1);
    expect(f, "one", "/a", NB_DOWNLOAD_complete, 7);
    expect(f, "two", "", NB_DOWNLOAD_aborted, 0);
    assert_null(take(f));
    assert_int_equal(2, nb_counted(&f->reports.queued));
}

static void an_id_has_1_to_128_visible_characters(void **state) {
    fixture *f = *state;
    char longest[NB_REPORT_ID_BYTES_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[NB_REPORT_ID_BYTES_MAX + 1] = '\0';
    const char *const others[] = {"", "a b", "a\tb", "\x7f", "\xc3\xbc", longest};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin(f, others[i], "/a");
        assert_null(f->exchange.report);
    }
    longest[NB_REPORT_ID_BYTES_MAX] = '\0';
    begin(f, longest, "/a");
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, 1);
    expect(f, longest, "/a", NB_DOWNLOAD_complete, 1);
}

static void of_a_long_path_the_beginning_is_told(void **state) {
    fixture *f = *state;
    char path[2 * NB_REPORT_PATH_BYTES_MAX + 1];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    begin(f, "id", path);
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, 1);
    path[NB_REPORT_PATH_BYTES_MAX] = '\0';
    expect(f, "id", path, NB_DOWNLOAD_complete, 1);
}

static void a_full_queue_drops_and_counts_and_goes_on_when_there_is_room(void **state) {
    fixture *f = *state;
    nb_reports *reports = &f->reports;
    unsigned sent = 0;
    while (nb_counted(&reports->dropped) == 0) {
        begin(f, "id", "/path");
        nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, sent++);
        assert_true(sent < NB_REPORTS_RING_BYTES);
    }
    assert_int_equal(sent - 1, nb_counted(&reports->queued));
    assert_true(sent > 800);
    for (unsigned i = 0; i + 1 < sent; i++)
        expect(f, "id", "/path", NB_DOWNLOAD_complete, i);
    assert_null(take(f));
    begin(f, "again", "/path");
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, 1);
    expect(f, "again", "/path", NB_DOWNLOAD_complete, 1);
}

static void where_nobody_reads_nothing_is_kept(void **state) {
    fixture *f = *state;
    nb_reports_deinit(&f->reports);
    begin(f, "id", "/a");
    assert_null(f->exchange.report);
    assert_null(take(f));
    nb_reports_end(&f->reports, &f->exchange.report, NB_DOWNLOAD_complete, 1);
}

static void the_answer_to_head_is_no_download(void **state) {
    fixture *f = *state;
    f->exchange.response.head_request = true;
    begin(f, "id", "/a");
    assert_null(f->exchange.report);
}

static void without_memory_it_is_dropped_and_counted(void **state) {
    fixture *f = *state;
    nb_alloc_fail_at(1);
    begin(f, "id", "/a");
    nb_alloc_fail_at(0);
    assert_null(f->exchange.report);
    assert_int_equal(1, nb_counted(&f->reports.dropped));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_has_ended_is_read_in_its_order),
        CASE(an_id_has_1_to_128_visible_characters),
        CASE(of_a_long_path_the_beginning_is_told),
        CASE(a_full_queue_drops_and_counts_and_goes_on_when_there_is_room),
        CASE(where_nobody_reads_nothing_is_kept),
        CASE(the_answer_to_head_is_no_download),
        CASE(without_memory_it_is_dropped_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
