/*
 * test.c - helpers of test.h.
 */
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
    enum { SLOW_MACHINE = 5 };
    signal(SIGALRM, too_late);
    alarm(seconds * SLOW_MACHINE);
}

static void abort_quietly(void (*body)(void *), void *argument) {
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGABRT, SIG_DFL);
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
    body(argument);
    _exit(0);
}

bool nb_test_aborts(void (*body)(void *), void *argument) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) abort_quietly(body, argument);
    assert_int_equal(child, waitpid(child, &status, 0));
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void nb_test_gate_open(nb_test_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    gate->count++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void nb_test_gate_wait(nb_test_gate *gate, unsigned count) {
    pthread_mutex_lock(&gate->lock);
    while (gate->count < count)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

unsigned nb_test_gate_count(nb_test_gate *gate) {
    pthread_mutex_lock(&gate->lock);
    unsigned count = gate->count;
    pthread_mutex_unlock(&gate->lock);
    return count;
}

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
uint64_t nb_test_random_next(nb_test_random *random) {
    uint64_t z = (random->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t nb_test_random_below(nb_test_random *random, uint64_t bound) { return nb_test_random_next(random) % bound; }
