/*
 * alloc.c - the heap functions of the core. Builds with NB_TESTING count blocks and can fail one
 * allocation on demand.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef NB_TESTING
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

static _Atomic(void (*)(void)) make_room;

void nb_alloc_on_refusal(void (*function)(void)) { atomic_store(&make_room, function); }

/* True: the refused block is to be requested once more. */
static bool made_room(void) {
    void (*function)(void) = atomic_load(&make_room);
    if (function) function();
    return function != NULL;
}

static void *again_zero(void *block, size_t count, size_t bytes) {
    return block == NULL && made_room() ? calloc(count, bytes) : block;
}

/* realloc(block, 0) frees in some C libraries and not in others, so one byte is requested
   instead. */
static void *resized(void *block, size_t bytes) {
    if (bytes == 0) bytes = 1;
    void *moved = realloc(block, bytes);
    return moved == NULL && made_room() ? realloc(block, bytes) : moved;
}

void *nb_alloc(size_t bytes) { return nb_realloc(NULL, bytes); }

void *nb_alloc_zero(size_t count, size_t bytes) {
    return must_fail() ? NULL : counted(again_zero(calloc(count, bytes), count, bytes));
}

void *nb_realloc(void *block, size_t bytes) {
    if (must_fail()) return NULL;
    void *moved = resized(block, bytes);
    return block == NULL ? counted(moved) : moved;
}

void nb_free(void *block) {
    if (block == NULL) return;
    uncount();
    free(block);
}
