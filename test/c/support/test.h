/*
 * test.h - cmocka with the headers it needs, and the few helpers every C test uses.
 */
#ifndef NB_TEST_H
#define NB_TEST_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

/* Compares statuses and prints their names, not numbers, when they differ. */
#define assert_status(expected, actual) nb_test_assert_status((expected), (actual), #actual, __FILE__, __LINE__)
void nb_test_assert_status(nb_status expected, nb_status actual, const char *expression, const char *file, int line);

/* Ends the process with a message when the test program runs longer than this many seconds of an
   idle machine, or five times as many on any machine. The last resort of every wait. */
void nb_test_alarm(unsigned seconds);

/* True when body(argument) ends in abort(3), as a failed NB_ASSERT does. Runs it in a child
   process. */
bool nb_test_aborts(void (*body)(void *), void *argument);

/* Starts a thread of the test, or fails the test; nb_test_join waits for it. */
pthread_t nb_test_thread(void *(*body)(void *), void *argument);
void nb_test_join(pthread_t thread);

/* A number that only grows; nb_test_gate_wait returns once it is at least `count`. Threads of a
   test wait for it instead of sleeping. Initialise it with NB_TEST_GATE: zero is not enough. */
typedef struct nb_test_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
} nb_test_gate;
#define NB_TEST_GATE \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }
void nb_test_gate_open(nb_test_gate *gate);
void nb_test_gate_wait(nb_test_gate *gate, unsigned count);
unsigned nb_test_gate_count(nb_test_gate *gate);

/* A small fast generator for randomized tests: same seed, same numbers, on every platform. */
typedef struct nb_test_random {
    uint64_t state;
} nb_test_random;
uint64_t nb_test_random_next(nb_test_random *random);
/* 0 .. bound - 1 */
uint64_t nb_test_random_below(nb_test_random *random, uint64_t bound);

#endif
