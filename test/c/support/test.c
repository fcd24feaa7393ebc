/*
 * test.c - helpers of test.h.
 */
#include "support/test.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

void nb_test_assert_status(nb_status expected, nb_status actual, const char *expression, const char *file, int line) {
    if (expected == actual) return;
    print_error("%s: expected %s, got %s\n", expression, nb_status_name(expected), nb_status_name(actual));
    _fail(file, line);
}

static void too_late(int signal_number) {
    static const char message[] = "the test is stuck: its alarm fired\n";
    (void)signal_number;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(98);
    _exit(97);
}

void nb_test_alarm(unsigned seconds) {
    signal(SIGALRM, too_late);
    alarm(seconds);
}

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
uint64_t nb_test_random_next(nb_test_random *random) {
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t nb_test_random_below(nb_test_random *random, uint64_t bound) { return nb_test_random_next(random) % bound; }
