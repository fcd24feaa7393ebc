/* thread.h - starts a named native thread with every signal blocked. name: 15 bytes at most. stack: the platform's default. */
#ifndef NB_OS_THREAD_H
#define NB_OS_THREAD_H

#include <pthread.h>

#include "base/status.h"

nb_status nb_thread_start(const char *name, void *(*body)(void *), void *argument, pthread_t *thread);

#endif
