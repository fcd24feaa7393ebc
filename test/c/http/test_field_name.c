/*
 * test_field_name.c - every known name is found in any case, and nothing else is. When the list in
 * http/head.h changes and a name is not found, the test prints new multipliers and the table for
 * field_name.c.
 */
#include "support/test.h"

#include <stdio.h>

#include "http1/guarded.h"
#include "http/head.h"

static const char *const enumerators[NB_FIELD_COUNT] = {
#define NB_FIELD_TEXT(id, name) "NB_FIELD_" #id,
    NB_FIELD_LIST(NB_FIELD_TEXT)
#undef NB_FIELD_TEXT
};

static unsigned slot(nb_slice name, unsigned first, unsigned last, unsigned before) {
    const unsigned char *const c = (const unsigned char *)name.data;
    return (unsigned)(name.size + first * c[0] + last * c[name.size - 1] + before * c[name.size - 2]) & 255u;
}

static bool print_table(unsigned first, unsigned last, unsigned before) {
    int owner[256] = {0};
    for (int field = 1; field < NB_FIELD_COUNT; field++) {
        int *const mine = &owner[slot(nb_field_name((nb_field)field), first, last, before)];
        if (*mine) return false;
        *mine = field;
    }
    print_message("multipliers: first byte %u, last byte %u, the byte before it %u\n", first, last, before);
    for (int i = 0; i < 256; i++) {
        if (owner[i]) print_message("[%d] = %s, ", i, enumerators[owner[i]]);
    }
    print_message("\n");
    return true;
}

static void find_multipliers(void) {
    nb_test_random random = {1};
    for (int attempt = 0; attempt < 2000000; attempt++) {
        const unsigned first = (unsigned)nb_test_random_below(&random, 256) | 1,
                       last = (unsigned)nb_test_random_below(&random, 256) | 1;
        if (print_table(first, last, (unsigned)nb_test_random_below(&random, 256))) return;
    }
    print_message("no multipliers found: the hash needs one more fact about the name\n");
}

static void test_every_known_name_is_found_in_any_case(void **state) {
    (void)state;
    for (int field = 1; field < NB_FIELD_COUNT; field++) {
        const nb_slice name = nb_field_name((nb_field)field);
        char other[64];
        if (nb_field_lookup(name) != (nb_field)field) {
            find_multipliers();
            fail_msg("%.*s is not found", (int)name.size, name.data);
        }
        for (int shape = 0; shape < 3; shape++) {
            for (size_t i = 0; i < name.size; i++) {
                const bool upper = shape == 0 || (shape == 1 && (i == 0 || name.data[i - 1] == '-')) ||
                                   (shape == 2 && i % 2);
                other[i] = name.data[i];
                if (upper && other[i] >= 'a' && other[i] <= 'z') other[i] = (char)(other[i] - 32);
            }
            assert_int_equal(nb_field_lookup(nb_slice_of(other, name.size)), field);
        }
    }
}

/* Replaces each byte by each other one: the result is the same name in another case, another known
 * name, or unknown. */
static void test_a_name_with_one_other_byte_is_not_found(void **state) {
    (void)state;
    for (int field = 1; field < NB_FIELD_COUNT; field++) {
        const nb_slice name = nb_field_name((nb_field)field);
        char other[64];
        for (size_t at = 0; at < name.size; at++) {
            for (unsigned c = 0; c < 256; c++) {
                memcpy(other, name.data, name.size);
                other[at] = (char)c;
                const nb_slice slice = nb_slice_of(other, name.size);
                const nb_field found = nb_field_lookup(slice);
                if (found == NB_FIELD_OTHER) continue;
                assert_true(nb_slice_equal_lower(slice, nb_field_name(found)));
            }
        }
    }
}

static void test_longer_shorter_and_empty_names_are_not_found_and_nothing_beyond_is_read(void **state) {
    (void)state;
    guarded memory = guarded_create(64);
    assert_int_equal(nb_field_lookup(nb_slice_of(memory.end, 0)), NB_FIELD_OTHER);
    for (int field = 1; field < NB_FIELD_COUNT; field++) {
        const nb_slice name = nb_field_name((nb_field)field);
        for (size_t size = 1; size <= name.size; size++) {
            const nb_slice slice = nb_slice_of(guarded_place(&memory, name.data, size), size);
            const nb_field found = nb_field_lookup(slice);
            if (size == name.size) assert_int_equal(found, field);
            if (found != NB_FIELD_OTHER) assert_true(nb_slice_equal(slice, nb_field_name(found)));
        }
        char longer[64];
        memcpy(longer, name.data, name.size);
        longer[name.size] = 's';
        assert_int_equal(nb_field_lookup(nb_slice_of(longer, name.size + 1)), NB_FIELD_OTHER);
    }
    guarded_destroy(&memory);
}

static void test_numbers_outside_the_list_have_no_name(void **state) {
    (void)state;
    assert_int_equal(nb_field_name(NB_FIELD_OTHER).size, 0);
    assert_int_equal(nb_field_name(NB_FIELD_COUNT).size, 0);
    assert_int_equal(nb_method_name(NB_METHOD_OTHER).size, 0);
    assert_int_equal(nb_method_name(NB_METHOD_COUNT).size, 0);
    assert_true(nb_slice_equal(nb_method_name(NB_METHOD_OPTIONS), NB_SLICE("OPTIONS")));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_known_name_is_found_in_any_case),
        cmocka_unit_test(test_a_name_with_one_other_byte_is_not_found),
        cmocka_unit_test(test_longer_shorter_and_empty_names_are_not_found_and_nothing_beyond_is_read),
        cmocka_unit_test(test_numbers_outside_the_list_have_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
