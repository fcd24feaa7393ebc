/*
 * walk.h - the walk of a model checker through all states that can be reached. It keeps the states
 * that are still to be expanded on a stack, so it goes depth first. A state that was seen before is
 * passed over.
 */
#ifndef NB_TEST_WALK_H
#define NB_TEST_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero at first, but for state_bytes. */
typedef struct nb_test_walk {
    size_t state_bytes; /* of one state */
    char *stack;
    size_t depth, stack_size; /* states on the stack, and that it has room for */
    uint64_t *seen;           /* a hash set of keys; 0: a free place */
    size_t seen_count, seen_size;
} nb_test_walk;

/* The state was reached; it is copied. key: never 0, and states with equal keys are taken for
   equal. Fails the test when there is no memory. */
void nb_test_walk_visit(nb_test_walk *walk, uint64_t key, const void *state);
/* Copies the next state to be expanded to *state. False: there is none. */
bool nb_test_walk_next(nb_test_walk *walk, void *state);
/* Frees what the walk holds. Its counts stay. */
void nb_test_walk_end(nb_test_walk *walk);

#endif
