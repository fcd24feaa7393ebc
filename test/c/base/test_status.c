/*
 * test_status.c - names and texts of every outcome.
 */
#include "support/test.h"

#define COUNT_STATUS(name, text) +1
static const int status_count = 0 NB_STATUS_LIST(COUNT_STATUS);

static void every_status_has_its_name(void **state) {
    (void)state;
    assert_string_equal("NB_OK", nb_status_name(NB_OK));
    assert_string_equal("NB_AGAIN", nb_status_name(NB_AGAIN));
    assert_string_equal("NB_UNSUPPORTED", nb_status_name(NB_UNSUPPORTED));
}

static void every_status_has_a_text_of_its_own(void **state) {
    (void)state;
    for (int a = 0; a < status_count; a++) {
        assert_true(nb_status_text((nb_status)a)[0] != '\0');
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(nb_status_text((nb_status)a), nb_status_text((nb_status)b));
            assert_string_not_equal(nb_status_name((nb_status)a), nb_status_name((nb_status)b));
        }
    }
}

static void a_number_outside_the_list_is_named_not_read(void **state) {
    (void)state;
    /* The enum's own range, so that UBSan does not stop the test before the function is asked. */
    assert_string_equal("NB_UNKNOWN", nb_status_name((nb_status)(status_count)));
    assert_string_equal("unknown status", nb_status_text((nb_status)(status_count)));
}

int main(void) {
    nb_test_alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(every_status_has_a_text_of_its_own),
        cmocka_unit_test(a_number_outside_the_list_is_named_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
