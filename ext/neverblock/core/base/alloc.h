/*
 * alloc.h - the core's only way to the heap, so that tests can make any allocation fail.
 *
 * nb_alloc and friends are malloc, calloc, realloc and free, and may be called from any thread. The binding may
 * call them with or without Ruby's lock. Sizes are bytes; nb_alloc(0) returns a block of one byte.
 * nb_alloc_fail_at(n) makes the n-th next allocation of this process (1 = the next one) and only that one fail;
 * 0 turns it off. nb_alloc_live() is the number of blocks not yet freed. Both count only in builds with NB_TESTING.
 */
#ifndef NB_BASE_ALLOC_H
#define NB_BASE_ALLOC_H

#include <stddef.h>

void *nb_alloc(size_t bytes);
void *nb_alloc_zero(size_t count, size_t bytes);
void *nb_realloc(void *block, size_t bytes);
void nb_free(void *block);

/* Has the function called where the system refuses a block; the block is asked for once more after it. Any thread may call it, several at a time, and the function
 * must not allocate here. NULL, as at first: a refusal stands. */
void nb_alloc_on_refusal(void (*function)(void));

void nb_alloc_fail_at(unsigned long n);
long nb_alloc_live(void);

#endif
