/*
 * test_stall.c - a trace takes what fits, a line at a time.
 */
#include "stall/stall.h"

#include <string.h>

#include "support/test.h"

static nb_stall stall;

static int empty(void **state) {
    (void)state;
    memset(&stall, 0, sizeof stall);
    return 0;
}

static void lines_follow_one_another(void **state) {
    (void)state;
    nb_stall_add_line(&stall, "a.rb:1", 6);
    nb_stall_add_line(&stall, "b\n.rb:2", 7);
    assert_int_equal(2, stall.lines);
    assert_int_equal(15, stall.trace_bytes);
    assert_memory_equal("a.rb:1\nb .rb:2\n", stall.trace, 15);
}

static void a_long_line_is_cut(void **state) {
    (void)state;
    char line[NB_STALL_LINE_BYTES_MAX + 7];
    memset(line, 'x', sizeof line);
    nb_stall_add_line(&stall, line, sizeof line);
    assert_int_equal(NB_STALL_LINE_BYTES_MAX, stall.trace_bytes);
    assert_int_equal('\n', stall.trace[NB_STALL_LINE_BYTES_MAX - 1]);
}

static void what_does_not_fit_is_left_out(void **state) {
    (void)state;
    char line[NB_STALL_LINE_BYTES_MAX];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 1000; i++)
        nb_stall_add_line(&stall, line, i % 2 ? sizeof line : 1);
    assert_true(stall.trace_bytes <= NB_STALL_TRACE_BYTES);
    assert_true(stall.lines <= NB_STALL_LINES_MAX);
    assert_int_equal('\n', stall.trace[stall.trace_bytes - 1]);
}

static void each_kind_has_a_name_and_words(void **state) {
    (void)state;
    for (int kind = 0; kind < NB_STALL_KINDS; kind++) {
        assert_true(strlen(nb_stall_kind_name((nb_stall_kind)kind)) > 1);
        assert_true(strlen(nb_stall_kind_words((nb_stall_kind)kind)) > 8);
    }
    assert_string_equal("unknown", nb_stall_kind_name((nb_stall_kind)99));
    assert_string_equal("c_call", nb_stall_kind_name(NB_STALL_c_call));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_follow_one_another, empty),
        cmocka_unit_test_setup(a_long_line_is_cut, empty),
        cmocka_unit_test_setup(what_does_not_fit_is_left_out, empty),
        cmocka_unit_test(each_kind_has_a_name_and_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
