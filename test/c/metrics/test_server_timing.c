/*
 * test_server_timing.c - the field as W3C Server Timing has it: names that are tokens, durations
 * in milliseconds, descriptions in quotes; and its bound.
 */
#include "metrics/server_timing.h"

#include <ctype.h>
#include <string.h>

#include "support/test.h"

static char out[NB_SERVER_TIMING_BYTES_MAX + 1];

static const char *written(const nb_account *account, int64_t now_ns) {
    size_t size = nb_server_timing_write(out, account, now_ns);
    assert_true(size <= NB_SERVER_TIMING_BYTES_MAX);
    out[size] = '\0';
    return out;
}

static void a_request_that_has_not_waited_is_told_in_one_line(void **state) {
    (void)state;
    nb_account account = {.exchange = 1, .head_ns = 12345, .queue_ns = 999, .taken_ns = 1000, .ran_ns = 2000000};
    assert_string_equal("server-timing: head;dur=0.012, queue;dur=0.000, run;dur=3.001, ran;dur=2.000, "
                        "allocations;desc=\"0\"\r\n",
                        written(&account, 3002000));
}

static void waits_stand_by_kind_with_how_many_they_were(void **state) {
    (void)state;
    nb_account account = {.exchange = 1, .body_ns = 1000000, .gc_ns = 4000000, .allocated = 1234};
    nb_account_waited(&account, NB_FIBER_WAIT_database, 0, 1500000, 1500000);
    nb_account_waited(&account, NB_FIBER_WAIT_database, 0, 1000000, 1002000);
    nb_account_waited(&account, NB_FIBER_WAIT_client_body, 0, 7000, 7000);
    assert_string_equal("server-timing: head;dur=0.000, body;dur=1.000, queue;dur=0.000, run;dur=5.000, "
                        "ran;dur=0.000, wait-database;dur=2.500;desc=\"2 waits\", wait-client_body;dur=0.007, "
                        "wait-turn;dur=0.002, gc;dur=4.000, allocations;desc=\"1234\"\r\n",
                        written(&account, 5000000));
}

static void a_clock_that_went_back_is_told_as_nothing(void **state) {
    (void)state;
    nb_account account = {.exchange = 1, .taken_ns = 100};
    assert_non_null(strstr(written(&account, 50), "run;dur=0.000"));
}

static void the_largest_numbers_have_room(void **state) {
    (void)state;
    nb_account account = {.exchange = 1,
                          .head_ns = INT64_MAX,
                          .body_ns = INT64_MAX,
                          .queue_ns = INT64_MAX,
                          .ran_ns = INT64_MAX,
                          .gc_ns = INT64_MAX,
                          .allocated = UINT64_MAX};
    for (unsigned i = 0; i < NB_FIBER_WAIT_KINDS; i++) {
        account.wait_ns[i] = INT64_MAX;
        account.waits[i] = UINT32_MAX;
    }
    const char *line = written(&account, INT64_MAX);
    for (size_t i = strlen("server-timing: "); line[i] != '\r'; i++) {
        assert_true(isalnum((unsigned char)line[i]) || strchr("-_;=., \"", line[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_has_not_waited_is_told_in_one_line),
        cmocka_unit_test(waits_stand_by_kind_with_how_many_they_were),
        cmocka_unit_test(a_clock_that_went_back_is_told_as_nothing),
        cmocka_unit_test(the_largest_numbers_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
