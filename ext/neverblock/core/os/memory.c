/*
 * memory.c - see memory.h. glibc alone has to be asked: it shrinks a heap from its end only.
 */
#include "os/memory.h"

#include <stdlib.h>

#if defined(__GLIBC__)

#include <malloc.h>

void nb_memory_trim(void) { (void)malloc_trim(0); }

#else

void nb_memory_trim(void) {}

#endif
