/*
 * parked.h - the table of parked fibers: from a fiber to its wait. It knows nothing of a wait but
 * where it lies.
 *
 * Open addressing, at most half full. A fiber may be in a wait already: a trap handler or finalizer
 * that waits runs on top of one. Its later wait then takes the place of the earlier, which comes
 * back when the later is popped.
 */
#ifndef NB_BINDING_PARKED_H
#define NB_BINDING_PARKED_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct nb_wait nb_wait;

typedef struct nb_parked {
    VALUE fiber; /* 0: empty */
    nb_wait *wait;
} nb_parked;

typedef struct nb_parked_table {
    nb_parked *slots;
    size_t count, capacity; /* a power of two */
} nb_parked_table;

/* *outer: the wait that this one lies on top of, or NULL. False: there is no memory. */
bool nb_parked_push(nb_parked_table *table, VALUE fiber, nb_wait *wait, nb_wait **outer);
/* Nothing happens where the fiber's wait is another. */
void nb_parked_pop(nb_parked_table *table, VALUE fiber, const nb_wait *wait, nb_wait *outer);
/* The wait of a parked fiber, or NULL. */
nb_wait *nb_parked_find(const nb_parked_table *table, VALUE fiber);

void nb_parked_mark(const nb_parked_table *table);
void nb_parked_deinit(nb_parked_table *table);

#endif
