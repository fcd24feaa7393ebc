/*
 * forks.c - see forks.h.
 */
#include "binding/base/forks.h"

#include <pthread.h>

unsigned nb_fork_generation;

static void count_fork(void) { nb_fork_generation++; }

void nb_forks_define(void) { pthread_atfork(NULL, NULL, count_fork); }
