/*
 * walk.c - see walk.h.
 */
#include "support/walk.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { SEEN_FIRST = 1 << 16, STACK_FIRST = 1 << 10 };

/* size: a power of two. */
static uint64_t *find_place(uint64_t *table, size_t size, uint64_t key) {
    size_t place = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
    while (table[place] != 0 && table[place] != key)
        place = (place + 1) & (size - 1);
    return &table[place];
}

static void grow_seen(nb_test_walk *walk) {
    size_t size = walk->seen_size == 0 ? SEEN_FIRST : walk->seen_size * 2;
    uint64_t *table = calloc(size, sizeof *table);
    assert_non_null(table);
    for (size_t i = 0; i < walk->seen_size; i++) {
        if (walk->seen[i] != 0) *find_place(table, size, walk->seen[i]) = walk->seen[i];
    }
    free(walk->seen);
    walk->seen = table;
    walk->seen_size = size;
}

void nb_test_walk_visit(nb_test_walk *walk, uint64_t key, const void *state) {
    if (walk->seen_count * 2 >= walk->seen_size) grow_seen(walk);
    uint64_t *place = find_place(walk->seen, walk->seen_size, key);
    if (*place == key) return;
    *place = key;
    walk->seen_count++;
    if (walk->depth == walk->stack_size) {
        walk->stack_size = walk->stack_size == 0 ? STACK_FIRST : walk->stack_size * 2;
        walk->stack = realloc(walk->stack, walk->stack_size * walk->state_bytes);
        assert_non_null(walk->stack);
    }
    memcpy(walk->stack + walk->depth++ * walk->state_bytes, state, walk->state_bytes);
}

bool nb_test_walk_next(nb_test_walk *walk, void *state) {
    if (walk->depth == 0) return false;
    memcpy(state, walk->stack + --walk->depth * walk->state_bytes, walk->state_bytes);
    return true;
}

void nb_test_walk_end(nb_test_walk *walk) {
    free(walk->stack);
    free(walk->seen);
    walk->stack = NULL;
    walk->seen = NULL;
}
