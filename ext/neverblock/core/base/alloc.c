/*
 * alloc.c - the heap functions of the core. Builds with NB_TESTING count blocks and can fail one allocation on demand;
 * others are the C library's functions and nothing more.
 */
#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>

#ifdef NB_TESTING
#include <stdatomic.h>

static _Atomic unsigned long fail_countdown;
static _Atomic long live_blocks;

void nb_alloc_fail_at(unsigned long n) { atomic_store(&fail_countdown, n); }
long nb_alloc_live(void) { return atomic_load(&live_blocks); }

static bool must_fail(void) {
    unsigned long left = atomic_load(&fail_countdown);
    while (left > 0 && !atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) {
    }
    return left == 1;
}

static void *counted(void *block) {
    if (block != NULL) atomic_fetch_add(&live_blocks, 1);
    return block;
}

static void uncount(void) { atomic_fetch_sub(&live_blocks, 1); }
#else
void nb_alloc_fail_at(unsigned long n) { (void)n; }
long nb_alloc_live(void) { return 0; }

static bool must_fail(void) { return false; }
static void *counted(void *block) { return block; }
static void uncount(void) {}
#endif

void *nb_alloc(size_t bytes) { return must_fail() ? NULL : counted(malloc(bytes)); }

void *nb_alloc_zero(size_t count, size_t bytes) { return must_fail() ? NULL : counted(calloc(count, bytes)); }

/* realloc(block, 0) frees in some C libraries and not in others: ask for one byte instead. */
void *nb_realloc(void *block, size_t bytes) {
    if (must_fail()) return NULL;
    if (block == NULL) return counted(malloc(bytes));
    return realloc(block, bytes > 0 ? bytes : 1);
}

void nb_free(void *block) {
    if (block == NULL) return;
    uncount();
    free(block);
}
