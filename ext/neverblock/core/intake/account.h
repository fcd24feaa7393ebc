/*
 * account.h - where the time of one request went: how long its own fiber waited, by kind of wait,
 * and how long its fibers ran.
 *
 * The request's own fiber is in one wait at a time, so its waits may be added up. Together they
 * never exceed the time since `taken_ns`. Fibers that it has started (helpers) wait at the same
 * time as it does, mostly in its wait for `fibers`: their waits are not added. Only one fiber runs
 * at a time, so `ran_ns` has the time of all of them.
 *
 * A wait has two parts: until it is over, and from then until its fiber runs again, which is
 * `turn`.
 *
 * Pure functions. Times are monotonic nanoseconds. All zero is the account of no request.
 */
#ifndef NB_INTAKE_ACCOUNT_H
#define NB_INTAKE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "intake/waterfall.h"

/* Requests that have waited for so long may be observed (observed.h). */
#define NB_ACCOUNT_OBSERVED_FROM_NS INT64_C(1000000)

typedef enum nb_account_observed {
    NB_ACCOUNT_UNDECIDED,
    NB_ACCOUNT_NOT_OBSERVED,
    NB_ACCOUNT_OBSERVED
} nb_account_observed;

typedef struct nb_account {
    uint64_t exchange;    /* 0: of no request */
    int64_t head_ns;      /* how long its head took to come */
    int64_t body_ns;      /* how long its body did, where it was waited for */
    int64_t queue_ns;     /* from then until its fiber began with it */
    int64_t taken_ns;     /* when its fiber began with it */
    int64_t head_sent_ns; /* when the response's head was handed to the loop; 0: not yet */
    int64_t ran_ns;       /* time its fibers had the executor's thread, up to their last waits */
    int64_t gc_ns;        /* of that, in Ruby's garbage collector; whole milliseconds */
    uint64_t allocated;   /* objects that its fibers have made */
    int64_t wait_ns[NB_FIBER_WAIT_KINDS];
    uint32_t waits[NB_FIBER_WAIT_KINDS]; /* how many; of `turn`: those that were for nothing else */
    bool has_waited;                     /* the two arrays are not all 0 */
    int64_t waited_ns;                   /* all waits of its own fiber together */
    bool waiting;                        /* its own fiber is in a wait that counts */
    uint8_t observed;                    /* nb_account_observed */
    /* its waits one by one, where they are kept; the owner's; NULL: none */
    nb_waterfall *waterfall;
} nb_account;

/* The durations and times that the beginning knows. What the clock says twice the other way round
   counts as 0. */
typedef struct nb_account_facts {
    uint64_t exchange;
    int64_t head_ns, body_ns;
    int64_t arrived_ns; /* when it was complete */
    int64_t taken_ns;
} nb_account_facts;

/* The waterfall stays, and is emptied. */
void nb_account_begin(nb_account *account, const nb_account_facts *facts);

/* Is it this request's? */
static inline bool nb_account_is(const nb_account *account, uint64_t exchange) {
    return account && exchange != 0 && account->exchange == exchange;
}

/* A fiber of the request has run for so long. */
static inline void nb_account_ran(nb_account *account, int64_t ns) {
    if (ns > 0) account->ran_ns += ns;
}

/* Its own fiber has waited. ready_ns: when the wait was over; 0: that is not known, and counts as
   its end. ended_ns: when the fiber ran again. */
void nb_account_waited(nb_account *account, nb_fiber_wait_kind kind, int64_t began_ns, int64_t ready_ns,
                       int64_t ended_ns);

/* Its own fiber has waited. Is somebody to look where, or to decide whether to? */
static inline bool nb_account_may_be_observed(const nb_account *account) {
    return account->observed != NB_ACCOUNT_NOT_OBSERVED && account->waited_ns >= NB_ACCOUNT_OBSERVED_FROM_NS;
}

#endif
