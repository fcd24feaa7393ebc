/*
 * test.h - cmocka with the headers it needs, and the few helpers every C test uses.
 */
#ifndef NB_TEST_H
#define NB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

/* Compares statuses and prints their names, not numbers, when they differ. */
#define assert_status(expected, actual) nb_test_assert_status((expected), (actual), #actual, __FILE__, __LINE__)
void nb_test_assert_status(nb_status expected, nb_status actual, const char *expression, const char *file, int line);

/* Ends the process with a message when the test program still runs after so many seconds (it is the last resort of every wait). */
void nb_test_alarm(unsigned seconds);

/* A small fast generator for randomized tests: same seed, same numbers, on every platform. */
typedef struct nb_test_random {
    uint64_t state;
} nb_test_random;
uint64_t nb_test_random_next(nb_test_random *random);
/* 0 .. bound - 1 */
uint64_t nb_test_random_below(nb_test_random *random, uint64_t bound);

#endif
