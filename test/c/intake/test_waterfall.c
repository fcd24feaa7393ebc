/*
 * test_waterfall.c - waits in the order in which they began, cut off and counted at the bounds.
 */
#include "intake/waterfall.h"

#include <string.h>

#include "support/test.h"

static nb_waterfall waterfall;

static int setup(void **state) {
    (void)state;
    memset(&waterfall, 0xee, sizeof waterfall);
    nb_waterfall_begin(&waterfall);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static uint32_t add(nb_fiber_wait_kind kind, int64_t since_ns, const char *text, bool own) {
    nb_fiber_wait facts = {
        .since_ns = since_ns, .kind = (uint8_t)kind, .direction = NB_FIBER_READS, .own = own, .number = 7};
    return nb_waterfall_add(&waterfall, &facts, nb_slice_of(text, strlen(text)));
}

static void a_wait_is_kept_with_its_times_and_its_line(void **state) {
    (void)state;
    uint32_t first = add(NB_FIBER_WAIT_database, 100, "pg 10.0.0.5:5432", true);
    uint32_t second = add(NB_FIBER_WAIT_sleep, 150, "", false);
    nb_waterfall_end(&waterfall, second, 0, 170, NB_SLICE(""));
    nb_waterfall_end(&waterfall, first, 180, 190, NB_SLICE("app/order.rb:7"));
    assert_int_equal(2, waterfall.count);
    const nb_waited *wait = &waterfall.waits[first];
    assert_int_equal(NB_FIBER_WAIT_database, wait->kind);
    assert_int_equal(NB_FIBER_READS, wait->direction);
    assert_int_equal(1, wait->own);
    assert_int_equal(100, wait->began_ns);
    assert_int_equal(180, wait->ready_ns);
    assert_int_equal(190, wait->ended_ns);
    assert_int_equal(16, wait->text_bytes);
    assert_memory_equal("pg 10.0.0.5:5432", wait->text, 16);
    assert_string_equal("app/order.rb:7", waterfall.lines[wait->line - 1]);
    wait = &waterfall.waits[second];
    assert_int_equal(0, wait->own);
    assert_int_equal(0, wait->line);
    assert_int_equal(0, wait->text_bytes);
    assert_int_equal(170, wait->ended_ns);
}

static void what_has_no_place_is_counted(void **state) {
    (void)state;
    for (uint32_t i = 0; i < NB_WATERFALL_WAITS_MAX; i++)
        assert_int_equal(i, add(NB_FIBER_WAIT_io, i, "", true));
    assert_int_equal(NB_WATERFALL_NONE, add(NB_FIBER_WAIT_io, 99, "", true));
    assert_int_equal(NB_WATERFALL_NONE, add(NB_FIBER_WAIT_io, 99, "", true));
    nb_waterfall_end(&waterfall, NB_WATERFALL_NONE, 1, 2, NB_SLICE("a"));
    assert_int_equal(2, waterfall.left_out);
    assert_int_equal(0, waterfall.line_count);
    nb_waterfall_begin(&waterfall);
    assert_int_equal(0, waterfall.count + waterfall.left_out);
    nb_waterfall_end(&waterfall, 3, 1, 2, NB_SLICE("a"));
    assert_int_equal(0, waterfall.line_count);
}

static void long_texts_and_lines_are_cut_off_and_few_lines_are_kept(void **state) {
    (void)state;
    char text[2 * NB_WATERFALL_LINE_BYTES];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    for (unsigned i = 0; i < NB_WATERFALL_LINES_MAX + 1; i++) {
        uint32_t place = add(NB_FIBER_WAIT_http, i, text, true);
        nb_waterfall_end(&waterfall, place, 0, 5, nb_slice_of(text, sizeof text - 1));
        assert_int_equal(sizeof waterfall.waits[0].text, waterfall.waits[place].text_bytes);
        assert_int_equal(i < NB_WATERFALL_LINES_MAX ? i + 1 : 0, waterfall.waits[place].line);
    }
    assert_int_equal(NB_WATERFALL_LINE_BYTES - 1, strlen(waterfall.lines[NB_WATERFALL_LINES_MAX - 1]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_wait_is_kept_with_its_times_and_its_line),
        CASE(what_has_no_place_is_counted),
        CASE(long_texts_and_lines_are_cut_off_and_few_lines_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
