/*
 * test_message.c - messages of named files: their lengths are checked, and what nobody sends is
 * closed.
 */
#include "support/test.h"

#include <fcntl.h>
#include <stdint.h>

#include "intake/message.h"
#include "support/folder.h"
#include "support/leaks.h"

/* What a worker with damaged memory might write. */
static void lengths_that_do_not_fit_their_record_are_seen(void **state) {
    (void)state;
    const nb_named_message good = {.response = {.fields_bytes = 10},
                                   .path_bytes = 20,
                                   .id_bytes = 3,
                                   .request_bytes = 7,
                                   .naming = NB_NAMED_ACCEL};
    const size_t bytes = sizeof good + 40;
    assert_true(nb_named_message_fits(&good, bytes));
    assert_false(nb_named_message_fits(&good, bytes - 1));
    assert_false(nb_named_message_fits(&good, bytes + 1));
    assert_false(nb_named_message_fits(&good, sizeof good - 1));
    nb_named_message bad = good;
    bad.response.fields_bytes = UINT32_MAX;
    assert_false(nb_named_message_fits(&bad, bytes));
    bad = good;
    bad.path_bytes = NB_NAMED_PATH_BYTES_MAX + 1;
    assert_false(nb_named_message_fits(&bad, sizeof good + 20 + NB_NAMED_PATH_BYTES_MAX + 1));
    bad = good;
    bad.naming = NB_NAMED_ACCEL + 1;
    assert_false(nb_named_message_fits(&bad, bytes));
}

static void what_nobody_waits_for_is_closed(void **state) {
    (void)state;
    unsigned before = nb_test_descriptors();
    nb_named_message named = {.fd = open("/dev/null", O_RDONLY | O_CLOEXEC), .naming = NB_NAMED_OPEN};
    nb_named_message_drop(&named);
    named.naming = NB_NAMED_ACCEL;
    named.fd = -1;
    nb_named_message_drop(&named);
    assert_int_equal(before, nb_test_descriptors());
}

int main(void) {
    nb_test_alarm(20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_that_do_not_fit_their_record_are_seen),
        cmocka_unit_test(what_nobody_waits_for_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
