/*
 * test_observation.c - the waits of a request with their stacks: what is kept once, what does not
 * fit, and what is left of it when another process has written nonsense.
 */
#include "intake/observation.h"

#include <stdio.h>
#include <string.h>

#include "intake/fiber_table.h"
#include "support/test.h"

static nb_observation observation;

static int setup(void **state) {
    (void)state;
    memset(&observation, 0xee, sizeof observation);
    nb_observation_begin(&observation);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static nb_slice slice(const char *text) { return nb_slice_of(text, strlen(text)); }

static uint32_t frame(const char *path, uint32_t line, const char *name) {
    return nb_observation_frame(&observation, slice(path), line, slice(name), false);
}

static void add(int64_t began_ns, const char *what, const uint16_t *numbers, uint16_t depth) {
    nb_observed_wait facts = {.began_ns = began_ns, .ended_ns = began_ns + 5, .kind = NB_FIBER_WAIT_database};
    nb_observation_add(&observation, &facts, slice(what), numbers, depth);
}

static void assert_text(const char *expected, nb_observed_text text) {
    nb_slice found = nb_observation_text(&observation, text);
    assert_int_equal(strlen(expected), found.size);
    assert_memory_equal(expected, found.data, found.size);
}

static void a_wait_is_kept_with_its_stack(void **state) {
    (void)state;
    uint32_t outer = frame("/srv/app/config.ru", 3, "block in <main>");
    uint32_t inner = nb_observation_frame(&observation, slice("/g/pg.rb"), 309, slice("PG::Connection#exec"), true);
    uint16_t numbers[] = {(uint16_t)inner, (uint16_t)outer};
    add(100, "pg 10.0.0.5:5432", numbers, 2);
    assert_int_equal(1, observation.wait_count);
    const nb_observed_wait *wait = &observation.waits[0];
    assert_int_equal(NB_FIBER_WAIT_database, wait->kind);
    assert_int_equal(100, wait->began_ns);
    assert_int_equal(105, wait->ended_ns);
    assert_text("pg 10.0.0.5:5432", wait->what);
    assert_int_equal(2, wait->depth);
    const nb_observed_frame *first = &observation.frames[observation.numbers[wait->stack]];
    assert_text("/g/pg.rb", first->path);
    assert_text("PG::Connection#exec", first->name);
    assert_int_equal(309, first->line);
    assert_int_equal(1, first->other);
    assert_int_equal(0, observation.frames[observation.numbers[wait->stack + 1]].other);
}

static void equal_texts_and_stacks_are_kept_once(void **state) {
    (void)state;
    uint16_t numbers[] = {0, 1}, other[] = {1, 0};
    (void)frame("/a.rb", 1, "A#x");
    uint32_t text_bytes = observation.text_bytes;
    (void)frame("/a.rb", 2, "A#x");
    assert_int_equal(text_bytes, observation.text_bytes);
    for (int i = 0; i < 10; i++)
        add(i, "pg", numbers, 2);
    add(10, "pg", other, 2);
    assert_int_equal(text_bytes + 2, observation.text_bytes);
    assert_int_equal(4, observation.number_count);
    assert_int_equal(observation.waits[0].stack, observation.waits[9].stack);
    assert_int_equal(11, observation.wait_count);
}

static void a_wait_without_a_stack_is_one(void **state) {
    (void)state;
    add(1, "", NULL, 0);
    add(2, "", NULL, 0);
    assert_int_equal(2, observation.wait_count);
    assert_int_equal(0, observation.waits[1].depth);
    assert_int_equal(0, observation.number_count);
}

static void what_does_not_fit_is_counted(void **state) {
    (void)state;
    for (unsigned i = 0; i < NB_OBSERVED_WAITS_MAX + 3; i++)
        add(i, "x", NULL, 0);
    assert_int_equal(NB_OBSERVED_WAITS_MAX, observation.wait_count);
    assert_int_equal(3, observation.left_out);
    assert_int_equal(NB_OBSERVED_WAITS_MAX - 1, observation.waits[NB_OBSERVED_WAITS_MAX - 1].began_ns);
    nb_observation_begin(&observation);
    assert_int_equal(0, observation.wait_count);
    assert_int_equal(0, observation.left_out);
}

static void frames_have_a_bound(void **state) {
    (void)state;
    for (unsigned i = 0; i < NB_OBSERVED_FRAMES_MAX; i++)
        assert_int_equal(i, frame("/a.rb", i, "A#x"));
    assert_int_equal(NB_OBSERVED_NONE, frame("/a.rb", 999, "A#x"));
}

static void a_frame_whose_text_does_not_fit_leaves_nothing(void **state) {
    (void)state;
    char path[NB_OBSERVED_TEXT_MAX + 20];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    uint32_t number = 0;
    for (unsigned i = 0; number != NB_OBSERVED_NONE; i++) {
        assert_true(i < NB_OBSERVED_FRAMES_MAX);
        snprintf(path, 5, "%04u", i);
        path[4] = 'x';
        number = frame(path, 1, "a method's name");
        if (number != NB_OBSERVED_NONE) assert_int_equal(NB_OBSERVED_TEXT_MAX, observation.frames[number].path.bytes);
    }
    uint32_t text_bytes = observation.text_bytes;
    assert_true(text_bytes > NB_OBSERVED_TEXT_BYTES - NB_OBSERVED_TEXT_MAX && text_bytes <= NB_OBSERVED_TEXT_BYTES);
    assert_int_not_equal(NB_OBSERVED_NONE, frame("/short", 1, "a method's name"));
    memset(path, 'y', NB_FIBER_TEXT_BYTES);
    path[NB_FIBER_TEXT_BYTES] = '\0';
    while (observation.left_out == 0) {
        path[0]++;
        add(1, path, NULL, 0);
    }
    assert_true(observation.text_bytes <= NB_OBSERVED_TEXT_BYTES);
}

/* Each wait has a stack of its own. */
static void stacks_have_a_bound(void **state) {
    (void)state;
    uint16_t numbers[NB_OBSERVED_DEPTH_MAX];
    memset(numbers, 0, sizeof numbers);
    for (uint16_t i = 0; i < NB_OBSERVED_WAITS_MAX; i++) {
        numbers[0] = i;
        add(i, "", numbers, NB_OBSERVED_DEPTH_MAX);
    }
    uint32_t fit = NB_OBSERVED_NUMBERS_MAX / NB_OBSERVED_DEPTH_MAX;
    assert_int_equal(fit, observation.wait_count);
    assert_int_equal(NB_OBSERVED_WAITS_MAX - fit, observation.left_out);
    assert_int_equal(fit - 1, observation.numbers[observation.waits[fit - 1].stack]);
}

static void assert_bounded(void) {
    assert_true(observation.wait_count <= NB_OBSERVED_WAITS_MAX);
    assert_true(observation.frame_count <= NB_OBSERVED_FRAMES_MAX);
    for (uint32_t i = 0; i < observation.frame_count; i++) {
        const nb_observed_frame *one = &observation.frames[i];
        assert_true(one->path.at + one->path.bytes <= NB_OBSERVED_TEXT_BYTES);
        assert_true(one->name.at + one->name.bytes <= NB_OBSERVED_TEXT_BYTES);
        assert_true(one->path.bytes <= NB_OBSERVED_TEXT_MAX);
    }
    for (uint32_t i = 0; i < observation.wait_count; i++) {
        const nb_observed_wait *wait = &observation.waits[i];
        assert_true(wait->what.at + wait->what.bytes <= NB_OBSERVED_TEXT_BYTES);
        assert_true(wait->depth <= NB_OBSERVED_DEPTH_MAX);
        assert_true(wait->stack + wait->depth <= NB_OBSERVED_NUMBERS_MAX);
        assert_true(wait->kind < NB_FIBER_WAIT_KINDS);
        for (uint32_t j = 0; j < wait->depth; j++)
            assert_true(observation.numbers[wait->stack + j] < observation.frame_count);
    }
}

static void nonsense_is_put_within_the_bounds(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        memset(&observation, (int)byte, sizeof observation);
        nb_observation_bound_counts(&observation);
        nb_observation_bound(&observation);
        assert_bounded();
    }
    setup(NULL);
    uint16_t numbers[] = {0};
    (void)frame("/a.rb", 1, "A#x");
    add(1, "x", numbers, 1);
    observation.numbers[0] = 1;
    observation.waits[0].kind = NB_FIBER_WAIT_KINDS;
    observation.frames[0].name.at = (uint16_t)observation.text_bytes;
    nb_observation_bound_counts(&observation);
    nb_observation_bound(&observation);
    assert_int_equal(0, observation.waits[0].depth);
    assert_int_equal(NB_FIBER_WAIT_other, observation.waits[0].kind);
    assert_text("", observation.frames[0].name);
    assert_text("/a.rb", observation.frames[0].path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_wait_is_kept_with_its_stack), CASE(equal_texts_and_stacks_are_kept_once),
        CASE(a_wait_without_a_stack_is_one), CASE(what_does_not_fit_is_counted),
        CASE(frames_have_a_bound),           CASE(a_frame_whose_text_does_not_fit_leaves_nothing),
        CASE(stacks_have_a_bound),           CASE(nonsense_is_put_within_the_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
