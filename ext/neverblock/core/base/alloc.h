/*
 * alloc.h - the core's only way to the heap, so that tests can make any allocation fail.
 *
 * nb_alloc and the others are malloc, calloc, realloc and free. Sizes are bytes; nb_alloc(0)
 * returns a block of one byte. Any thread, with or without Ruby's lock. nb_alloc_fail_at(n) makes
 * the n-th next allocation of this process fail (1: the next one), and only that one; 0 turns it
 * off. nb_alloc_live() is the number of blocks not yet freed. Both work only in builds with
 * NB_TESTING.
 */
#ifndef NB_BASE_ALLOC_H
#define NB_BASE_ALLOC_H

#include <stddef.h>

void *nb_alloc(size_t bytes);
void *nb_alloc_zero(size_t count, size_t bytes);
void *nb_realloc(void *block, size_t bytes);
void nb_free(void *block);

/* Sets a function to call when the system refuses a block; the block is then requested once more.
   Any thread may call the function, several at a time. It must not allocate here. NULL, the
   default: a refusal stands. */
void nb_alloc_on_refusal(void (*function)(void));

void nb_alloc_fail_at(unsigned long n);
long nb_alloc_live(void);

#endif
