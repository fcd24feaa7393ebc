/*
 * lanes.h - decides which lane a request goes to: the lane of its route; else what the
 * application's rules say (lane_rules.h); else the lane for request classes whose calls have
 * stalled executors (learned.h), where the configuration has one.
 *
 * Threads: one for all loops of a server. Its lock is taken only while there are rules or learned
 * classes. The first loop alone reads what executors report, and logs what becomes of it.
 */
#ifndef NB_DISPATCH_LANES_H
#define NB_DISPATCH_LANES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/text.h"
#include "http/head.h"
#include "dispatch/dispatch.h"
#include "dispatch/lane_rules.h"
#include "dispatch/learned.h"
#include "dispatch/routes.h"

typedef struct nb_lanes {
    pthread_mutex_t lock; /* protects the next three */
    nb_lane_rules rules;
    nb_learned learned;
    uint16_t learned_lane; /* 0: learning is off */
    _Atomic bool in_use;   /* there are rules, or learned classes in the lane */
    int64_t read_ns;       /* first loop only: when it last read reports */
} nb_lanes;

nb_status nb_lanes_init(nb_lanes *lanes);
void nb_lanes_deinit(nb_lanes *lanes);
/* Replaces the application's rules. Any thread. */
void nb_lanes_set_rules(nb_lanes *lanes, const nb_lane_rules *rules);
/* Sets the lane for learned classes. Before the loops start. */
void nb_lanes_learn(nb_lanes *lanes, uint16_t lane);

/* The lane of a request; 0: it runs in fibers. route: the request's, or NULL. first: the first
   dispatch of the calling loop. What was learned is advice: where that lane has no free thread, the
   request runs in fibers. Any loop. */
uint16_t nb_lanes_choose(nb_lanes *lanes, nb_dispatch *first, const nb_route *route, const nb_head *head);
/* Reads what the dispatch's executors report, and ends stays in the lane that are over. First loop
   only, once a turn. */
void nb_lanes_read_reports(nb_lanes *lanes, const nb_dispatch *dispatch, nb_log *log, int64_t now_ns);

/* Calls `each` for every class that is in the lane, with the time that is left. First loop only. */
typedef void nb_lanes_each(void *context, const nb_learned_class *learned_class, int64_t left_ns);
typedef struct nb_lanes_now {
    uint32_t rules, in_lane;
    uint64_t learned_total, returned_total;
} nb_lanes_now;
nb_lanes_now nb_lanes_read(nb_lanes *lanes, int64_t now_ns, nb_lanes_each *each, void *context);

#endif
