/*
 * fiber_choice.h - the oldest of many fibers, at most so many. A heap whose first is the youngest
 * chosen so far: one that is older takes its place.
 *
 * Threads: none of its own.
 */
#ifndef NB_ADMIN_FIBER_CHOICE_H
#define NB_ADMIN_FIBER_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/* Most fibers in one answer of the admin address. */
#define NB_FIBER_CHOICE_MAX 1000u

typedef struct nb_fiber_chosen {
    int64_t since_ns;
    uint32_t record;   /* intake/fiber_table.h */
    uint16_t executor; /* by the caller's count */
    bool wait;         /* a record of a wait; false: of a request */
} nb_fiber_chosen;

typedef struct nb_fiber_choice {
    uint32_t count, limit; /* limit: 1 to NB_FIBER_CHOICE_MAX */
    uint64_t offered;
    nb_fiber_chosen chosen[NB_FIBER_CHOICE_MAX];
} nb_fiber_choice;

void nb_fiber_choice_init(nb_fiber_choice *choice, uint32_t limit);
void nb_fiber_choice_offer(nb_fiber_choice *choice, nb_fiber_chosen one);
/* Puts the oldest first. Nothing is offered after that. */
void nb_fiber_choice_sort(nb_fiber_choice *choice);

#endif
