/*
 * thread.c - threads of tests, declared in test.h. A file of its own: a test without threads is
 * linked without pthread_create (see ../Makefile).
 */
#include "support/test.h"

pthread_t nb_test_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(0, pthread_create(&thread, NULL, body, argument));
    return thread;
}

void nb_test_join(pthread_t thread) { assert_int_equal(0, pthread_join(thread, NULL)); }
