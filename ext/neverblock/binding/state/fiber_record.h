/*
 * fiber_record.h - what each fiber waits for and which request it works for, told to the loops
 * (intake/fiber_table.h). A wait costs some stores, and no system call of its own. Nothing is told
 * where the server has no admin address.
 *
 * All functions take the GVL and run on the scheduler's thread. They do not raise.
 */
#ifndef NB_BINDING_FIBER_RECORD_H
#define NB_BINDING_FIBER_RECORD_H

#include "binding/state/state.h"
#include "binding/state/wait.h"

/* Where it is told; NULL: nowhere. */
static inline nb_fiber_memory *nb_fiber_memory_of(const nb_scheduler *scheduler) {
    return scheduler->attached ? scheduler->source.fibers : NULL;
}

/* The running fiber is this request's own. record: NB_FIBER_NONE: it works for none. */
void nb_fiber_serves(nb_scheduler *scheduler, uint32_t record, uint64_t exchange);

/* The next wait of the running fiber is for this. text: copied, and cut off. */
void nb_fiber_next_wait(nb_scheduler *scheduler, nb_fiber_wait_kind kind, int32_t number, nb_slice text);
/* What a wait that begins is for, as far as its kind and nb_fiber_next_wait tell. */
void nb_fiber_wait_about(nb_wait *wait);

/* The fiber of the wait parks. */
void nb_fiber_record_park(nb_wait *wait, int64_t deadline_ns);
/* The wait is over; its fiber may not run yet. */
static inline void nb_fiber_record_ready(const nb_wait *wait) {
    nb_fiber_memory *memory = wait->record == NB_FIBER_NONE ? NULL : nb_fiber_memory_of(wait->scheduler);
    if (memory) nb_fiber_wait_ready(memory, wait->record);
}
/* The fiber of the wait runs again. */
void nb_fiber_record_end(nb_wait *wait);

/* The pointer that names a fiber, or of the fiber that holds a Mutex; 0: not known. */
uint64_t nb_fiber_name(VALUE fiber);

#endif
