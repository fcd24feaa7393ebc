/*
 * lanes.h - which lane a request goes to: that of its route; else what the application says of its method and path
 * (lane_rules.h); else that of those which have kept executors again and again (learned.h), where there is one.
 *
 * One for all loops of a server, under a lock that a loop takes only where there is something to look for. The first
 * loop hears what executors have told, and says in the log what becomes of it.
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
    pthread_mutex_t lock; /* over the next three */
    nb_lane_rules rules;
    nb_learned learned;
    uint16_t learned_lane; /* 0: nothing is learned */
    _Atomic bool asked;    /* there are rules, or some have been learned */
    int64_t heard_ns;      /* the first loop's: when it last listened */
} nb_lanes;

nb_status nb_lanes_init(nb_lanes *lanes);
void nb_lanes_deinit(nb_lanes *lanes);
/* Any thread. */
void nb_lanes_set_rules(nb_lanes *lanes, const nb_lane_rules *rules);
/* Before the loops start. */
void nb_lanes_learn(nb_lanes *lanes, uint16_t lane);

/* The lane's number; 0: fibers. route: the request's, or NULL. first: of the loop that asks. What was learned is no limit: where that lane has
   no thread free, fibers run the request. Any loop. */
uint16_t nb_lanes_choose(nb_lanes *lanes, nb_dispatch *first, const nb_route *route, const nb_head *head);
/* The first loop, once a turn: what the dispatch's executors have told, and whose time in the lane is over. */
void nb_lanes_hear(nb_lanes *lanes, const nb_dispatch *dispatch, nb_log *log, int64_t now_ns);

/* Calls `each` with those that are in the lane now, and how long they have yet; the totals. For the first loop. */
typedef void nb_lanes_each(void *context, const nb_learned_class *learned_class, int64_t left_ns);
typedef struct nb_lanes_now {
    uint32_t rules, in_lane;
    uint64_t learned_total, returned_total;
} nb_lanes_now;
nb_lanes_now nb_lanes_read(nb_lanes *lanes, int64_t now_ns, nb_lanes_each *each, void *context);

#endif
