/*
 * test_request_log.c - what the log of requests says of TLS, and where nothing is said.
 */
#include "metrics/request_log.h"

#include <string.h>
#include <unistd.h>

#include "support/test.h"
#include "tls/tls.h"

static void expect(nb_slice told, const char *expected) {
    assert_int_equal(strlen(expected), told.size);
    assert_memory_equal(expected, told.data, told.size);
}

static void what_was_agreed_upon_is_told(void **state) {
    (void)state;
    nb_request_log log = {.enabled = true};
    nb_tls_agreement tls = {"TLS_AES_256_GCM_SHA384", NB_TLS_1_3, false};
    expect(nb_request_log_tls(&log, &tls), "TLSv1.3 TLS_AES_256_GCM_SHA384 full");
    tls = (nb_tls_agreement){"ECDHE-ECDSA-CHACHA20-POLY1305", NB_TLS_1_2, true};
    expect(nb_request_log_tls(&log, &tls), "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305 resumed");
}

static void nothing_is_told_of_plain_connections_or_without_a_log(void **state) {
    (void)state;
    nb_request_log log = {.enabled = true};
    const nb_tls_agreement plain = {NULL, 0, false}, tls = {"TLS_AES_256_GCM_SHA384", NB_TLS_1_3, false};
    expect(nb_request_log_tls(&log, &plain), "");
    log.enabled = false;
    expect(nb_request_log_tls(&log, &tls), "");
}

static void a_name_without_room_is_left_out(void **state) {
    (void)state;
    char name[NB_REQUEST_TLS_BYTES];
    memset(name, 'A', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    nb_request_log log = {.enabled = true};
    expect(nb_request_log_tls(&log, &(nb_tls_agreement){name, NB_TLS_1_3, false}), "");
}

static void an_answer_of_the_loop_tells_it_behind_the_line(void **state) {
    (void)state;
    static const char lines[] = "GET /a HTTP/1.1\r\n";
    int ends[2];
    char text[1000];
    assert_int_equal(0, pipe(ends));
    nb_request_log log = {.enabled = true};
    assert_status(NB_OK, nb_log_create(ends[1], &log.log));
    nb_slice received = nb_slice_of(lines, sizeof(lines) - 1);
    nb_request_log_answered(&log, "::1", received, 413, "too much", NB_SLICE("TLSv1.3 A full"));
    nb_request_log_answered(&log, "", received, 400, "bad", nb_slice_of("", 0));
    nb_log_destroy(log.log);
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, "info: request 413 ::1 too much\tGET /a HTTP/1.1\tTLSv1.3 A full\n"));
    assert_non_null(strstr(text, "info: request 400 - bad\tGET /a HTTP/1.1\n"));
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_agreed_upon_is_told),
        cmocka_unit_test(nothing_is_told_of_plain_connections_or_without_a_log),
        cmocka_unit_test(a_name_without_room_is_left_out),
        cmocka_unit_test(an_answer_of_the_loop_tells_it_behind_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
