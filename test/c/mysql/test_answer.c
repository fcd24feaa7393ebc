/*
 * test_answer.c - an answer is complete with its last byte and not before. Replays the stored
 * inputs of the fuzz target.
 */
#include "fuzz/replay.h"
#include "support/test.h"

#include <string.h>

#include "mysql/answer.h"

#define NB_FUZZ_ENTRY fuzz_mysql_answer
#include "fuzz/fuzz_mysql_answer.c"
#undef NB_FUZZ_ENTRY

#define COLUMN         \
    "\x05\x00\x00\x02" \
    "\x03"             \
    "def1"
#define ROW            \
    "\x02\x00\x00\x04" \
    "\x01"             \
    "7"
#define END            \
    "\x05\x00\x00\x05" \
    "\xfe\x00\x00\x02\x00"
#define END_AS_OK      \
    "\x07\x00\x00\x05" \
    "\xfe\x00\x00\x02\x00\x00\x00"
#define OK             \
    "\x07\x00\x00\x01" \
    "\x00\x00\x00\x02\x00\x00\x00"
#define FAILED         \
    "\x06\x00\x00\x01" \
    "\xff\x28\x04#42"
#define ONE_COLUMN     \
    "\x01\x00\x00\x01" \
    "\x01"
#define TWO_COLUMNS    \
    "\x01\x00\x00\x01" \
    "\x02"

#define TEXT(literal) \
    { literal, sizeof(literal) - 1 }
typedef struct text {
    const char *bytes;
    size_t size;
} text;

static bool whole(const char *bytes, size_t size) { return nb_mysql_answer_whole((const uint8_t *)bytes, size); }

static void an_answer_is_whole_with_its_last_byte(void **state) {
    (void)state;
    static const text responses[] = {
        TEXT(OK),
        TEXT(FAILED),
        TEXT(ONE_COLUMN COLUMN END ROW ROW END),
        TEXT(ONE_COLUMN COLUMN END END),
        TEXT(TWO_COLUMNS COLUMN COLUMN END ROW END),
        TEXT(ONE_COLUMN COLUMN ROW ROW END_AS_OK),
        TEXT(ONE_COLUMN COLUMN END_AS_OK),
        TEXT(ONE_COLUMN COLUMN END ROW FAILED),
    };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        for (size_t size = 0; size < responses[i].size; size++)
            assert_false(whole(responses[i].bytes, size));
        assert_true(whole(responses[i].bytes, responses[i].size));
    }
}

static void what_cannot_be_told_is_not_whole(void **state) {
    (void)state;
    static const text responses[] = {
        TEXT("\x05\x00\x00\x01"
             "\xfb"
             "file"),
        TEXT("\x03\x00\x00\x01"
             "\xfc\x00\x01" COLUMN END END),
        TEXT("\x02\x00\x00\x01"
             "\x01\x00" ROW END),
        TEXT("\x00\x00\x00\x01" OK),
        TEXT("\xff\xff\xff\x01" OK),
    };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++)
        assert_false(whole(responses[i].bytes, responses[i].size));
}

static void kept_inputs_hold(void **state) {
    (void)state;
    replay("mysql_answer", fuzz_mysql_answer);
}

int main(void) {
    nb_test_alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_whole_with_its_last_byte),
        cmocka_unit_test(what_cannot_be_told_is_not_whole),
        cmocka_unit_test(kept_inputs_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
