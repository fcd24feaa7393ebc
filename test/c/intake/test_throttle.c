/*
 * test_throttle.c - which requests are of one class, which are counted, and which classes are held.
 */
#include "intake/throttle.h"

#include <string.h>

#include "intake/path_pattern.h"
#include "support/test.h"

static uint64_t class_of(const char *method, const char *path) {
    return nb_request_class_of((nb_slice){method, strlen(method)}, (nb_slice){path, strlen(path)});
}

static void paths_that_differ_in_parts_with_digits_are_one_class(void **state) {
    (void)state;
    assert_true(class_of("GET", "/notes/17") == class_of("GET", "/notes/18"));
    assert_true(class_of("GET", "/notes/17/edit") == class_of("GET", "/notes/a1b2/edit"));
    assert_true(class_of("GET", "/notes/17") != class_of("POST", "/notes/17"));
    assert_true(class_of("GET", "/notes/17") != class_of("GET", "/notes/17/edit"));
    assert_true(class_of("GET", "/notes/new") != class_of("GET", "/notes/old"));
    assert_true(class_of("GET", "/notes/new") != class_of("GET", "/notesnew"));
    assert_true(class_of("GET", "") != 0);
}

static void what_follows_the_first_bytes_of_a_path_does_not_count(void **state) {
    (void)state;
    char one[NB_REQUEST_CLASS_PATH_BYTES + 8], other[NB_REQUEST_CLASS_PATH_BYTES + 8];
    memset(one, 'x', sizeof(one));
    memset(other, 'x', sizeof(other));
    other[NB_REQUEST_CLASS_PATH_BYTES] = 'y';
    assert_true(nb_request_class_of(NB_SLICE("GET"), (nb_slice){one, sizeof(one)}) ==
                nb_request_class_of(NB_SLICE("GET"), (nb_slice){other, sizeof(other)}));
    other[NB_REQUEST_CLASS_PATH_BYTES - 1] = 'y';
    assert_true(nb_request_class_of(NB_SLICE("GET"), (nb_slice){one, sizeof(one)}) !=
                nb_request_class_of(NB_SLICE("GET"), (nb_slice){other, sizeof(other)}));
}

static void a_class_is_held_while_enough_are_half_done_and_the_processor_is_busy(void **state) {
    (void)state;
    nb_throttle throttle = {0};
    uint16_t slot = NB_THROTTLE_NO_SLOT;
    for (unsigned i = 0; i < NB_THROTTLE_LIMIT; i++) {
        throttle.contended = true;
        assert_false(nb_throttle_holds(&throttle, 7));
        slot = nb_throttle_enter(&throttle, 7, 0);
        assert_int_not_equal(NB_THROTTLE_NO_SLOT, slot);
    }
    assert_true(nb_throttle_holds(&throttle, 7));
    assert_false(nb_throttle_holds(&throttle, 8));
    assert_false(nb_throttle_holds(&throttle, 0));
    throttle.contended = false;
    assert_false(nb_throttle_holds(&throttle, 7));
    throttle.contended = true;
    nb_throttle_leave(&throttle, slot, 0);
    assert_false(nb_throttle_holds(&throttle, 7));
}

/* Each counted request may wait for one that is held. */
static void where_none_ends_one_more_enters_now_and_then(void **state) {
    (void)state;
    nb_throttle throttle = {.contended = true};
    uint16_t slot = NB_THROTTLE_NO_SLOT;
    int64_t now_ns = 5;
    for (unsigned i = 0; i < NB_THROTTLE_LIMIT; i++)
        slot = nb_throttle_enter(&throttle, 7, now_ns);
    nb_throttle_preempted(&throttle, slot, now_ns + NB_THROTTLE_RAISE_NS - 1);
    assert_true(nb_throttle_holds(&throttle, 7));
    for (unsigned more = 0; more < 3; more++) {
        nb_throttle_preempted(&throttle, slot, now_ns += NB_THROTTLE_RAISE_NS);
        assert_false(nb_throttle_holds(&throttle, 7));
        nb_throttle_preempted(&throttle, slot, now_ns + NB_THROTTLE_RAISE_NS / 2);
        assert_false(nb_throttle_holds(&throttle, 7));
        nb_throttle_enter(&throttle, 7, now_ns);
        assert_true(nb_throttle_holds(&throttle, 7));
    }
    for (unsigned left = 0; left < 3; left++) {
        nb_throttle_leave(&throttle, slot, now_ns);
        assert_true(nb_throttle_holds(&throttle, 7));
    }
    nb_throttle_leave(&throttle, slot, now_ns);
    assert_false(nb_throttle_holds(&throttle, 7));
}

static void two_classes_of_one_slot_are_not_taken_for_each_other(void **state) {
    (void)state;
    nb_throttle throttle = {.contended = true};
    uint16_t slot = nb_throttle_enter(&throttle, 7, 0);
    for (unsigned i = 0; i <= NB_THROTTLE_LIMIT; i++) {
        assert_int_equal(NB_THROTTLE_NO_SLOT, nb_throttle_enter(&throttle, 7 + NB_THROTTLE_SLOTS, 0));
    }
    assert_false(nb_throttle_holds(&throttle, 7 + NB_THROTTLE_SLOTS));
    nb_throttle_leave(&throttle, NB_THROTTLE_NO_SLOT, 0);
    nb_throttle_leave(&throttle, slot, 0);
    assert_int_equal(slot, nb_throttle_enter(&throttle, 7 + NB_THROTTLE_SLOTS, 0));
}

static void one_that_is_closed_is_held_until_it_is_opened(void **state) {
    (void)state;
    nb_throttle throttle = {0};
    assert_false(nb_throttle_active(&throttle));
    assert_true(nb_throttle_close(&throttle, 7));
    assert_false(nb_throttle_close(&throttle, 7));
    assert_true(nb_throttle_active(&throttle));
    assert_true(nb_throttle_holds(&throttle, 7));
    assert_false(nb_throttle_holds(&throttle, 8));
    assert_false(nb_throttle_holds(&throttle, 7 + NB_THROTTLE_SLOTS));
    assert_false(nb_throttle_close(&throttle, 7 + NB_THROTTLE_SLOTS));
    nb_throttle_open(&throttle, 7 + NB_THROTTLE_SLOTS);
    nb_throttle_open(&throttle, 8);
    assert_true(nb_throttle_holds(&throttle, 7));
    nb_throttle_open(&throttle, 7);
    nb_throttle_open(&throttle, 7);
    assert_false(nb_throttle_holds(&throttle, 7));
    assert_false(nb_throttle_active(&throttle));
    assert_true(nb_throttle_close(&throttle, 7 + NB_THROTTLE_SLOTS));
}

static void a_slot_is_kept_while_requests_are_counted_or_the_class_is_closed(void **state) {
    (void)state;
    nb_throttle throttle = {0};
    uint16_t slot = nb_throttle_enter(&throttle, 7, 0);
    assert_true(nb_throttle_close(&throttle, 7));
    nb_throttle_leave(&throttle, slot, 0);
    assert_true(nb_throttle_holds(&throttle, 7));
    assert_int_equal(slot, nb_throttle_enter(&throttle, 7, 0));
    nb_throttle_open(&throttle, 7);
    assert_false(nb_throttle_holds(&throttle, 7));
    assert_false(nb_throttle_close(&throttle, 7 + NB_THROTTLE_SLOTS));
    nb_throttle_leave(&throttle, slot, 0);
    assert_true(nb_throttle_close(&throttle, 7 + NB_THROTTLE_SLOTS));
}

/* Two paths of a few bytes each, all of them: one class if, and only if, they have one pattern. */
static void a_class_is_all_paths_of_one_pattern(void **state) {
    (void)state;
    enum { PATHS = 4 * 4 * 4 * 4 * 4 };
    static const char bytes[] = "/a1x";
    static struct {
        uint64_t request_class;
        size_t size;
        char pattern[8];
    } paths[PATHS];
    for (unsigned i = 0; i < PATHS; i++) {
        char path[] = {'/', bytes[i & 3], bytes[i >> 2 & 3], bytes[i >> 4 & 3], bytes[i >> 6 & 3], bytes[i >> 8 & 3]};
        nb_slice whole = nb_slice_of(path, sizeof path);
        paths[i].request_class = nb_request_class_of(NB_SLICE("GET"), whole);
        paths[i].size = nb_path_pattern_of(whole, paths[i].pattern, sizeof paths[i].pattern);
    }
    for (unsigned i = 0; i < PATHS; i++) {
        for (unsigned j = 0; j < i; j++) {
            bool same = paths[i].size == paths[j].size &&
                        memcmp(paths[i].pattern, paths[j].pattern, paths[i].size) == 0;
            assert_int_equal(same, paths[i].request_class == paths[j].request_class);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_differ_in_parts_with_digits_are_one_class),
        cmocka_unit_test(a_class_is_all_paths_of_one_pattern),
        cmocka_unit_test(what_follows_the_first_bytes_of_a_path_does_not_count),
        cmocka_unit_test(a_class_is_held_while_enough_are_half_done_and_the_processor_is_busy),
        cmocka_unit_test(where_none_ends_one_more_enters_now_and_then),
        cmocka_unit_test(two_classes_of_one_slot_are_not_taken_for_each_other),
        cmocka_unit_test(one_that_is_closed_is_held_until_it_is_opened),
        cmocka_unit_test(a_slot_is_kept_while_requests_are_counted_or_the_class_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
