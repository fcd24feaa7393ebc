/*
 * serving.h - which request a fiber works for, and what its next wait is for, as the loops are told
 * of it (intake/fiber_table.h). Nothing is told where the server has no admin address.
 *
 * All functions take the GVL and run on the scheduler's thread. They do not raise.
 */
#ifndef NB_BINDING_SERVING_H
#define NB_BINDING_SERVING_H

#include "base/slice.h"
#include "binding/state/state.h"

/* What a wait is for. */
typedef struct nb_wait_about {
    nb_slice text;    /* borrowed until the fiber parks */
    uint64_t subject; /* nb_fiber_wait */
    int32_t number;   /* a descriptor, a process; -1: none */
    uint8_t kind;     /* nb_fiber_wait_kind */
    uint8_t direction;
} nb_wait_about;

/* Where it is told; NULL: nowhere. */
static inline nb_fiber_memory *nb_fiber_memory_of(const nb_scheduler *scheduler) {
    return scheduler->attached ? scheduler->source.fibers : NULL;
}

/* The running fiber is this request's own. exchange 0: it works for none. record: NB_FIBER_NONE: it
   has none. account: borrowed until the scheduler is detached; NULL: none. */
void nb_fiber_serves(nb_scheduler *scheduler, uint32_t record, uint64_t exchange, nb_account *account);

/* The next wait of the running fiber is for this. text: copied, and cut off. */
void nb_fiber_next_wait(nb_scheduler *scheduler, nb_fiber_wait_kind kind, int32_t number, nb_slice text);
/* Takes what was told of the wait that begins now; kind 0: nothing. */
nb_wait_about nb_fiber_take_next_wait(nb_scheduler *scheduler);

/* The pointer that names a fiber; 0: it is no fiber. */
uint64_t nb_fiber_name(VALUE fiber);

#endif
