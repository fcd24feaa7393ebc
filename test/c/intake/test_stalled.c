/*
 * test_stalled.c - reports arrive in order as far as there is room, and damage by another process
 * does no harm.
 */
#include "intake/stalled.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/test.h"

static nb_stalled stalled;

static int setup(void **state) {
    (void)state;
    memset(&stalled, 0, sizeof stalled);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void what_is_told_is_heard_in_order(void **state) {
    (void)state;
    nb_stalled_row row;
    assert_false(nb_stalled_read(&stalled, &row));
    nb_stalled_write(&stalled, "GET", "/a");
    nb_stalled_write(&stalled, "POST", "/b");
    assert_true(nb_stalled_read(&stalled, &row));
    assert_string_equal("GET", row.method);
    assert_string_equal("/a", row.path);
    assert_true(nb_stalled_read(&stalled, &row));
    assert_string_equal("/b", row.path);
    assert_false(nb_stalled_read(&stalled, &row));
}

static void without_room_it_is_dropped(void **state) {
    (void)state;
    char path[300];
    nb_stalled_row row;
    memset(path, 'a', sizeof path);
    path[NB_STALLED_PATH_BYTES] = '\0';
    nb_stalled_write(&stalled, "GET", path);
    assert_false(nb_stalled_read(&stalled, &row));
    for (unsigned i = 0; i < NB_STALLED_ROWS + 3; i++) {
        snprintf(path, sizeof path, "/%u", i);
        nb_stalled_write(&stalled, "GET", path);
    }
    for (unsigned i = 0; i < NB_STALLED_ROWS; i++) {
        snprintf(path, sizeof path, "/%u", i);
        assert_true(nb_stalled_read(&stalled, &row));
        assert_string_equal(path, row.path);
    }
    assert_false(nb_stalled_read(&stalled, &row));
}

static void whatever_another_process_writes_is_text_with_an_end(void **state) {
    (void)state;
    nb_stalled_row row;
    memset(&stalled, 0x41, sizeof stalled);
    assert_true(nb_stalled_read(&stalled, &row) || true);
    atomic_store(&stalled.written, 7);
    atomic_store(&stalled.read, 5);
    assert_true(nb_stalled_read(&stalled, &row));
    assert_int_equal(NB_STALLED_PATH_BYTES - 1, strlen(row.path));
    assert_int_equal(NB_STALLED_METHOD_BYTES - 1, strlen(row.method));
}

static void *tell_many(void *unused) {
    char path[16];
    for (unsigned i = 1; i <= 20000; i++) {
        snprintf(path, sizeof path, "/%u", i);
        nb_stalled_write(&stalled, "GET", path);
    }
    return unused;
}

static void two_threads_may_do_it_at_once(void **state) {
    (void)state;
    pthread_t teller;
    nb_stalled_row row;
    unsigned last = 0, number, heard = 0;
    assert_int_equal(0, pthread_create(&teller, NULL, tell_many, NULL));
    for (int i = 0; i < 200000; i++) {
        if (!nb_stalled_read(&stalled, &row)) continue;
        assert_int_equal(1, sscanf(row.path, "/%u", &number));
        assert_true(number > last);
        last = number;
        heard++;
    }
    pthread_join(teller, NULL);
    while (nb_stalled_read(&stalled, &row))
        heard++;
    assert_true(heard > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_is_told_is_heard_in_order),
        CASE(without_room_it_is_dropped),
        CASE(whatever_another_process_writes_is_text_with_an_end),
        CASE(two_threads_may_do_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
