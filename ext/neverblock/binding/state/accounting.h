/*
 * accounting.h - what a scheduler adds to the accounts of requests (intake/account.h): the time
 * that passes between two switches, and the waits of a request's own fiber.
 *
 * The clock is read once a wait, in place of the next switch; and once more where a running fiber
 * wakes another request's. There is no system call and no allocation.
 *
 * All functions take the GVL and run on the scheduler's thread. They do not raise. Where the source
 * keeps no accounts they do nothing.
 */
#ifndef NB_BINDING_ACCOUNTING_H
#define NB_BINDING_ACCOUNTING_H

#include "binding/state/wait.h"

static inline bool nb_accounting(const nb_scheduler *scheduler) {
    return scheduler->attached && scheduler->source.accounts;
}

/* What passes from now on is the next fiber's. */
void nb_accounting_switched(nb_scheduler *scheduler, int64_t now_ns);
/* What has passed is that of the request which the running fiber works for: it runs on, or (passed)
   it does not, and the loops are told as well. */
void nb_accounting_count(nb_scheduler *scheduler, int64_t now_ns);
void nb_accounting_passed(nb_scheduler *scheduler, int64_t now_ns);
/* The fiber that has run has ended. */
void nb_accounting_fiber_ended(nb_scheduler *scheduler);

/* The fiber of the wait parks; it runs again. kind: what the wait is for. Returns since when the
   wait was its request's; 0: it was not. */
void nb_accounting_wait_begins(nb_wait *wait, nb_fiber_wait_kind kind, int64_t now_ns);
int64_t nb_accounting_wait_ends(nb_wait *wait);

#endif
